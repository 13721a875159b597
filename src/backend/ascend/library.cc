// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/library.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "os/vendor_library.h"

namespace tessera::dcmi {
namespace {

constexpr std::array<std::string_view, 4> kDirectories = {
    "/usr/local/dcmi", "/usr/local/Ascend/driver/lib64/driver", "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common"};

Api LookUp(void* handle) {
  Api api;
#define DCMI_FUNCTION(function, ...) os::FindFunction(handle, api.function.name, api.function.call);
#include "backend/ascend/functions.def"
#undef DCMI_FUNCTION
  return api;
}

// Calls the function with these arguments alone.
template <class... Parameters, class... Arguments>
Answer<void> Order(const Function<int(Parameters...)>& function, Arguments... arguments) {
  const int code = function.call(arguments...);
  if (code != kSuccess) return tl::unexpected(Failure{function.name, code});
  return {};
}

// The value that a function returns through its last parameter.
template <class T, class... Parameters, class... Arguments>
Answer<T> Ask(const Function<int(Parameters...)>& function, Arguments... arguments) {
  T value{};
  return Order(function, arguments..., &value).map([&] { return value; });
}

std::string_view MeaningOf(int code) {
  switch (code) {
    case kInvalidParameter:
      return "a parameter is invalid";
    case kInitFailed:
      return "the driver cannot be reached";
    case kNotReady:
      return "the device is not ready";
    case kNotSupported:
      return "it is not supported";
    case kFunctionNotFound:
      return "the driver lacks the function";
    default:
      return "it failed";
  }
}

// All listeners of the process. A thread of the library may use it while the process ends.
struct Registry {
  Mutex mutex;
  std::vector<const Listening*> all TESSERA_GUARDED_BY(mutex);
};
Registry& Listeners() {
  static auto* const kListeners = new Registry;
  return *kListeners;
}

}  // namespace

std::string Failure::Text() const {
  return fmt::format("{}: {} ({})", function, MeaningOf(code), code);
}

Result<LibraryPtr> Library::Load(const std::vector<std::string>& paths) {
  const auto [handle, path, failure] =
      os::LoadFirst(paths, kDirectories, os::Trust::kRootsFile, os::Scope::kGlobal);
  if (handle == nullptr) {
    return Fail(Reason::kDriverMissing, "cannot load DCMI: {} (looked for {})", failure,
                Join(paths, ", "));
  }
  return LibraryPtr(new Library(path, LookUp(handle)));
}

Answer<void> Library::Init() const {
  return Order(api_.Init);
}

Answer<std::vector<int>> Library::Cards() const {
  std::array<int, kMostCards> cards{};
  int count = 0;
  Answer<void> told = Order(api_.CardList, &count, cards.data(), kMostCards);
  if (!told && told.error().IsUnsupported()) {
    told = Order(api_.CardNumList, &count, cards.data(), kMostCards);
  }
  if (!told) return tl::unexpected(told.error());
  const auto end = cards.begin() + std::clamp(count, 0, kMostCards);
  return std::vector<int>(cards.begin(), end);
}

Answer<int> Library::DevicesInCard(int card) const {
  return Ask<int>(api_.DevicesInCard, card);
}

Answer<int> Library::Type(Place place) const {
  return Ask<int>(api_.Type, place.card, place.device);
}

Answer<int> Library::LogicId(Place place) const {
  int logic = 0;
  return Order(api_.LogicId, &logic, place.card, place.device).map([&] { return logic; });
}

Answer<uint32_t> Library::PhysicalId(int logic) const {
  return Ask<uint32_t>(api_.PhysicalId, static_cast<uint32_t>(logic));
}

Answer<ChipInfo> Library::Info(Place place) const {
  return Ask<ChipInfo>(api_.Info, place.card, place.device);
}

Answer<PcieInfo> Library::Pcie(Place place) const {
  return Ask<PcieInfo>(api_.Pcie, place.card, place.device);
}

Answer<DieId> Library::Vdie(Place place) const {
  return Ask<DieId>(api_.Die, place.card, place.device, kVdie);
}

Answer<uint64_t> Library::Memory(Place place) const {
  const auto hbm = Ask<HbmInfo>(api_.Hbm, place.card, place.device);
  if (hbm && hbm->size > 0) return hbm->size;
  const auto ddr = Ask<MemoryInfo>(api_.Memory, place.card, place.device);
  if (!ddr) return tl::unexpected(hbm ? ddr.error() : hbm.error());
  return ddr->size;
}

Answer<std::string> Library::Cpus(Place place) const {
  std::array<char, 257> list{};  // always ends with a zero
  int size = list.size() - 1;
  return Order(api_.Cpus, place.card, place.device, list.data(), &size).map([&] {
    return std::string(list.data());
  });
}

Answer<int> Library::MultiDiePolicy() const {
  return Ask<int>(api_.MultiDiePolicy);
}

Answer<uint32_t> Library::Health(Place place) const {
  return Ask<uint32_t>(api_.Health, place.card, place.device);
}

Answer<std::vector<uint32_t>> Library::ErrorCodes(Place place) const {
  std::array<uint32_t, kMostErrorCodes> codes{};
  int count = 0;
  const auto told =
      Order(api_.ErrorCodes, place.card, place.device, &count, codes.data(), kMostErrorCodes);
  if (!told) return tl::unexpected(told.error());
  const auto end = codes.begin() + std::clamp(count, 0, static_cast<int>(kMostErrorCodes));
  return std::vector<uint32_t>(codes.begin(), end);
}

Answer<void> Library::Subscribe(EventHandler handler) const {
  constexpr int kAll = -1;
  return Order(api_.Subscribe, kAll, kAll, EventFilter{}, handler);
}

Answer<std::vector<uint32_t>> Library::Vnpus(Place place) const {
  TotalResources total{};
  uint32_t size = sizeof(total);
  const auto told = Order(api_.DeviceInfo, place.card, place.device, kVnpus, kAllVnpus,
                          static_cast<void*>(&total), &size);
  if (!told) return tl::unexpected(told.error());
  return std::vector<uint32_t>(total.ids, total.ids + std::min(total.vnpus, kMostVnpus));
}

Answer<VnpuQuery> Library::Vnpu(Place place, uint32_t id) const {
  VnpuQuery query{};
  query.id = id;
  uint32_t size = sizeof(query);
  return Order(api_.DeviceInfo, place.card, place.device, kVnpus, kOneVnpu,
               static_cast<void*>(&query), &size)
      .map([&] { return query; });
}

Answer<uint32_t> Library::CreateVnpu(Place place, uint32_t id, std::string_view name) const {
  VnpuRequest request{};
  request.id = id;
  request.group = kAnyId;
  std::memcpy(request.name, name.data(), std::min(name.size(), sizeof(request.name) - 1));
  return Ask<MadeVnpu>(api_.CreateVnpu, place.card, place.device, &request)
      .map([](const MadeVnpu& made) { return made.id; });
}

Answer<void> Library::DestroyVnpu(Place place, uint32_t id) const {
  return Order(api_.DestroyVnpu, place.card, place.device, id);
}

std::vector<std::string> LibraryPaths(const os::Root& root) {
  constexpr std::string_view kName = "libdcmi.so";
  return os::LibraryPaths(root, "", kDirectories, {&kName, 1});
}

Listening::Listening(std::function<void(const FaultEvent&)> hear) : hear_(std::move(hear)) {
  Registry& listeners = Listeners();
  const MutexLock lock(listeners.mutex);
  listeners.all.push_back(this);
}

Listening::~Listening() {
  Registry& listeners = Listeners();
  const MutexLock lock(listeners.mutex);
  std::erase(listeners.all, this);
}

// DCMI's handlers have no argument of their caller's.
void Tell(FaultEvent* event) {
  if (event == nullptr || event->type != 0) return;
  Registry& listeners = Listeners();
  const MutexLock lock(listeners.mutex);
  for (const Listening* listener : listeners.all) listener->hear_(*event);
}

std::shared_ptr<Session> Session::Of(const os::Root& root) {
  static Mutex mutex;
  // They stay with their libraries, so that nothing subscribes to events twice.
  static std::map<std::string, std::shared_ptr<Session>> sessions TESSERA_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  std::shared_ptr<Session>& session = sessions[root.prefix()];
  if (session == nullptr) session = std::make_shared<Session>(LibraryPaths(root));
  return session;
}

std::string Session::FileNow() const {
  for (const std::string& path : paths_) {
    if (path.find('/') == std::string::npos) continue;
    const auto file = os::InspectTarget(path);
    if (!file || file->type != os::FileInfo::Type::kFile) continue;
    return fmt::format("{} {} {} {}", path, file->device, file->inode, file->changed_ns);
  }
  return "";
}

namespace {
tl::unexpected<Error> Released() {
  return Fail(Reason::kReleased, "DCMI was closed by 'tessera release'");
}
}  // namespace

Result<LibraryPtr> Session::Open() {
  const std::string file = FileNow();
  {
    MutexLock lock(mutex_);
    if (!opened_.wait_for(lock, kPatience,
                          [this]() TESSERA_REQUIRES(mutex_) { return !opening_; })) {
      return Fail(Reason::kTimedOut, "DCMI does not start: the driver hangs");
    }
    if (released_) return Released();
    if (library_ != nullptr && started_ && is_subscribed_ && file_ == file) return library_;
    if (file.empty() && library_ != nullptr) {
      started_ = false;
      return Fail(Reason::kDriverMissing, "{} is gone", library_->path());
    }
    opening_ = true;
  }
  // Outside the mutex, as the driver may hang here. opening_ keeps other threads from a second
  // call; they wait at most kPatience.
  Result<LibraryPtr> library = Start(file);
  const MutexLock lock(mutex_);
  opening_ = false;
  opened_.notify_all();
  if (released_) return Released();
  return library;
}

Result<LibraryPtr> Session::Start(const std::string& file) {
  LibraryPtr library;
  unsigned releases = 0;
  bool is_started = false;
  {
    const MutexLock lock(mutex_);
    library = library_;
    is_started = started_ && file_ == file;
    releases = releases_;
    if (library != nullptr && file != file_) {
      log::Warn(
          "the driver's library has changed; the agent uses the one that it loaded until it "
          "is restarted",
          {{"library", library->path()}});
    }
  }
  if (library == nullptr) library = TRY(Library::Load(paths_));
  if (is_started) {
    Subscribe(library);
    return library;
  }
  const auto begun = library->Init();
  if (begun) {
    log::Info("DCMI opened", {{"library", library->path()}});
    Subscribe(library);
  }
  const MutexLock lock(mutex_);
  library_ = library;
  file_ = file;
  started_ = begun && releases == releases_;
  if (begun) return library;
  return Fail(Reason::kDriverMissing, "cannot start DCMI from {}: {}", library->path(),
              begun.error().Text());
}

void Session::Subscribe(const LibraryPtr& library) {
  {
    const MutexLock lock(mutex_);
    if (is_subscribed_) return;
  }
  const auto subscribed = library->Subscribe(Tell);
  const MutexLock lock(mutex_);
  is_subscribed_ = subscribed || subscribed.error().IsUnsupported();
  if (subscribed) {
    log::Info("DCMI tells of faults", {{"library", library->path()}});
  } else if (!std::exchange(told_, true)) {
    log::Warn("DCMI does not tell of faults, which checks alone find now",
              {{"library", library->path()}, {"answer", subscribed.error().Text()}});
  }
}

void Session::Release() {
  const MutexLock lock(mutex_);
  released_ = true;
  started_ = false;
  ++releases_;
}

void Session::TakeUp() {
  const MutexLock lock(mutex_);
  released_ = false;
}

bool Session::is_released() const {
  const MutexLock lock(mutex_);
  return released_;
}

std::vector<std::string> Session::HeldBy() const {
  const MutexLock lock(mutex_);
  if (library_ == nullptr) return {};
  return {
      fmt::format("{} stays loaded, as DCMI cannot end its threads: end the agent for what "
                  "needs an unloaded driver",
                  library_->path())};
}

}  // namespace tessera::dcmi
