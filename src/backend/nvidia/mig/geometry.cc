// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mig/geometry.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backend/nvidia/nvml/per_session.h"
#include "base/log.h"
#include "base/mutex.h"
#include "os/alarm.h"
#include "os/thread.h"
#include "os/worker.h"

namespace tessera::nvidia {
namespace {

constexpr int kWalks = 8;  // the most GPUs that may hang

// Null if the GPU cannot be read: it then counts as unchanged.
std::optional<Geometry> Read(const nvml::Library& library, unsigned index) {
  const nvml::Use use(library, index);
  const auto gpu = library.DeviceByIndex(index);
  if (!gpu) return std::nullopt;
  const auto uuid = library.Uuid(*gpu);
  const auto enabled = library.IsInMigMode(*gpu);
  if (!uuid || !enabled) return std::nullopt;
  Geometry geometry{.uuid = *uuid, .mig_enabled = *enabled};
  if (!*enabled) return geometry;
  const auto devices = library.MigDevices(*gpu);
  if (!devices) return std::nullopt;
  for (const auto& mig : *devices) {
    const auto mig_uuid = library.Uuid(mig.device);
    if (!mig_uuid) return std::nullopt;
    geometry.mig_uuids.push_back(*mig_uuid);
  }
  return geometry;
}

void Log(unsigned index, const Geometry& geometry) {
  if (geometry.mig_enabled && geometry.mig_uuids.empty()) {
    return log::Warn("a GPU is in MIG mode and has no MIG devices", {{"gpu", geometry.uuid}});
  }
  log::Info("a GPU's division has changed", {{"index", index},
                                             {"gpu", geometry.uuid},
                                             {"mig", geometry.mig_enabled},
                                             {"devices", geometry.mig_uuids.size()}});
}

}  // namespace

struct GeometryWatch::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<nvml::Session> owner, Duration time)
      : session(std::move(owner)), interval(time) {}

  const std::shared_ptr<nvml::Session> session;
  const Duration interval;
  os::Workers readers{kWalks};

  // Listeners run under it, so that none runs after Unsubscribe. Never held over a call of NVML.
  Mutex mutex;
  ConditionVariable changed;
  os::ThreadOnce thread TESSERA_GUARDED_BY(mutex);
  bool stopping TESSERA_GUARDED_BY(mutex) = false;
  std::map<const void*, Listener> listeners TESSERA_GUARDED_BY(mutex);
  std::optional<unsigned> count TESSERA_GUARDED_BY(mutex);
  std::map<unsigned, Geometry> gpus TESSERA_GUARDED_BY(mutex);  // by index
  int walks TESSERA_GUARDED_BY(mutex) = 0;                      // threads that read GPUs
  std::set<unsigned> reading TESSERA_GUARDED_BY(mutex);         // GPUs that are being read
  // Those that were being read at the last MayWalk.
  std::set<unsigned> read_before TESSERA_GUARDED_BY(mutex);

  void Begin() TESSERA_REQUIRES(mutex);
  void Run();
  bool Pause();
  bool MayWalk();
  void Walk(const nvml::Library& library);
  void ReportCount(const void* owner, unsigned now);
  void ReportGeometry(const void* owner, unsigned index, Geometry geometry);
  void TellAllBut(const void* owner) TESSERA_REQUIRES(mutex);
};

// Each scan tries again if the thread could not start.
void GeometryWatch::State::Begin() {
  thread.Start([state = shared_from_this()] { state->Run(); },
               "changes of MIG devices are seen by scans only");
}

void GeometryWatch::State::Run() {
  while (Pause()) {
    const nvml::LibraryPtr library = session->current();
    if (library == nullptr) continue;
    if (!MayWalk()) {
      readers.GoOn();
      continue;
    }
    readers.Run([state = shared_from_this(), library] { state->Walk(*library); });
  }
}

// False: the watch ends.
bool GeometryWatch::State::Pause() {
  MutexLock lock(mutex);
  return !changed.wait_for(lock, os::UntilBeat(interval),
                           [this]() TESSERA_REQUIRES(mutex) { return stopping; });
}

// A walk that makes progress is enough. A new one starts only if all walks are stuck at the GPUs of
// the last look.
bool GeometryWatch::State::MayWalk() {
  const MutexLock lock(mutex);
  const auto stuck = std::ranges::count_if(reading, [this](unsigned index) TESSERA_REQUIRES(mutex) {
    return read_before.contains(index);
  });
  read_before = reading;
  if (walks > stuck) return false;
  ++walks;
  return true;
}

void GeometryWatch::State::Walk(const nvml::Library& library) {
  const auto all = library.DeviceCount();
  if (all) ReportCount(nullptr, *all);
  for (unsigned index = 0; index < all.value_or(0); ++index) {
    {
      const MutexLock lock(mutex);
      if (stopping) break;
      if (!reading.insert(index).second) continue;
    }
    auto geometry = Read(library, index);
    if (geometry) ReportGeometry(nullptr, index, *std::move(geometry));
    const MutexLock lock(mutex);
    reading.erase(index);
  }
  const MutexLock lock(mutex);
  --walks;
}

void GeometryWatch::State::ReportCount(const void* owner, unsigned now) {
  const MutexLock lock(mutex);
  if (!listeners.empty()) Begin();
  const auto before = std::exchange(count, now);
  if (!before || *before == now) return;
  log::Info("the number of GPUs has changed", {{"from", *before}, {"to", now}});
  gpus.erase(gpus.lower_bound(now), gpus.end());
  TellAllBut(owner);
}

void GeometryWatch::State::ReportGeometry(const void* owner, unsigned index, Geometry geometry) {
  const MutexLock lock(mutex);
  const auto [known, is_new] = gpus.try_emplace(index, geometry);
  if (!is_new && known->second == geometry) return;
  const bool bare = geometry.mig_enabled && geometry.mig_uuids.empty();
  if (!is_new || bare) Log(index, geometry);
  known->second = std::move(geometry);
  if (!is_new) TellAllBut(owner);
}

void GeometryWatch::State::TellAllBut(const void* owner) {
  for (const auto& [other, listener] : listeners) {
    if (other != owner) listener();
  }
}

GeometryWatch::GeometryWatch(std::shared_ptr<nvml::Session> session, Duration interval)
    : state_(std::make_shared<State>(std::move(session), interval)) {}

GeometryWatch::~GeometryWatch() {
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
}

std::shared_ptr<GeometryWatch> GeometryWatch::Of(const std::shared_ptr<nvml::Session>& session) {
  return PerSession<GeometryWatch>(session);
}

void GeometryWatch::Subscribe(const void* owner, Listener listener) {
  const MutexLock lock(state_->mutex);
  state_->listeners[owner] = std::move(listener);
  state_->Begin();
}

void GeometryWatch::Unsubscribe(const void* owner) {
  const MutexLock lock(state_->mutex);
  state_->listeners.erase(owner);
}

void GeometryWatch::ReportCount(const void* owner, unsigned count) {
  state_->ReportCount(owner, count);
}

void GeometryWatch::ReportGeometry(const void* owner, unsigned index, Geometry geometry) {
  state_->ReportGeometry(owner, index, std::move(geometry));
}

}  // namespace tessera::nvidia
