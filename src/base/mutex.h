// SPDX-License-Identifier: Apache-2.0
// A mutex, its lock, and annotations for guarded members. clang checks them (-Wthread-safety in
// tools/lint); other compilers ignore them.
//
// A member with TESSERA_GUARDED_BY may be used only while its mutex is held. A function with
// TESSERA_REQUIRES may be called only while its mutex is held.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

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
  // The standard library's names.
  void lock() TESSERA_THREADS(acquire_capability()) { mutex_.lock(); }
  void unlock() TESSERA_THREADS(release_capability()) { mutex_.unlock(); }
  bool try_lock() TESSERA_THREADS(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds the mutex for its lifetime. A ConditionVariable can wait with it.
class TESSERA_THREADS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TESSERA_THREADS(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // Adopts a mutex that try_lock has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t) TESSERA_THREADS(requires_capability(mutex))
      : mutex_(mutex) {}
  ~MutexLock() TESSERA_THREADS(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Reacquires the mutex after unlock().
  void lock() TESSERA_THREADS(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() TESSERA_THREADS(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  friend class ConditionVariable;
  Mutex& mutex_;
  bool held_ = true;
};

// std::condition_variable for a MutexLock. std::condition_variable_any has an internal mutex, for
// which all woken threads would contend again.
class ConditionVariable {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  template <class... Ready>
  void wait(MutexLock& lock, Ready... ready) {
    Native native(lock);
    condition_.wait(native.lock, std::move(ready)...);
  }
  template <class Until, class... Ready>
  auto wait_until(MutexLock& lock, Until until, Ready... ready) {
    Native native(lock);
    return condition_.wait_until(native.lock, until, std::move(ready)...);
  }
  template <class For, class... Ready>
  auto wait_for(MutexLock& lock, For time, Ready... ready) {
    Native native(lock);
    return condition_.wait_for(native.lock, time, std::move(ready)...);
  }

 private:
  // A temporary std::unique_lock on the mutex. The MutexLock remains the owner.
  struct Native {
    explicit Native(MutexLock& held) : lock(held.mutex_.mutex_, std::adopt_lock) {}
    ~Native() { lock.release(); }
    Native(const Native&) = delete;
    Native& operator=(const Native&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace tessera
