// SPDX-License-Identifier: Apache-2.0
// A mutex, its lock, and words for what it guards. clang checks the words (-Wthread-safety in
// tools/lint); other compilers read them and check nothing.
//
// A member that is TESSERA_GUARDED_BY a mutex is touched only with that mutex held. A function that
// TESSERA_REQUIRES a mutex is called only with it held.
#pragma once

#include <mutex>

#if defined(__clang__)
#define TESSERA_THREADS(words) __attribute__((words))
#else
#define TESSERA_THREADS(words)
#endif
#define TESSERA_GUARDED_BY(mutex) TESSERA_THREADS(guarded_by(mutex))
#define TESSERA_REQUIRES(mutex) TESSERA_THREADS(requires_capability(mutex))

namespace tessera {

class TESSERA_THREADS(capability("mutex")) Mutex {
 public:
  // As the standard library calls them.
  void lock() TESSERA_THREADS(acquire_capability()) { mutex_.lock(); }
  void unlock() TESSERA_THREADS(release_capability()) { mutex_.unlock(); }
  bool try_lock() TESSERA_THREADS(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

// Holds the mutex as long as it lives. std::condition_variable_any waits with it.
class TESSERA_THREADS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TESSERA_THREADS(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // Of a mutex that try_lock has taken.
  MutexLock(Mutex& mutex, std::adopt_lock_t) TESSERA_THREADS(requires_capability(mutex))
      : mutex_(mutex) {}
  ~MutexLock() TESSERA_THREADS(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // For who waits, or has more to do without it.
  void lock() TESSERA_THREADS(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() TESSERA_THREADS(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

}  // namespace tessera
