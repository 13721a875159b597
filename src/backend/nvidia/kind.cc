// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs: `nvidia: {}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <chrono>
#include <future>
#include <map>

#include "backend/nvidia/cdi/config.h"
#include "backend/nvidia/cdi/parts.h"
#include "backend/nvidia/core/claims.h"
#include "backend/nvidia/core/rendering.h"
#include "backend/nvidia/core/select_config.h"
#include "backend/nvidia/fraction/vgpu_config.h"
#include "backend/nvidia/labels/facts.h"
#include "backend/nvidia/labels/vfio.h"
#include "backend/nvidia/mps/backend.h"
#include "backend/nvidia/mps/config.h"
#include "backend/nvidia/nvidia.h"
#include "backend/nvidia/platform.h"
#include "backend/nvidia/sampler/sampler.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"
#include "os/thread.h"

namespace tessera::config {
namespace {

constexpr int64_t kMostMemory = 100'000'000;  // MiB: 100 TB

constexpr auto kNvidia = kKindConfig<NvidiaConfig>;
constexpr auto kXidRule = [](auto& config, const At& at) -> auto& {
  return kNvidia(config, at).xids[at[1]];
};
constexpr auto kProbation = [](auto& config, const At& at) -> auto& {
  return kNvidia(config, at).probation;
};

Choices<NvidiaConfig::InMigMode> MigModes() {
  return {{"left-out", NvidiaConfig::InMigMode::kLeftOut},
          {"whole", NvidiaConfig::InMigMode::kWhole},
          {"devices", NvidiaConfig::InMigMode::kDevices}};
}

Choices<NvidiaConfig::Discovery> Discoveries() {
  return {{"auto", NvidiaConfig::Discovery::kAuto},
          {"nvml", NvidiaConfig::Discovery::kNvml},
          {"tegra", NvidiaConfig::Discovery::kTegra}};
}

Choices<nvidia::XidClass> Classes() {
  Choices<nvidia::XidClass> classes;
  for (const nvidia::XidClass each : nvidia::AllXidClasses()) {
    classes.emplace_back(XidClassName(each), each);
  }
  return classes;
}

Choices<nvidia::IdStrategy> IdStrategies() {
  return {{"uuid", nvidia::IdStrategy::kUuid}, {"index", nvidia::IdStrategy::kIndex}};
}
Choices<nvidia::Feature> Features() {
  return {{"gdrcopy", nvidia::Feature::kGdrcopy},
          {"gds", nvidia::Feature::kGds},
          {"mofed", nvidia::Feature::kMofed}};
}
Choices<nvidia::Imex> ImexChoices() {
  return {{"none", nvidia::Imex::kNone},
          {"optional", nvidia::Imex::kOptional},
          {"required", nvidia::Imex::kRequired}};
}
Choices<nvidia::OtherXids> OtherXidsChoices() {
  return {{"table", nvidia::OtherXids::kTable},
          {"ignore", nvidia::OtherXids::kIgnore},
          {"count", nvidia::OtherXids::kCount}};
}

Key XidsKey() {
  return {.name = "xids",
          .type = Type::kList,
          .doc =
              "What XIDs, the driver's error numbers, mean for the GPU. An entry overrides the "
              "table in docs/reference/xids.md.",
          .default_note = "the table's",
          .max = 256,
          .list = BindList(kNvidia, &NvidiaConfig::xids),
          .children = [] {
            return std::vector<Key>{
                {.name = "xid",
                 .type = Type::kInt,
                 .doc = "The XID.",
                 .example = "94",
                 .required = true,
                 .min = 1,
                 .max = 9999,
                 .field = Bind(kXidRule, &NvidiaConfig::XidRule::xid)},
                {.name = "class",
                 .type = Type::kEnum,
                 .doc = "What brings the GPU back. `application`: the GPU never leaves. `recover`: "
                        "good checks during its probation. `reset`: a reset. `reboot`: a reboot.",
                 .example = "application",
                 .required = true,
                 .values = NamesOf(Classes()),
                 .field = BindEnum(kXidRule, &NvidiaConfig::XidRule::xid_class, Classes())},
            };
          }};
}

Key ProbationKey() {
  constexpr int64_t kDay = 86'400'000;
  return {.name = "probation",
          .type = Type::kSection,
          .doc = "How long a GPU stays out after its last XID, even if its checks pass.",
          .children = [] {
            return std::vector<Key>{
                {.name = "recover",
                 .type = Type::kTime,
                 .doc = "The time after an XID of class `recover`.",
                 .example = "5m",
                 .max = kDay,
                 .field = Bind(kProbation, &NvidiaConfig::Probation::recover)},
                {.name = "reset",
                 .type = Type::kTime,
                 .doc = "The time after an XID of class `reset`. The GPU also needs the reset.",
                 .example = "0s",
                 .max = kDay,
                 .field = Bind(kProbation, &NvidiaConfig::Probation::reset)}};
          }};
}

std::vector<Key> GrantKeys() {
  return {
      {.name = "idStrategy",
       .type = Type::kEnum,
       .doc = "How containers know a device. `uuid`: by its UUID. `index`: by NVML's index, `3`, "
              "or `3:1` of a MIG device. An index may change when a device is plugged in or made.",
       .example = "index",
       .values = NamesOf(IdStrategies()),
       .field = BindEnum(kNvidia, &NvidiaConfig::id_strategy, IdStrategies())},
      {.name = "features",
       .type = Type::kEnumList,
       .doc = "What containers get in addition to their GPUs: GDRCopy, GPUDirect Storage, Mellanox "
              "OFED.",
       .example = "[gds, mofed]",
       .default_note = "none",
       .values = NamesOf(Features()),
       .field = BindEnumList(kNvidia, &NvidiaConfig::features, Features())},
      {.name = "imex",
       .type = Type::kEnum,
       .doc = "Whether containers get IMEX channel 0. `none`: never. `optional`: if the node has "
              "it. `required`: always; without the channel, every GPU is unhealthy.",
       .example = "optional",
       .values = NamesOf(ImexChoices()),
       .field = BindEnum(kNvidia, &NvidiaConfig::imex, ImexChoices())},
      {.name = "failOnInitError",
       .type = Type::kBool,
       .doc = "Whether the agent ends if NVML cannot start together with it. If not, the agent "
              "waits for the driver. A Tegra without NVML and a node without a GPU need none.",
       .example = "true",
       .field = Bind(kNvidia, &NvidiaConfig::fail_on_init_error)},
  };
}

std::vector<Key> RootKeys() {
  return {
      {.name = "driverRoot",
       .type = Type::kPath,
       .doc = "The directory of the driver's installation, as the agent sees it. The agent looks "
              "for `libnvidia-ml.so.1` below it.",
       .example = "/run/nvidia/driver",
       .field = Bind(kNvidia, &NvidiaConfig::driver_root)},
      {.name = "hostDriverRoot",
       .type = Type::kPath,
       .doc = "The same directory on the host, if the agent sees it elsewhere. CDI documents name "
              "files of the host.",
       .example = "/run/nvidia/driver",
       .default_note = "the same path",
       .field = Bind(kNvidia, &NvidiaConfig::host_driver_root)},
      {.name = "devRoot",
       .type = Type::kPath,
       .doc = "The directory on the host with `/dev/nvidia0` and the other device nodes below it.",
       .example = "/run/nvidia/driver",
       .field = Bind(kNvidia, &NvidiaConfig::dev_root)},
  };
}

std::vector<Key> NvidiaKeys() {
  std::vector<Key> keys = RootKeys();
  std::vector<Key> rest = {
      {.name = "discovery",
       .type = Type::kEnum,
       .doc = "How GPUs are found. `nvml`: by NVML. `tegra`: by the files of a Tegra. `auto`: as a "
              "Tegra's if files or an integrated GPU show one, else by NVML. On WSL, `auto` and "
              "`nvml` find one device, `all`.",
       .example = "nvml",
       .values = NamesOf(Discoveries()),
       .field = BindEnum(kNvidia, &NvidiaConfig::discovery, Discoveries())},
      {.name = "memoryIfUntold",
       .type = Type::kInt,
       .doc = "The memory of a GPU if the driver cannot report it, for virtual GPUs. An example is "
              "a GPU that shares the processor's memory.",
       .example = "122880",
       .unit = "MiB",
       .max = kMostMemory,
       .field = Bind(kNvidia, &NvidiaConfig::memory_if_untold)},
      {.name = "mig",
       .doc = "The profile of the resource's MIG devices, with `*` for any characters. With "
              "`{profile}` in the resource's name, there is one resource for each profile found.",
       .example = "1g.10gb",
       .default_note = "none: it is made of whole GPUs",
       .field = Bind(kNvidia, &NvidiaConfig::mig)},
      {.name = "inMigMode",
       .type = Type::kEnum,
       .doc = "How a resource of whole GPUs treats a GPU in MIG mode. `left-out`: it has no such "
              "GPU. `whole`: it has the GPU as a whole, as with NVIDIA's `migStrategy: none`. "
              "`devices`: it has the MIG devices, which must all be alike, as with `single`.",
       .example = "devices",
       .values = NamesOf(MigModes()),
       .field = BindEnum(kNvidia, &NvidiaConfig::in_mig_mode, MigModes())},
      XidsKey(),
      {.name = "otherXids",
       .type = Type::kEnum,
       .doc = "What XIDs without an entry in `xids` mean. `table`: what the table says. `ignore`: "
              "they have no effect. `count`: all of them count, and class `application` counts as "
              "`recover`.",
       .example = "ignore",
       .values = NamesOf(OtherXidsChoices()),
       .field = BindEnum(kNvidia, &NvidiaConfig::other_xids, OtherXidsChoices())},
      ProbationKey(),
      nvidia::MpsKey(),
      nvidia::VgpuKey(),
  };
  for (Key& key : nvidia::SelectKeys()) keys.push_back(std::move(key));
  for (Key& key : rest) keys.push_back(std::move(key));
  for (Key& key : GrantKeys()) keys.push_back(std::move(key));
  for (Key& key : nvidia::CdiKeys()) keys.push_back(std::move(key));
  return keys;
}

void Complete(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  nvidia::CompleteRendering(kind, resource.rendering);
  nvidia::CompleteMps(resource);
  nvidia::CompleteVgpu(resource);
  const std::string& cdi_kind = resource.rendering.cdi_kind;
  if (WritesCdi(resource.rendering)) kind.cdi_vendor = cdi_kind.substr(0, cdi_kind.find('/'));
  if (IsFamily(resource.name)) kind.family = resource.name;
  kind.earlier.clear();
  for (size_t i = 0; i < index; ++i) {
    const auto* other = config.resources[i].kind.As<NvidiaConfig>();
    if (other != nullptr) {
      kind.earlier.push_back({other->select, other->mig, other->in_mig_mode, other->exclude});
    }
  }
}

void CheckXids(const std::vector<NvidiaConfig::XidRule>& xids, const std::string& path,
               Findings& findings) {
  std::map<int, size_t> first;
  for (size_t i = 0; i < xids.size(); ++i) {
    const std::string at = fmt::format("{}.xids[{}].xid", path, i);
    if (findings.IsBad(at)) continue;
    const auto [same, is_new] = first.emplace(xids[i].xid, i);
    if (is_new) continue;
    findings.Report(Reason::kConfigDuplicate, at,
                    fmt::format("is that of xids[{}] as well", same->second));
  }
}

bool MayHave(const Resource& family, std::string_view profile) {
  return nvidia::FitsProfile(config::ProfileInName(family.kind.As<NvidiaConfig>()->mig), profile);
}

// A name that two resources could have must have one owner, whatever a scan finds.
void CheckNames(const Config& config, size_t index, Findings& findings) {
  const Resource& resource = config.resources[index];
  const auto& kind = *resource.kind.As<NvidiaConfig>();
  for (size_t i = 0; i < index; ++i) {
    const Resource& other = config.resources[i];
    const auto* family = other.kind.As<NvidiaConfig>();
    if (family == nullptr || !IsFamily(other.name)) continue;
    const std::string at = fmt::format("resources[{}]", index);
    const bool same = family->select == kind.select && family->exclude == kind.exclude;
    if (other.name == resource.name && !same) {
      findings.Report(Reason::kConfigDuplicate, at + ".name",
                      fmt::format("is that of resources[{}] as well, so both must 'select' and "
                                  "'exclude' the same GPUs",
                                  i));
    }
    const auto profile = ProfileIn(other.name, resource.name);
    if (profile && !IsFamily(resource.name) && MayHave(other, *profile)) {
      findings.Report(Reason::kConfigDuplicate, at + ".name",
                      fmt::format("could be one of resources[{}] ({}): put it before that", i,
                                  Quoted(other.name)));
    }
  }
}

void CheckMig(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const Resource& resource = config.resources[index];
  const auto& kind = *resource.kind.As<NvidiaConfig>();
  if (kind.mig.empty() && IsFamily(resource.name)) {
    findings.Report(Reason::kConfigMissing, path,
                    fmt::format("needs 'mig' where the name has {}", Quoted(kProfile)));
  }
  if (!kind.mig.empty() && kind.in_mig_mode != NvidiaConfig::InMigMode::kLeftOut) {
    findings.Report(Reason::kConfigBadValue, path + ".inMigMode",
                    "cannot be combined with 'mig', which is for resources of MIG devices");
  }
  CheckNames(config, index, findings);
}

// Whether an earlier resource without selectors leaves no GPU to the later one.
bool LeavesNothing(const NvidiaConfig& earlier, const NvidiaConfig& later) {
  using InMigMode = NvidiaConfig::InMigMode;
  if (!earlier.select.empty() || !earlier.exclude.empty()) return false;
  if (!earlier.mig.empty() || !later.mig.empty()) return false;
  return earlier.in_mig_mode == InMigMode::kWhole || later.in_mig_mode == InMigMode::kLeftOut ||
         (earlier.in_mig_mode == InMigMode::kDevices && later.in_mig_mode == InMigMode::kDevices);
}

void WarnOfNothingLeft(const Config& config, size_t index, const std::string& path,
                       Findings& findings) {
  const auto& kind = *config.resources[index].kind.As<NvidiaConfig>();
  for (size_t i = 0; i < index; ++i) {
    const auto* other = config.resources[i].kind.As<NvidiaConfig>();
    if (other == nullptr || !LeavesNothing(*other, kind)) continue;
    const std::string_view advice = kind.select.empty()
                                        ? "give that a 'select'"
                                        : "put this one before it, or give that a 'select'";
    findings.Warn(Reason::kConfigBadValue, path,
                  fmt::format("gets no GPU: resources[{}] ({}) has all of them, because it has no "
                              "'select' and comes first; {}",
                              i, Quoted(config.resources[i].name), advice));
    return;
  }
}

void CheckNvidia(const Config& config, size_t index, const std::string& path, Findings& findings) {
  nvidia::CheckSelect(*config.resources[index].kind.As<NvidiaConfig>(), path, findings);
  CheckXids(config.resources[index].kind.As<NvidiaConfig>()->xids, path, findings);
  CheckMig(config, index, path, findings);
  nvidia::CheckMps(config.resources[index], fmt::format("resources[{}]", index), path, findings);
  nvidia::CheckVgpu(config.resources[index], fmt::format("resources[{}]", index), path, findings);
  nvidia::CheckCdi(config, index, path, findings);
  WarnOfNothingLeft(config, index, path, findings);
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  const auto& kind = *resource.kind.As<NvidiaConfig>();
  auto gpus = std::make_shared<nvidia::PlatformBackend>(
      resource.name, kind, at.root, std::make_shared<NvidiaBackend>(resource.name, kind, at.root));
  if (!kind.mps.on) return gpus;
  return std::make_shared<nvidia::MpsBackend>(
      at.root.Path(nvidia::MpsDirectory(kind.mps, resource.name)), std::move(gpus), at.loop);
}

// Opens the driver on a thread that ends with the process, so that a hanging driver does not block
// the agent for ever.
Result<std::shared_ptr<const void>> Require(const Resource& resource, const Surroundings& at) {
  constexpr std::chrono::seconds kPatience{10};
  const NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  if (!kind.fail_on_init_error || !nvidia::NeedsNvml(at.root, kind)) return nullptr;
  if (nvidia::HasNoGpu(at.root, kind.driver_root)) return nullptr;
  const auto session = nvml::Session::Of(at.root, kind.driver_root);
  auto opened = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = opened->get_future();
  const std::string where =
      fmt::format("{}: 'failOnInitError' is set, so nothing is served without NVML", resource.name);
  TRY_IN(os::StartThread([session, opened] {
           const auto library = session->Open();
           opened->set_value(library ? Status() : Fail(library.error()));
         }),
         where);
  if (answer.wait_for(kPatience) != std::future_status::ready) {
    return Fail(Reason::kTimedOut, "{}: it does not start within {} s: the driver hangs", where,
                kPatience.count());
  }
  TRY_IN(answer.get(), where);
  return session;
}

// A pod may have only /usr of the host's root.
class Cdi final : public CdiDescriber {
  const char* CdiKind() const override { return "k8s.device-plugin.nvidia.com/gpu"; }
  std::vector<std::string> Directories(const Resource& resource) const override {
    const std::string& root = resource.kind.As<NvidiaConfig>()->driver_root;
    return {root, root == "/" ? "/usr" : root + "/usr"};
  }
  HostTree TreeOf(const os::Root& root, const Resource& resource) const override {
    const nvidia::Tree tree = nvidia::DriverTree(root, *resource.kind.As<NvidiaConfig>());
    return {.seen = tree.seen, .host = tree.host};
  }
};

class Families final : public FamilyFinder {
  bool MayHave(const Resource& family, std::string_view profile) const override {
    return config::MayHave(family, profile);
  }
};

// A node without a GPU needs no driver for its labels. It may have another vendor's.
class LabellerOfNode final : public Labeller {
 public:
  explicit LabellerOfNode(const Config& config)
      : root_(config.root_prefix), driver_root_(nvidia::DriverRoot(config)), gpus_(config) {}

  Result<tessera::Labels> Read() override {
    auto read = gpus_.Read();
    const bool absent = !read && read.error().reason == Reason::kDriverMissing;
    if (absent && nvidia::HasNoGpu(root_, driver_root_)) return gpus_.WithoutDevices();
    return read;
  }
  tessera::Labels WithoutDevices() override { return gpus_.WithoutDevices(); }

 private:
  const os::Root root_;
  const std::string driver_root_;
  nvidia::GpuLabeller gpus_;
};

class Labels final : public LabelMaker {
  std::unique_ptr<Labeller> Make(const Config& config) const override {
    if (config.labels.gpus == LabelledGpus::kVfio) {
      return std::make_unique<nvidia::VfioLabeller>(config);
    }
    return std::make_unique<LabellerOfNode>(config);
  }
};

// By the driver of the first resource.
class Samplers final : public SamplerMaker {
  std::unique_ptr<Sampler> Make(const Config& config) const override {
    for (const Resource& resource : config.resources) {
      const auto* kind = resource.kind.As<NvidiaConfig>();
      if (kind == nullptr) continue;
      const os::Root root(config.root_prefix);
      return std::make_unique<nvidia::GpuSampler>(
          root, kind->driver_root,
          [root, driver = kind->driver_root] { return nvidia::HasNoGpu(root, driver); });
    }
    return nullptr;
  }
};

// Requires NVML if 'failOnInitError' is set.
class Nvml final : public Requirement {
  Result<std::shared_ptr<const void>> Meet(const Resource& resource,
                                           const Surroundings& at) const override {
    return Require(resource, at);
  }
};

constexpr Cdi kCdi;
constexpr Families kFamilies;
constexpr Labels kLabels;
constexpr Samplers kSamplers;
constexpr Nvml kNvml;

Kind MakeKind() {
  return {.section = {.name = "nvidia",
                      .type = Type::kSection,
                      .doc = "NVIDIA GPUs, found by NVML.",
                      .choice = KindChoice<NvidiaConfig>(),
                      .children = NvidiaKeys},
          .is = IsKind<NvidiaConfig>,
          .complete = Complete,
          .check = CheckNvidia,
          .make = Make,
          .runtime_reads_variable = true,
          .ids_are_of_hardware = true,
          .describes = true,
          .numbers_errors = true,
          .divisions = {Division::kMps, Division::kVgpu},
          .cdi = &kCdi,
          .families = &kFamilies,
          .labels = &kLabels,
          .sampler = &kSamplers,
          .requirement = &kNvml};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::nvidia {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::nvidia
