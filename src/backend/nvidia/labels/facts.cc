// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "backend/nvidia/core/topology.h"
#include "backend/nvidia/labels/pci_file.h"
#include "backend/nvidia/nvml/per_session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::nvidia {
namespace {

constexpr Duration kPatience{2'000};  // the longest wait for GPUs
constexpr int kReaders = 64;          // more than a node has GPUs
constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kMigFamily = "nvidia.com/mig-{profile}";

Sharing SharingOf(const config::Resource& resource, bool renamed) {
  const Division division = resource.policy.division;
  if (division == Division::kWhole) return {};
  const bool mps = division == Division::kMps;
  return {mps ? SharingStrategy::kMps : SharingStrategy::kTimeSlicing, resource.policy.replicas,
          renamed};
}

// A UUID's usual text.
std::string UuidText(const uint8_t (&bytes)[16]) {
  std::string text;
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::optional<Clique> CliqueOf(const nvml::Library& library, nvml::DeviceHandle device) {
  const auto fabric = library.Fabric(device);
  if (!fabric || fabric->state != nvml::kFabricCompleted) return std::nullopt;
  if (fabric->status != nvml::Return::kSuccess) return std::nullopt;
  const bool is_zero = std::ranges::all_of(fabric->cluster, [](uint8_t byte) { return byte == 0; });
  if (is_zero) return std::nullopt;
  return Clique{UuidText(fabric->cluster), fabric->clique};
}

}  // namespace

std::string DriverRoot(const config::Config& config) {
  for (const config::Resource& resource : config.resources) {
    if (const auto* kind = resource.kind.As<NvidiaConfig>()) return kind->driver_root;
  }
  return "/";
}

std::optional<std::string> MachineIn(const os::Root& root, const std::string& file) {
  const auto machine = os::ReadFile(root.Path(file));
  return machine ? std::optional(std::string(Trim(*machine))) : std::nullopt;
}

std::optional<int64_t> TimestampOf(const config::Config& config) {
  if (!config.labels.timestamp) return std::nullopt;
  const auto now = SystemClock().WallNow().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::optional<uint32_t> PciClass(const os::Root& root, const std::string& address) {
  const auto number = ReadPciNumber(root, address, "class");
  return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
}

LabelPolicy LabelPolicyOf(const config::Config& config) {
  LabelPolicy policy;
  bool has_gpus = false;
  for (const config::Resource& resource : config.resources) {
    const auto* kind = resource.kind.As<NvidiaConfig>();
    if (kind == nullptr) continue;
    policy.mps |= resource.policy.division == Division::kMps;
    if (!kind->mig.empty()) {
      const bool usual =
          resource.name == kMigFamily || resource.name == config::MemberName(kMigFamily, kind->mig);
      policy.mig_strategy = MigStrategy::kMixed;
      policy.profiles.emplace_back(kind->mig, SharingOf(resource, !usual));
    } else if (!std::exchange(has_gpus, true)) {
      policy.gpus = SharingOf(resource, resource.name != kGpu);
      const bool devices = kind->in_mig_mode == NvidiaConfig::InMigMode::kDevices;
      if (devices && policy.mig_strategy == MigStrategy::kNone) {
        policy.mig_strategy = MigStrategy::kSingle;
      }
    }
  }
  return policy;
}

nvml::Answer<GpuFacts> ReadFacts(const nvml::Library& library, const os::Root& root,
                                 unsigned index) {
  const nvml::Use use(library, index);
  const auto device = library.DeviceByIndex(index);
  if (!device) return tl::unexpected(device.error());
  auto name = library.Name(*device);
  if (!name) return tl::unexpected(name.error());
  const auto mode = library.MigMode(*device);
  if (!mode) return tl::unexpected(mode.error());
  auto mig = ReadMig(library, *device);
  if (!mig) return tl::unexpected(mig.error());
  GpuFacts facts{.model = *std::move(name), .knows_mig = mode->has_value(), .mig = *std::move(mig)};
  // The following facts are optional.
  if (const auto memory = library.MemoryOf(*device)) facts.memory_mib = memory->total >> 20;
  if (const auto compute = library.ComputeCapabilityOf(*device)) {
    facts.compute_major = compute->major;
    facts.compute_minor = compute->minor;
  }
  if (const auto pci = library.Pci(*device)) facts.pci_class = PciClass(root, SysfsAddress(*pci));
  facts.clique = CliqueOf(library, *device);
  return facts;
}

void ReadVgpu(const os::Root& root, NodeFacts& facts) {
  facts.vgpu = false;
  for (const std::string& address : NvidiaAddresses(root)) {
    const auto space = os::ReadFile(PciFile(root, address, "config"), kConfigSpace);
    if (!space || space->size() < kConfigSpace) {
      // It may be a virtual GPU.
      if (facts.vgpu == false) facts.vgpu.reset();
      continue;
    }
    const std::string_view capability = VendorCapability(*space);
    if (!IsVgpu(capability)) continue;
    facts.vgpu = true;
    if (auto host = HostDriverIn(capability)) facts.host = std::move(host);
  }
}

void KnownGpus::Keep(unsigned count, std::map<unsigned, GpuFacts> read) {
  const MutexLock lock(mutex_);
  read.merge(gpus_);
  read.erase(read.lower_bound(count), read.end());
  gpus_ = std::move(read);
}

std::map<unsigned, GpuFacts> KnownGpus::All() const {
  const MutexLock lock(mutex_);
  return gpus_;
}

GpuLabeller::GpuLabeller(const config::Config& config)
    : root_(config.root_prefix),
      machine_file_(config.labels.machine_type_file),
      policy_(LabelPolicyOf(config)),
      timestamp_(TimestampOf(config)),
      session_(nvml::Session::Of(root_, DriverRoot(config))),
      known_(PerSession<KnownGpus>(session_)),
      readers_(kReaders) {}

Result<Labels> GpuLabeller::Read() {
  const nvml::LibraryPtr library = TRY(session_->Open());
  const auto failed = [&](const nvml::Failure& failure) {
    if (nvml::IsOfDriver(failure)) session_->Discard(library);
    return Fail(Reason::kScanFailed, "{}", library->Text(failure));
  };
  const auto count = library->DeviceCount();
  if (!count) return failed(count.error());
  auto gpus = ReadGpus(library, *count);
  if (!gpus) return failed(gpus.error());
  // If no GPU of the node answers, labels must not say that it has none.
  if (gpus->empty() && !silent_.empty()) {
    return Fail(Reason::kScanFailed, "GPU {}: {}", silent_.begin()->first, silent_.begin()->second);
  }
  NodeFacts facts{.driver = library->DriverVersion().value_or(""),
                  .cuda = library->CudaVersion().value_or(0),
                  .machine = MachineIn(root_, machine_file_),
                  .gpus = *std::move(gpus)};
  ReadVgpu(root_, facts);
  return MakeLabels(facts, policy_, timestamp_);
}

Labels GpuLabeller::WithoutDevices() {
  NodeFacts facts;
  ReadVgpu(root_, facts);
  return MakeLabels(facts, policy_, timestamp_);
}

// Fails only if the driver itself does.
nvml::Answer<std::vector<GpuFacts>> GpuLabeller::ReadGpus(const nvml::LibraryPtr& library,
                                                          unsigned count) {
  SerialQueue queue(readers_);
  for (unsigned i = 0; i < count; ++i) {
    std::shared_ptr<GpuReading>& last = readings_[i];
    if (last != nullptr && !last->IsDone()) continue;  // it hangs, and one stuck thread is enough
    last = std::make_shared<GpuReading>();
    queue.Add([reading = last, library, root = root_, i] {
      reading->Finish(ReadFacts(*library, root, i));
    });
  }
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  queue.Run(limit);

  std::map<unsigned, GpuFacts> read;
  std::map<unsigned, std::string> silent;
  for (unsigned i = 0; i < count; ++i) {
    const auto answer = readings_[i]->Await(limit);
    if (answer && *answer) {
      read[i] = **answer;
    } else if (answer && nvml::IsOfDriver(answer->error())) {
      return tl::unexpected(answer->error());
    } else {
      silent[i] = answer ? library->Text(answer->error()) : "it does not answer";
    }
  }
  known_->Keep(count, std::move(read));
  const std::map<unsigned, GpuFacts> known = known_->All();
  TellSilent(std::move(silent), known);
  std::vector<GpuFacts> gpus;
  for (const auto& [index, gpu] : known) {
    if (!IsDisplay({.model = gpu.model})) gpus.push_back(gpu);
  }
  return gpus;
}

void GpuLabeller::TellSilent(std::map<unsigned, std::string> silent,
                             const std::map<unsigned, GpuFacts>& known) {
  for (const auto& [index, why] : silent) {
    const auto told = silent_.find(index);
    if (told != silent_.end() && told->second == why) continue;
    log::Warn(known.contains(index) ? "a GPU cannot be read, its labels stay"
                                    : "a GPU cannot be read, labels do not count it",
              {{"gpu", index}, {"error", why}});
  }
  silent_ = std::move(silent);
}

}  // namespace tessera::nvidia
