// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/events.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backend/nvidia/nvml/per_session.h"
#include "base/log.h"
#include "base/mutex.h"
#include "os/thread.h"

namespace tessera::nvidia {
namespace {

constexpr uint64_t kWanted = nvml::kXidCriticalError | nvml::kDoubleBitEccError;
constexpr uint64_t kXidOfDoubleBitError = 48;  // the driver reports it under this number as well
// A repeated event within this time is dropped: a bad driver may repeat it without end.
constexpr Duration kRepeat{1'000};

class EventSet {
 public:
  explicit EventSet(const nvml::Library& library)
      : library_(library), handle_(library.MakeEventSet()) {}
  ~EventSet() {
    if (handle_) library_.FreeEventSet(*handle_);
  }
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  const nvml::Answer<nvml::EventSetHandle>& handle() const { return handle_; }

 private:
  const nvml::Library& library_;
  const nvml::Answer<nvml::EventSetHandle> handle_;
};

// The GPUs of one event set.
struct Registered {
  std::map<nvml::DeviceHandle, std::string> gpus;  // UUIDs
  std::set<std::string> done;                      // UUIDs, also of GPUs without events
  std::map<std::string, std::string> refused;      // by UUID, the reason

  // The UUID of a GPU that has just fallen off the bus cannot be read.
  std::string UuidOf(const nvml::Library& library, nvml::DeviceHandle gpu) const {
    const auto known = gpus.find(gpu);
    return known != gpus.end() ? known->second : library.Uuid(gpu).value_or("");
  }
};

}  // namespace

struct EventWatcher::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<nvml::Session> owner, Time its_time)
      : session(std::move(owner)), time(std::move(its_time)) {}

  const std::shared_ptr<nvml::Session> session;
  const Time time;

  // Listeners run under it, so that none runs after Unsubscribe. Never held over a call of NVML.
  mutable Mutex mutex;
  ConditionVariable changed;
  os::ThreadOnce thread TESSERA_GUARDED_BY(mutex);
  bool stopping TESSERA_GUARDED_BY(mutex) = false;
  bool renew TESSERA_GUARDED_BY(mutex) = false;
  std::map<unsigned, std::string> gpus TESSERA_GUARDED_BY(mutex);  // to be watched, by index
  size_t watched TESSERA_GUARDED_BY(mutex) = 0;
  std::map<std::string, std::string> refusals TESSERA_GUARDED_BY(mutex);  // by UUID
  std::map<const void*, Listener> listeners TESSERA_GUARDED_BY(mutex);
  Event last_event TESSERA_GUARDED_BY(mutex);
  Steady last_told TESSERA_GUARDED_BY(mutex){};

  // The members below are the thread's own.
  std::string trouble;              // the logged failure of the event set; empty: none
  size_t told_watched = 0;          // the logged number of GPUs
  std::set<std::string> told_gpus;  // the logged failures of single GPUs

  void Begin() TESSERA_REQUIRES(mutex);
  void Run();
  bool AwaitWork();
  bool Pause(Duration pause);
  bool IsCurrent(const nvml::LibraryPtr& library) const;
  std::string Serve(const nvml::LibraryPtr& library);
  void RegisterAll(const nvml::Library& library, nvml::EventSetHandle set, Registered& registered);
  nvml::Answer<uint64_t> Register(const nvml::Library& library, nvml::EventSetHandle set,
                                  unsigned index, const std::string& uuid, Registered& registered);
  void Tell(const Event& event);
  void SetWatched(size_t count, std::map<std::string, std::string> refused);
};

// Each scan tries again if the thread could not start.
void EventWatcher::State::Begin() {
  thread.Start([state = shared_from_this()] { state->Run(); },
               "cannot receive the events of GPUs; checks continue");
}

// The thread's loop. The library is let go of before every pause.
void EventWatcher::State::Run() {
  Backoff retries = kRetries;
  while (AwaitWork()) {
    const Steady began = time.now();
    std::string failure;
    if (const nvml::LibraryPtr library = session->current()) {
      {
        const MutexLock lock(mutex);
        renew = false;
      }
      failure = Serve(library);
      SetWatched(0, {});
    }
    if (time.now() - began > kLongestRetry) retries.Succeeded();
    if (failure.empty()) continue;
    if (failure != trouble) {
      log::Warn("cannot receive the events of GPUs; checks continue, and the agent retries",
                {{"error", failure}});
    }
    trouble = std::move(failure);
    told_watched = 0;
    if (!Pause(retries.Failed())) return;
  }
}

// Waits until there are GPUs to watch. False: the watcher ends.
bool EventWatcher::State::AwaitWork() {
  MutexLock lock(mutex);
  // Asks is_open, as a LibraryPtr here could be the last: its end would close the library under the
  // mutex.
  changed.wait(lock, [this]() TESSERA_REQUIRES(mutex) {
    return stopping || (!gpus.empty() && session->is_open());
  });
  return !stopping;
}

// False: the watcher ends.
bool EventWatcher::State::Pause(Duration pause) {
  MutexLock lock(mutex);
  if (stopping) return false;
  if (time.pause) {
    lock.unlock();
    time.pause(pause);
    lock.lock();
  }
  const Duration left = time.pause ? Duration(0) : pause;
  return !changed.wait_for(lock, left, [this]() TESSERA_REQUIRES(mutex) { return stopping; });
}

bool EventWatcher::State::IsCurrent(const nvml::LibraryPtr& library) const {
  // Destroyed after the mutex: it may be the last, and closing a library may take any time.
  const nvml::LibraryPtr now = session->current();
  const MutexLock lock(mutex);
  return !stopping && !renew && now == library;
}

// Serves one event set until it breaks, and returns the failure; or until it is obsolete, and
// returns "".
std::string EventWatcher::State::Serve(const nvml::LibraryPtr& library) {
  const EventSet set(*library);
  if (!set.handle()) return library->Text(set.handle().error());
  Registered registered;
  while (IsCurrent(library)) {
    RegisterAll(*library, *set.handle(), registered);
    const auto event = library->AwaitEvent(*set.handle(), kWait);
    if (!event && event.error().code != nvml::Return::kTimeout) {
      return library->Text(event.error());
    }
    trouble.clear();
    if (!event) continue;
    const bool is_xid = event->type == nvml::kXidCriticalError;
    if (!is_xid && event->type != nvml::kDoubleBitEccError) continue;
    Tell({.gpu = registered.UuidOf(*library, event->device),
          .xid = is_xid ? event->data : kXidOfDoubleBitError,
          .gpu_instance = is_xid ? event->gpu_instance : nvml::kNoInstance,
          .compute_instance = is_xid ? event->compute_instance : nvml::kNoInstance});
  }
  return {};
}

// Registers GPUs that are not registered yet. A failed one is retried after the next wait.
void EventWatcher::State::RegisterAll(const nvml::Library& library, nvml::EventSetHandle set,
                                      Registered& registered) {
  std::map<unsigned, std::string> wanted;
  {
    const MutexLock lock(mutex);
    wanted = gpus;
  }
  for (const auto& [index, uuid] : wanted) {
    if (registered.done.contains(uuid)) continue;
    const auto types = Register(library, set, index, uuid, registered);
    if (types && *types != 0) continue;
    const std::string why = types ? "it does not support them" : library.Text(types.error());
    if (told_gpus.insert(uuid + why).second) {
      log::Warn("a GPU reports no events; only checks watch it", {{"gpu", uuid}, {"error", why}});
    }
  }
  SetWatched(registered.gpus.size(), registered.refused);
  if (!trouble.empty() || told_watched == registered.gpus.size()) return;
  told_watched = registered.gpus.size();
  log::Info("events of GPUs are watched", {{"gpus", told_watched}});
}

// The types of events that the GPU reports; 0: it supports none.
nvml::Answer<uint64_t> EventWatcher::State::Register(const nvml::Library& library,
                                                     nvml::EventSetHandle set, unsigned index,
                                                     const std::string& uuid,
                                                     Registered& registered) {
  const nvml::Use use(library, index);
  const auto gpu = library.DeviceByIndex(index);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto found = library.Uuid(*gpu);
  if (!found) return tl::unexpected(found.error());
  if (*found != uuid) return kWanted;  // indices have moved; the next scan finds its place
  const auto supported = library.SupportedEvents(*gpu);
  const uint64_t types = supported.value_or(0) & kWanted;
  const auto done = types == 0 ? nvml::Answer<void>() : library.RegisterEvents(*gpu, types, set);
  const nvml::Failure* failure = !supported ? &supported.error() : !done ? &done.error() : nullptr;
  registered.refused.erase(uuid);
  if (failure != nullptr && failure->code != nvml::Return::kNotSupported) {
    registered.refused[uuid] = library.Text(*failure);
    return tl::unexpected(*failure);
  }
  registered.done.insert(uuid);
  if (failure != nullptr || types == 0) return uint64_t{0};
  registered.gpus[*gpu] = uuid;
  return types;
}

void EventWatcher::State::Tell(const Event& event) {
  const MutexLock lock(mutex);
  const Steady now = time.now();
  if (event == last_event && now - last_told < kRepeat) return;
  last_event = event;
  last_told = now;
  for (const auto& [owner, listener] : listeners) listener(event);
}

void EventWatcher::State::SetWatched(size_t count, std::map<std::string, std::string> refused) {
  const MutexLock lock(mutex);
  watched = count;
  refusals = std::move(refused);
}

EventWatcher::EventWatcher(std::shared_ptr<nvml::Session> session, Time time)
    : state_(std::make_shared<State>(std::move(session), std::move(time))) {}

EventWatcher::~EventWatcher() {
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
}

std::shared_ptr<EventWatcher> EventWatcher::Of(const std::shared_ptr<nvml::Session>& session) {
  return PerSession<EventWatcher>(session);
}

void EventWatcher::Subscribe(const void* owner, Listener listener) {
  const MutexLock lock(state_->mutex);
  state_->listeners[owner] = std::move(listener);
  state_->Begin();
}

void EventWatcher::Unsubscribe(const void* owner) {
  const MutexLock lock(state_->mutex);
  state_->listeners.erase(owner);
}

void EventWatcher::Watch(std::map<unsigned, std::string> gpus) {
  const MutexLock lock(state_->mutex);
  state_->gpus = std::move(gpus);
  if (!state_->listeners.empty()) state_->Begin();
  state_->changed.notify_all();
}

void EventWatcher::Renew() {
  const MutexLock lock(state_->mutex);
  state_->renew = true;
}

std::optional<std::string> EventWatcher::Refusal(const std::string& uuid) const {
  const MutexLock lock(state_->mutex);
  const auto refused = state_->refusals.find(uuid);
  if (refused == state_->refusals.end()) return std::nullopt;
  return refused->second;
}

size_t EventWatcher::watched() const {
  const MutexLock lock(state_->mutex);
  return state_->watched;
}

}  // namespace tessera::nvidia
