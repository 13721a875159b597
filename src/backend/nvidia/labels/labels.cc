// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/labels.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "backend/nvidia/core/claims.h"
#include "base/characters.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::nvidia {
namespace {

constexpr size_t kMost = 63;  // Kubernetes' limit for a value

constexpr uint32_t kGraphicsClass = 0x030000;
constexpr uint32_t kComputeClass = 0x030200;

std::string_view NameOf(SharingStrategy strategy) {
  switch (strategy) {
    case SharingStrategy::kTimeSlicing:
      return "time-slicing";
    case SharingStrategy::kMps:
      return "mps";
    case SharingStrategy::kNone:
      break;
  }
  return "none";
}

// The sharing label of a resource whose GPUs are divided.
constexpr Sharing kParent{.replicas = 0};

class Making {
 public:
  Making(const NodeFacts& facts, const LabelPolicy& policy) : facts_(facts), policy_(policy) {}

  Labels Take(std::optional<int64_t> timestamp) {
    if (timestamp) Set("gfd.timestamp", *timestamp);
    if (!facts_.gpus.empty()) {
      Set("gpu.machine", facts_.machine.value_or("unknown"));
      AddVersions();
      AddCapabilities();
      AddGpus();
      if (policy_.mig_strategy == MigStrategy::kSingle) AddSingle();
      if (policy_.mig_strategy == MigStrategy::kMixed) AddMixed();
      AddMode();
      AddClique();
    }
    AddVgpu();
    return std::move(labels_);
  }

 private:
  template <class T>
  void Set(std::string_view key, const T& value) {
    labels_[fmt::format("nvidia.com/{}", key)] = Cut(Sanitised(fmt::format("{}", value)), kMost);
  }

  void AddVersions() {
    const std::vector<std::string> parts = Split(facts_.driver, '.');
    if (parts.size() == 2 || parts.size() == 3) {
      const std::string rev = parts.size() == 3 ? parts[2] : "";
      Set("cuda.driver.major", parts[0]);
      Set("cuda.driver.minor", parts[1]);
      Set("cuda.driver.rev", rev);
      Set("cuda.driver-version.major", parts[0]);
      Set("cuda.driver-version.minor", parts[1]);
      Set("cuda.driver-version.revision", rev);
      Set("cuda.driver-version.full", facts_.driver);
    }
    if (facts_.cuda == 0) return;
    const int major = facts_.cuda / 1000;
    const int minor = facts_.cuda % 1000 / 10;
    Set("cuda.runtime.major", major);
    Set("cuda.runtime.minor", minor);
    Set("cuda.runtime-version.major", major);
    Set("cuda.runtime-version.minor", minor);
    Set("cuda.runtime-version.full", fmt::format("{}.{}", major, minor));
  }

  void AddCapabilities() {
    Set("mig.capable", std::ranges::any_of(facts_.gpus, &GpuFacts::knows_mig));
    Set("mps.capable", policy_.mps && !AnyDivided());
  }

  static bool IsDivided(const GpuFacts& gpu) { return gpu.mig.enabled; }
  bool AnyDivided() const { return std::ranges::any_of(facts_.gpus, IsDivided); }

  // The labels that every resource has. `what` is appended to the model: "-MIG-1g.10gb".
  void AddBase(const std::string& resource, const std::string& model, std::string what,
               std::ptrdiff_t count, const Sharing& sharing) {
    const bool shared = sharing.strategy != SharingStrategy::kNone && sharing.replicas > 1;
    if (shared && !sharing.renamed) what += "-SHARED";
    // The suffix distinguishes devices of one model, so the model is cut.
    const size_t room = kMost - std::min(kMost, what.size());
    Set(resource + ".product", Cut(Sanitised(model), room) + what);
    Set(resource + ".count", count);
    Set(resource + ".replicas", sharing.replicas);
    Set(resource + ".sharing-strategy", NameOf(shared ? sharing.strategy : SharingStrategy::kNone));
  }

  // If models differ, labels name one: models with whole GPUs first, then the model with the most
  // GPUs, then that of the first GPU.
  const std::string& Model() const {
    const GpuFacts* best = nullptr;
    for (const GpuFacts& gpu : facts_.gpus) {
      if (best == nullptr || Rank(gpu) > Rank(*best)) best = &gpu;
    }
    return best->model;
  }
  std::pair<bool, std::ptrdiff_t> Rank(const GpuFacts& gpu) const {
    return {HasWhole(gpu.model), CountOf(gpu.model)};
  }
  std::ptrdiff_t CountOf(const std::string& model) const {
    return std::ranges::count(facts_.gpus, model, &GpuFacts::model);
  }
  bool HasWhole(const std::string& model) const {
    return std::ranges::any_of(
        facts_.gpus, [&](const GpuFacts& gpu) { return gpu.model == model && !IsDivided(gpu); });
  }

  // The labels of whole GPUs; also of divided ones, as far as their devices have no labels.
  void AddGpus() {
    const std::string& model = Model();
    AddBase("gpu", model, "", CountOf(model), HasWhole(model) ? policy_.gpus : kParent);
    const auto known = [&](const auto& is) {
      const auto found = std::ranges::find_if(
          facts_.gpus, [&](const GpuFacts& gpu) { return gpu.model == model && is(gpu); });
      return found == facts_.gpus.end() ? nullptr : &*found;
    };
    if (const auto* gpu = known([](const GpuFacts& g) { return g.memory_mib != 0; })) {
      Set("gpu.memory", gpu->memory_mib);
    }
    if (const auto* gpu = known([](const GpuFacts& g) { return g.compute_major != 0; })) {
      Set("gpu.family", FamilyOf(gpu->compute_major, gpu->compute_minor));
      if (gpu->compute_major < 0) return;
      Set("gpu.compute.major", gpu->compute_major);
      Set("gpu.compute.minor", gpu->compute_minor);
    }
  }

  // The MIG devices of one profile, and the first GPU that has some.
  struct Devices {
    const GpuFacts* gpu = nullptr;
    const MigDevice* first = nullptr;
    std::ptrdiff_t count = 0;
  };
  // By the profile's form in names.
  std::map<std::string, Devices> DevicesByProfile() const {
    std::map<std::string, Devices> all;
    for (const GpuFacts& gpu : facts_.gpus) {
      for (const MigDevice& mig : gpu.mig.devices) {
        Devices& devices = all[config::ProfileInName(mig.profile)];
        if (devices.count++ == 0) devices = {&gpu, &mig, 1};
      }
    }
    return all;
  }

  void AddDevices(const std::string& resource, const std::string& profile, const Devices& devices,
                  const Sharing& sharing) {
    AddBase(resource, devices.gpu->model, "-MIG-" + profile, devices.count, sharing);
    const nvml::DeviceAttributes& of = devices.first->attributes;
    Set(resource + ".memory", of.memory_mib);
    Set(resource + ".multiprocessors", of.multiprocessors);
    Set(resource + ".slices.gi", of.gpu_instance_slices);
    Set(resource + ".slices.ci", of.compute_instance_slices);
    Set(resource + ".engines.copy", of.shared_copy_engines);
    Set(resource + ".engines.decoder", of.shared_decoders);
    Set(resource + ".engines.encoder", of.shared_encoders);
    Set(resource + ".engines.jpeg", of.shared_jpeg_engines);
    Set(resource + ".engines.ofa", of.shared_ofa_engines);
  }

  void AddSingle() {
    Set("mig.strategy", "single");
    if (!AnyDivided()) return;
    const bool whole_ones = !std::ranges::all_of(facts_.gpus, IsDivided);
    const bool bare_ones = std::ranges::any_of(
        facts_.gpus, [](const GpuFacts& gpu) { return IsDivided(gpu) && gpu.mig.devices.empty(); });
    const std::map<std::string, Devices> devices = DevicesByProfile();
    if (!whole_ones && !bare_ones && devices.size() == 1) {
      const auto& [profile, of] = *devices.begin();
      return AddDevices("gpu", profile, of, policy_.gpus);
    }
    AddBase("gpu", std::ranges::find_if(facts_.gpus, IsDivided)->model, "-MIG-INVALID", 0, kParent);
    Set("gpu.sharing-strategy", "");
    Set("gpu.memory", 0);
  }

  void AddMixed() {
    Set("mig.strategy", "mixed");
    for (const auto& [profile, devices] : DevicesByProfile()) {
      const std::string& as_it_is = devices.first->profile;
      const auto fits = std::ranges::find_if(policy_.profiles, [&](const auto& sharing) {
        return FitsProfile(sharing.first, as_it_is);
      });
      AddDevices("mig-" + profile, profile, devices,
                 fits == policy_.profiles.end() ? Sharing() : fits->second);
    }
  }

  void AddMode() {
    std::set<std::optional<uint32_t>> classes;
    for (const GpuFacts& gpu : facts_.gpus) classes.insert(gpu.pci_class);
    const bool graphics = classes == std::set<std::optional<uint32_t>>{kGraphicsClass};
    const bool compute = classes == std::set<std::optional<uint32_t>>{kComputeClass};
    Set("gpu.mode", graphics ? "graphics" : compute ? "compute" : "unknown");
  }

  // GPUs without a clique do not matter.
  void AddClique() {
    std::set<std::string> cliques;
    for (const GpuFacts& gpu : facts_.gpus) {
      if (gpu.clique) cliques.insert(fmt::format("{}.{}", gpu.clique->cluster, gpu.clique->id));
    }
    if (cliques.size() == 1) Set("gpu.clique", *cliques.begin());
  }

  void AddVgpu() {
    if (facts_.vgpu) Set("vgpu.present", *facts_.vgpu);
    if (!facts_.host) return;
    Set("vgpu.host-driver-version", facts_.host->version);
    Set("vgpu.host-driver-branch", facts_.host->branch);
  }

  const NodeFacts& facts_;
  const LabelPolicy& policy_;
  Labels labels_;
};

}  // namespace

Labels MakeLabels(const NodeFacts& facts, const LabelPolicy& policy,
                  std::optional<int64_t> timestamp) {
  return Making(facts, policy).Take(timestamp);
}

std::string Sanitised(std::string_view text) {
  std::string made;
  bool parted = false;
  for (const char c : text) {
    parted |= c == ' ';
    if (!IsAlphanumeric(c) && c != '-' && c != '_' && c != '.') continue;
    if (parted && !made.empty()) made += '-';
    parted = false;
    made += c;
  }
  return made;
}

std::string Cut(std::string_view text, size_t most) {
  while (!text.empty() && !IsAlphanumeric(text.front())) text.remove_prefix(1);
  text = text.substr(0, most);
  while (!text.empty() && !IsAlphanumeric(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string_view FamilyOf(int compute_major, int compute_minor) {
  switch (compute_major) {
    case 1:
      return "tesla";
    case 2:
      return "fermi";
    case 3:
      return "kepler";
    case 5:
      return "maxwell";
    case 6:
      return "pascal";
    case 7:
      return compute_minor < 5 ? "volta" : "turing";
    case 8:
      return compute_minor < 9 ? "ampere" : "ada-lovelace";
    case 9:
      return "hopper";
    case 10:
    case 12:
      return "blackwell";
    case 13:
      return "rubin";
    default:
      return "undefined";
  }
}

}  // namespace tessera::nvidia
