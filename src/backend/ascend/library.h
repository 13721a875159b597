// SPDX-License-Identifier: Apache-2.0
// DCMI: libdcmi.so of the installed driver, opened at run time.
//
// Library is one loaded copy, shared by all callers. It is never unloaded, as DCMI has no call that
// ends its threads. Its calls may take any time, or hang with their chip, so no lock is held during
// a call.
//
// Session hands out the library, loads it, and starts it anew once its file has changed or the
// driver was released. The driver may be installed late, go, and come back. A process keeps the
// version that it loaded first, because a newer one would find the former one's dependencies. There
// is one session for each root in a process, shared by the backends of all resources.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ascend/dcmi.h"
#include "backend/ascend/turns.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "os/files.h"

namespace tessera::dcmi {

// A failed call.
struct Failure {
  std::string_view function;  // "dcmi_get_device_health"
  int code = 0;
  // "dcmi_get_device_health: the device is not ready (-8012)".
  std::string Text() const;
  // The driver or the chip does not have what was asked for.
  bool IsUnsupported() const { return code == kNotSupported || code == kFunctionNotFound; }
  bool operator==(const Failure&) const = default;
};
template <class T>
using Answer = tl::expected<T, Failure>;

// Any thread.
class Library {
 public:
  // Loads the first path that is a file of root's. kDriverMissing.
  static Result<std::shared_ptr<const Library>> Load(const std::vector<std::string>& paths);

  Answer<void> Init() const;
  Answer<std::vector<int>> Cards() const;
  Answer<int> DevicesInCard(int card) const;
  Answer<int> Type(Place place) const;
  Answer<int> LogicId(Place place) const;
  Answer<uint32_t> PhysicalId(int logic) const;
  Answer<ChipInfo> Info(Place place) const;
  Answer<PcieInfo> Pcie(Place place) const;
  Answer<DieId> Vdie(Place place) const;
  Answer<uint64_t> Memory(Place place) const;  // MiB
  // "0-23,96-119".
  Answer<std::string> Cpus(Place place) const;
  Answer<int> MultiDiePolicy() const;
  Answer<uint32_t> Health(Place place) const;
  Answer<std::vector<uint32_t>> ErrorCodes(Place place) const;
  // `handler` is called on threads of the library, for ever.
  Answer<void> Subscribe(EventHandler handler) const;
  Answer<std::vector<uint32_t>> Vnpus(Place place) const;
  Answer<VnpuQuery> Vnpu(Place place, uint32_t id) const;
  // `id` may be kAnyId. Returns the vNPU's id.
  Answer<uint32_t> CreateVnpu(Place place, uint32_t id, std::string_view name) const;
  Answer<void> DestroyVnpu(Place place, uint32_t id) const;

  const std::string& path() const { return path_; }

 private:
  Library(std::string path, const Api& api) : path_(std::move(path)), api_(api) {}

  const std::string path_;
  const Api api_;
};

using LibraryPtr = std::shared_ptr<const Library>;

// The paths to try, best first.
std::vector<std::string> LibraryPaths(const os::Root& root);

// Those who hear of each fault event, of any library. Removed with this object; no call comes
// afterwards. Calls come on any thread, and may not block or make listeners.
class Listening {
 public:
  explicit Listening(std::function<void(const FaultEvent&)> hear);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  const std::function<void(const FaultEvent&)> hear_;
  friend void Tell(FaultEvent* event);
};

// Any thread.
class Session {
 public:
  // The longest wait of Open for another thread's Open, which may hang in the driver.
  static constexpr Duration kPatience{10'000};

  explicit Session(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // The existing session of this root, or a new one.
  static std::shared_ptr<Session> Of(const os::Root& root);

  // The library, loaded and started if necessary; may block. A subscription to events that has
  // failed is tried again. kDriverMissing, kTimedOut, kReleased.
  Result<LibraryPtr> Open();
  // Identifies the file that Open would load; changes with it. Empty: there is none.
  std::string FileNow() const;

  // Hands out no library until TakeUp, and starts it anew then. These do not wait.
  void Release();
  void TakeUp();
  bool is_released() const;
  // Why the library is still loaded; empty: none is.
  std::vector<std::string> HeldBy() const;

  // Turns at making and destroying a chip's vNPUs, so that two preparations do not choose one id.
  Turns vnpu_turns;

 private:
  Result<LibraryPtr> Start(const std::string& file);
  void Subscribe(const LibraryPtr& library);

  const std::vector<std::string> paths_;

  mutable Mutex mutex_;  // never held over a call of the library
  ConditionVariable opened_;
  bool opening_ TESSERA_GUARDED_BY(mutex_) = false;
  bool released_ TESSERA_GUARDED_BY(mutex_) = false;
  bool started_ TESSERA_GUARDED_BY(mutex_) = false;
  // The library tells of events, or never will. Set once, as nothing ends a subscription.
  bool is_subscribed_ TESSERA_GUARDED_BY(mutex_) = false;
  bool told_ TESSERA_GUARDED_BY(mutex_) = false;  // of a failed subscription
  unsigned releases_ TESSERA_GUARDED_BY(mutex_) = 0;
  LibraryPtr library_ TESSERA_GUARDED_BY(mutex_);  // loaded; perhaps not started
  std::string file_ TESSERA_GUARDED_BY(mutex_);    // as it was when the library was started
};

}  // namespace tessera::dcmi
