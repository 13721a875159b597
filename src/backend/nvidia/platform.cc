// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/platform.h"

#include <algorithm>
#include <utility>

#include "backend/nvidia/cdi/parts.h"
#include "backend/nvidia/cdi/platforms.h"
#include "backend/nvidia/core/claims.h"
#include "backend/nvidia/core/condition.h"
#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/fraction/vgpu_trouble.h"
#include "backend/nvidia/labels/pci_file.h"
#include "backend/nvidia/nvml/library_directories.h"
#include "backend/nvidia/nvml/nvml.h"
#include "base/log.h"
#include "os/vendor_library.h"

namespace tessera::nvidia {
namespace {

constexpr char kDxg[] = "/dev/dxg";

bool IsWorse(EvidenceKind kind, EvidenceKind than) {
  if (than == EvidenceKind::kGood) return kind != EvidenceKind::kGood;
  return kind == EvidenceKind::kFatal && than != EvidenceKind::kFatal;
}

bool IsTegraFamily(std::string_view family) {
  const std::string_view tegra = kTegra;
  return family.size() >= tegra.size() &&
         std::equal(tegra.begin(), tegra.end(), family.begin(),
                    [](char wanted, char found) { return wanted == (found | 0x20); });
}

}  // namespace

bool HasDxCore(const os::Root& root, const std::string& driver_root) {
  return os::CanLoad(nvml::LibraryPaths(root, driver_root, "libdxcore.so"), kLibraryDirectories);
}

bool HasTegraFiles(const os::Root& root, const std::string& driver_root) {
  for (const std::string_view directory : {std::string_view(driver_root), std::string_view("/")}) {
    const auto release = os::InspectTarget(root.Path(Below(directory, "/etc/nv_tegra_release")));
    if (release && release->type == os::FileInfo::Type::kFile) return true;
    const auto family = os::ReadFile(root.Path(Below(directory, "/sys/devices/soc0/family")));
    if (family && IsTegraFamily(*family)) return true;
  }
  return false;
}

bool IsTegraWithoutNvml(const os::Root& root, const std::string& driver_root) {
  return HasTegraFiles(root, driver_root) &&
         !os::CanLoad(nvml::LibraryPaths(root, driver_root), kLibraryDirectories);
}

bool HasNoGpu(const os::Root& root, const std::string& driver_root) {
  constexpr uint64_t kDisplay = 0x03;  // the class of GPUs; NVSwitches and sound have others
  if (HasTegraFiles(root, driver_root) || HasDxCore(root, driver_root)) return false;
  if (!os::ListDirectory(root.Path("/sys/bus/pci/devices"))) return false;
  return std::ranges::none_of(NvidiaAddresses(root), [&](const std::string& address) {
    return ReadPciNumber(root, address, "class").value_or(kDisplay << 16) >> 16 == kDisplay;
  });
}

bool NeedsNvml(const os::Root& root, const NvidiaConfig& config) {
  using Discovery = NvidiaConfig::Discovery;
  if (config.discovery == Discovery::kNvml) return true;
  if (config.discovery == Discovery::kTegra) return false;
  return HasDxCore(root, config.driver_root) || !IsTegraWithoutNvml(root, config.driver_root);
}

PlatformBackend::PlatformBackend(std::string resource, NvidiaConfig config, os::Root root,
                                 std::shared_ptr<Backend> gpus)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      gpus_(std::move(gpus)) {}

Status PlatformBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  return gpus_->Start(*this);
}

void PlatformBackend::Stop() {
  gpus_->Stop();
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

Result<std::vector<Device>> PlatformBackend::Scan() {
  auto devices = FindDevices();
  if (devices) TellImex();
  return devices;
}

Result<std::vector<Device>> PlatformBackend::FindDevices() {
  using Discovery = NvidiaConfig::Discovery;
  if (config_.discovery == Discovery::kTegra) {
    TellForced();
    return SetCombinedGpu(CombinedGpu{kTegra, {}});
  }
  if (IsWsl()) return SetCombinedGpu(CombinedGpu{kWsl, {}});
  auto devices = gpus_->Scan();
  if (devices) has_nvml_ = true;
  // A lost driver does not turn a node into a Tegra or an empty one, nor make a Tegra good.
  const bool absent = !devices && devices.error().reason == Reason::kDriverMissing && !has_nvml_;
  const bool may_be_tegra = config_.discovery != Discovery::kNvml;
  if (absent && may_be_tegra && IsTegraWithoutNvml(root_, config_.driver_root)) {
    return SetCombinedGpu(CombinedGpu{kTegra, {}});
  }
  if (absent && HasNoGpu(root_, config_.driver_root)) {
    if (!std::exchange(told_no_gpu_, true)) {
      log::Info("the node has no NVIDIA GPU", {{"resource", resource_}});
    }
    return SetCombinedGpu({});
  }
  if (!devices || !may_be_tegra) return devices;
  const bool integrated = std::ranges::any_of(
      *devices, [](const Device& device) { return IsIntegrated(device.model); });
  if (integrated) return SetCombinedGpu(CombinedGpu{kTegra, *std::move(devices)});
  SetCombinedGpu({});
  return devices;
}

std::shared_ptr<const cdi::Parts> PlatformBackend::DescribeForCdi(
    const std::vector<Device>& devices) {
  if (config_.cdi_vendor.empty() || resource_ == config_.family) return nullptr;
  DriverFiles files = FindDriverFiles(root_, DriverTree(root_, config_));
  const bool found = !files.libraries.version.empty();
  // While the driver is replaced, its former files stay named. A container that starts without a
  // driver would be worse than one that does not start yet.
  if (found || files_.libraries.version.empty()) files_ = std::move(files);
  const bool matters = !found && !std::ranges::all_of(devices, IsWholePlatform);
  if (matters && !told_no_libraries_) {
    log::Warn("CDI documents name no library of the driver: none is found below its root",
              {{"resource", resource_}, {"driver", config_.driver_root}});
  }
  told_no_libraries_ = matters;
  auto parts =
      std::make_shared<const cdi::Parts>(nvidia::DescribeForCdi(root_, config_, files_, devices));
  TellMissing(*parts);
  return parts;
}

void PlatformBackend::TellMissing(const cdi::Parts& parts) {
  const std::set<std::string> told = std::exchange(told_missing_, {});
  for (const MissingFeature& missing : MissingFeatures(config_, parts)) {
    told_missing_.insert(missing.name);
    if (told.contains(missing.name)) continue;
    log::Warn("a feature for containers is missing; they start without it",
              {{"resource", resource_},
               {"feature", missing.name},
               {"nodes", missing.nodes},
               {"advice", missing.remedy + ", or remove it from 'features'"}});
  }
  for (const std::string& feature : told) {
    if (told_missing_.contains(feature)) continue;
    log::Info("a feature for containers is available",
              {{"resource", resource_}, {"feature", feature}});
  }
}

void PlatformBackend::TellImex() {
  if (config_.imex == Imex::kNone) return;
  const bool missing = !ImexNode(root_, config_);
  if (std::exchange(told_no_imex_, missing) == missing) return;
  if (!missing) return log::Info("the IMEX channel exists", {{"resource", resource_}});
  const MutexLock lock(mutex_);
  log::Warn(config_.imex == Imex::kRequired
                ? "the IMEX channel is missing, so every GPU is unhealthy"
                : "the IMEX channel is missing; containers start without it",
            {{"resource", resource_},
             {"channel", kImexChannel},
             {"advice", whole_ ? "WSL and Tegra usually have no nvidia-imex: remove 'imex' for "
                                 "such nodes, or make the channel"
                               : "start nvidia-imex, or make the channel"}});
}

// Logged once: the agent may not know a JetPack's files, or not see them.
void PlatformBackend::TellForced() {
  if (told_forced_ || HasTegraFiles(root_, config_.driver_root)) return;
  told_forced_ = true;
  log::Warn("no file identifies a Tegra; its device is served because the configuration says so",
            {{"resource", resource_},
             {"looked", "/etc/nv_tegra_release, /sys/devices/soc0/family"},
             {"driver", config_.driver_root}});
}

// Records the scan's device for all GPUs. Returns it if it is this resource's.
std::vector<Device> PlatformBackend::SetCombinedGpu(std::optional<CombinedGpu> whole) {
  const MutexLock lock(mutex_);
  const std::string before = whole_ ? whole_->id : "";
  whole_ = std::move(whole);
  if (!whole_) return {};
  const std::string& id = whole_->id;
  if (id != before) {
    log::Info("all GPUs are one device, as on every such node",
              {{"resource", resource_}, {"node", id == kWsl ? "WSL" : "Tegra"}, {"device", id}});
  }
  const Device device = Describe(id);
  const bool ours = ClaimedPartOf(config_, {.uuid = id, .model = device.model}).whole;
  return ours && config_.family.empty() ? std::vector<Device>{device} : std::vector<Device>();
}

Device PlatformBackend::Describe(const std::string& id) const {
  Device device;
  device.key = {resource_, id};
  // As in NVIDIA's plugin: the index of a Tegra's GPU is 0, and "all" stands for all GPUs of WSL.
  const bool by_index = config_.id_strategy == IdStrategy::kIndex && id == kTegra;
  device.visible_as = by_index ? "0" : id;
  device.model = id == kWsl ? "NVIDIA GPUs of WSL" : "NVIDIA Tegra";
  if (id == kWsl) {
    device.nodes.push_back({.host_path = Below(config_.dev_root, kDxg), .container_path = kDxg});
  }
  AddImex(root_, config_, device);
  if (config_.vgpu.on)
    device.memory = config_.memory_if_untold;  // NVML would report that of one GPU
  if (!device.defect) device.defect = VgpuTrouble(config_, device);
  return device;
}

// Loading a library in every scan is expensive, and a node's platform does not change.
bool PlatformBackend::IsWsl() {
  if (!is_wsl_ && !has_nvml_) is_wsl_ = HasDxCore(root_, config_.driver_root);
  return is_wsl_;
}

bool PlatformBackend::HasDxg() const {
  // An agent in a container may have the host's node only in its own /dev.
  return os::Exists(root_.Path(Below(config_.dev_root, kDxg))) || os::Exists(root_.Path(kDxg));
}

Evidence PlatformBackend::Check(const Device& device) {
  const std::string& id = device.key.id;
  if (id != kWsl && id != kTegra) return gpus_->Check(device);
  if (device.defect) {
    return FromCheck(EvidenceKind::kBad, device.defect->reason, device.defect->message);
  }
  std::vector<Device> parts;
  {
    const MutexLock lock(mutex_);
    if (whole_ && whole_->id == id) parts = whole_->parts;
  }
  Evidence worst = FromCheck(EvidenceKind::kGood, {}, {});
  for (const Device& part : parts) {
    Evidence evidence = gpus_->Check(part);
    if (IsWorse(evidence.kind, worst.kind)) worst = std::move(evidence);
  }
  if (!parts.empty()) return worst;
  if (id == kWsl && !HasDxg()) {
    return FromCheck(EvidenceKind::kFatal, Reason::kVanished, "/dev/dxg is not there");
  }
  const bool forced = config_.discovery == NvidiaConfig::Discovery::kTegra;
  if (id == kTegra && !forced && !HasTegraFiles(root_, config_.driver_root)) {
    return FromCheck(
        EvidenceKind::kFatal, Reason::kVanished,
        "neither /etc/nv_tegra_release nor /sys/devices/soc0/family identifies a Tegra");
  }
  return worst;
}

void PlatformBackend::RescanSoon() {
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
}

// A report about any GPU is about the device that stands for all.
void PlatformBackend::Report(const DeviceKey& key, Evidence evidence) {
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  events_->Report(whole_ ? DeviceKey{key.source, whole_->id} : key, std::move(evidence));
}

void PlatformBackend::CountDriverError(const std::string& gpu, const std::string& xid) {
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->CountDriverError(gpu, xid);
}

}  // namespace tessera::nvidia
