// SPDX-License-Identifier: Apache-2.0
#include "monitor/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "http/metrics.h"
#include "version.h"

namespace tessera::monitor {
namespace {

using http::EscapedLabel;

enum Family : uint8_t {
#define FAMILY(id, group, name, type, help, labels) id,
#include "monitor/families.def"
#undef FAMILY
  kFamilies
};

constexpr std::array kInfos = {
#define FAMILY(id, group, name, type, help, labels) \
  FamilyInfo{Group::group, name, type, help, labels},
#include "monitor/families.def"
#undef FAMILY
};

constexpr double kPercent = 100;
constexpr double kNanosecond = 1e-9;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Label pairs as text, each name once.
std::string Pairs(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text += ',';
    text.append(name).append("=\"").append(EscapedLabel(value)).append("\"");
  }
  return text;
}

// One device of one container.
struct Use {
  const Container* container = nullptr;
  size_t index = 0;  // in the container's order
  std::string device{};
  const Fraction* part = nullptr;            // as granted; null: only its region names the device
  const region::Device* measured = nullptr;  // null: there is no region
  const DeviceState* state = nullptr;        // null: the device is not sampled
  // The device is a part of a sampled one, which tells this; null: neither.
  const PartitionMemory* partition = nullptr;
  std::optional<double> got{};  // percent of the device's time

  bool is_shared() const { return !container->file.empty(); }  // by the limiter
  bool never_ran() const {
    return container->problem && container->problem->reason == Reason::kNotFound;
  }
  std::optional<uint64_t> Used() const {
    if (measured != nullptr) return measured->used;
    if (never_ran()) return 0;
    if (is_shared() || !container->IsWhole()) return {};
    if (partition != nullptr) return partition->used;
    if (state == nullptr || !state->sample) return {};
    return state->sample->memory_used;
  }
  // 0: no limit.
  uint64_t Limit() const {
    if (measured != nullptr) return MemoryLimitOf(*container, *measured);
    if (part == nullptr) return 0;
    if (part->memory > 0) return static_cast<uint64_t>(part->memory) << 20;
    if (!container->IsWhole()) return 0;
    if (partition != nullptr) return partition->used + partition->free;
    if (state == nullptr || !state->sample) return 0;
    return state->sample->memory_used.value_or(0) + state->sample->memory_free.value_or(0);
  }
  int Cores() const {
    if (measured != nullptr) return CoresLimitOf(*container, *measured);
    if (container->IsWhole()) return kAllCores;
    return part == nullptr ? 0 : part->cores;
  }
  std::optional<double> Got() const {
    if (got) return got;
    if (measured != nullptr || never_ran()) return 0;
    return {};
  }
};

class Page {
 public:
  Page(const Snapshot& snapshot, Steady now, Wall wall_now, bool legacy)
      : snapshot_(snapshot), now_(now), wall_now_(wall_now), legacy_(legacy) {}

  std::string Make() {
    AddMonitor();
    for (const DeviceState& state : snapshot_.devices) AddDevice(state);
    for (const Container* container : Unique()) AddContainer(*container);
    std::string page;
    for (size_t family = 0; family < kFamilies; ++family) {
      if (texts_[family].empty()) continue;
      const FamilyInfo& info = kInfos[family];
      fmt::format_to(std::back_inserter(page), "# HELP {0} {1}\n# TYPE {0} {2}\n", info.name,
                     info.help, info.type);
      page += std::exchange(texts_[family], {});
    }
    return page;
  }

 private:
  void Add(Family family, std::string_view labels, double value) {
    const FamilyInfo& info = kInfos[family];
    if (info.group == Group::kLegacy && !legacy_) return;
    std::string& text = texts_[family];
    text += info.name;
    const bool has_zone = info.group != Group::kOwn;
    if (!labels.empty() || has_zone) {
      text.append("{").append(labels);
      if (has_zone) text.append(labels.empty() ? "" : ",").append(R"(zone="vGPU")");
      text += '}';
    }
    text.append(" ").append(http::NumberText(value)).append("\n");
  }
  template <class T>
  void AddKnown(Family family, std::string_view labels, const std::optional<T>& value) {
    if (value) Add(family, labels, static_cast<double>(*value));
  }

  void AddMonitor() {
    Add(kBuild, Pairs({{"version", TESSERA_VERSION}, {"commit", TESSERA_COMMIT}}), 1);
    fmt::format_to(std::back_inserter(texts_[kHamiBuild]), "{}{{{}}} 1\n", kInfos[kHamiBuild].name,
                   Pairs({{"version", TESSERA_VERSION},
                          {"revision", TESSERA_COMMIT},
                          {"build_date", "unknown"},
                          {"go_version", "none"},
                          {"compiler", __VERSION__},
                          {"platform", "linux"}}));
    if (snapshot_.granted_at) Add(kGrantsAge, "", Seconds(now_ - *snapshot_.granted_at));
    if (snapshot_.read_at) Add(kReadingAge, "", Seconds(now_ - *snapshot_.read_at));
    std::map<std::string_view, size_t> unreadable;
    for (const Container& container : snapshot_.containers) {
      if (!container.problem || container.problem->reason == Reason::kNotFound) continue;
      ++unreadable[ReasonName(container.problem->reason)];
    }
    for (const auto& [reason, count] : unreadable) {
      Add(kUnreadable, Pairs({{"reason", reason}}), static_cast<double>(count));
    }
    for (const auto& [reason, count] : snapshot_.became_unreadable) {
      Add(kUnreadableTotal, Pairs({{"reason", reason}}), static_cast<double>(count));
    }
  }

  void AddDevice(const DeviceState& state) {
    const SampledDevice& device = state.device;
    if (!state.sample) return;
    const DeviceSample& sample = *state.sample;
    const std::string index = fmt::format("{}", device.index);
    const std::string type = "NVIDIA-" + device.model;
    const std::string labels = Pairs({{"node", snapshot_.node},
                                      {"device_index", index},
                                      {"device_uuid", device.uuid},
                                      {"device_type", type}});
    Add(kSampleAge, Pairs({{"device", device.uuid}}), Seconds(now_ - state.sampled_at));
    AddKnown(kHostMemory, labels, sample.memory_used);
    AddKnown(kHostUtilization, labels, sample.utilization);
    AddKnown(kHostController, labels, sample.memory_utilization);
    AddKnown(kHostTemperature, labels, sample.temperature);
    AddKnown(kHostPower, labels, sample.power);
    AddKnown(kHostEcc, labels + R"(,error_type="corrected")", sample.ecc_corrected);
    AddKnown(kHostEcc, labels + R"(,error_type="uncorrected")", sample.ecc_uncorrected);
    const std::string old = Pairs({{"nodeid", snapshot_.node},
                                   {"deviceidx", index},
                                   {"deviceuuid", device.uuid},
                                   {"devicetype", type}});
    AddKnown(kOldHostMemory, old, sample.memory_used);
    AddKnown(kOldHostUtilization, old, sample.utilization);
  }

  // HAMi's series have no UID. A pod that took the name of one that ends is the newer one. A pod
  // without a known name is its UID.
  std::vector<const Container*> Unique() const {
    std::map<std::array<std::string_view, 3>, const Container*> by_name;
    for (const Container& container : snapshot_.containers) {
      const std::string& name = container.pod_name.empty() ? container.pod : container.pod_name;
      const Container*& of = by_name[{name, container.container, container.resource}];
      if (of == nullptr || (container.fresh && !of->fresh)) of = &container;
    }
    std::vector<const Container*> unique;
    for (const auto& [name, container] : by_name) unique.push_back(container);
    return unique;
  }

  const DeviceState* StateOf(std::string_view uuid) const {
    const auto found = std::ranges::find(
        snapshot_.devices, uuid, [](const DeviceState& state) { return state.device.uuid; });
    return found == snapshot_.devices.end() ? nullptr : &*found;
  }

  const PartitionMemory* PartitionOf(std::string_view uuid) const {
    for (const DeviceState& state : snapshot_.devices) {
      if (const auto* memory = MemoryOf(state, uuid); memory != nullptr) return memory;
    }
    return nullptr;
  }

  // The granted devices in the grant's order, then those that only the region names.
  std::vector<Use> UsesOf(const Container& container) const {
    std::vector<Use> uses;
    for (const Fraction& part : container.parts) {
      uses.push_back({.container = &container, .device = part.device, .part = &part});
    }
    for (size_t i = 0; i < container.region.devices.size(); ++i) {
      const region::Device& measured = container.region.devices[i];
      auto use = std::ranges::find(uses, measured.uuid, &Use::device);
      if (use == uses.end() && !container.parts.empty()) continue;
      if (use == uses.end()) {
        use = uses.insert(use, {.container = &container, .device = measured.uuid});
      }
      use->measured = &measured;
      if (i < container.got.size()) use->got = container.got[i];
    }
    for (size_t i = 0; i < uses.size(); ++i) {
      uses[i].index = i;
      uses[i].state = StateOf(uses[i].device);
      if (uses[i].state == nullptr) uses[i].partition = PartitionOf(uses[i].device);
    }
    return uses;
  }

  void AddContainer(const Container& container) {
    const auto [space, pod] = PodNameOf(container);
    const std::string own = Pairs({{"namespace", space},
                                   {"pod", pod},
                                   {"uid", container.pod},
                                   {"container", container.container},
                                   {"resource", container.resource}});
    // Without an agent of ours, only the limiter's region tells that there is a container.
    std::string_view division = container.division;
    if (division.empty() && !container.file.empty()) division = "vgpu";
    for (const Use& use : UsesOf(container)) {
      const std::string labels = own + "," + Pairs({{"device", use.device}});
      Add(kDeviceInfo, labels + "," + Pairs({{"division", division}}), 1);
      AddOwn(use, labels);
      if (use.is_shared()) AddHamis(use, space, pod);
      AddPartition(use, space, pod);
    }
    if (container.file.empty() || container.problem) return;
    Add(kBlocked, own, container.region.IsBlocked() ? 1 : 0);
    Add(kUnlimited, own, container.region.IsFree() ? 1 : 0);
    if (container.region.maker != region::Maker::kTessera) return;
    Add(kWaited, own, static_cast<double>(container.region.waited_ns) * kNanosecond);
    Add(kRefused, own, static_cast<double>(container.region.refused));
  }

  // If the device is a partition of one that is sampled.
  void AddPartition(const Use& use, std::string_view space, std::string_view pod) {
    const std::string index = fmt::format("{}", use.index);
    const std::string_view name = use.container->container;
    for (const DeviceState& state : snapshot_.devices) {
      for (const SampledPartition& partition : state.device.partitions) {
        if (partition.uuid != use.device) continue;
        const std::string instance = fmt::format("{}", partition.gpu_instance);
        Add(kMigInfo,
            Pairs({{"namespace", space},
                   {"pod", pod},
                   {"container", name},
                   {"vdevice_index", index},
                   {"device_uuid", state.device.uuid},
                   {"node", snapshot_.node},
                   {"mig_uuid", partition.uuid},
                   {"profile", partition.profile},
                   {"gpu_instance_id", instance},
                   {"compute_instance_id", fmt::format("{}", partition.compute_instance)}}),
            1);
        Add(kOldMig,
            Pairs({{"podnamespace", space},
                   {"podname", pod},
                   {"ctrname", name},
                   {"vdeviceid", index},
                   {"deviceuuid", state.device.uuid},
                   {"instanceid", instance}}),
            1);
      }
    }
  }

  void AddOwn(const Use& use, const std::string& labels) {
    const uint64_t limit = use.Limit();
    const std::optional<uint64_t> used = use.Used();
    const int cores = use.Cores();
    if (limit > 0) Add(kMemoryGranted, labels, static_cast<double>(limit));
    AddKnown(kMemoryUsed, labels, used);
    if (cores > 0) Add(kComputeGranted, labels, cores / kPercent);
    if (use.is_shared()) {
      if (const auto got = use.Got()) Add(kComputeUsed, labels, *got / kPercent);
    } else if (use.container->IsWhole() && use.state != nullptr && use.state->sample &&
               use.state->sample->utilization) {
      Add(kComputeUsed, labels, *use.state->sample->utilization / kPercent);
    }
    if (use.measured == nullptr) return;
    if (use.measured->busy_ns) {
      Add(kComputeSeconds, labels, static_cast<double>(*use.measured->busy_ns) * kNanosecond);
    }
    if (limit > 0) Add(kOverLimit, labels, used.value_or(0) > limit ? 1 : 0);
  }

  void AddHamis(const Use& use, std::string_view space, std::string_view pod) {
    const std::string index = fmt::format("{}", use.index);
    const std::string_view name = use.container->container;
    const std::string labels = Pairs({{"namespace", space},
                                      {"pod", pod},
                                      {"container", name},
                                      {"vdevice_index", index},
                                      {"device_uuid", use.device},
                                      {"node", snapshot_.node}});
    const std::string old = legacy_ ? Pairs({{"podnamespace", space},
                                             {"podname", pod},
                                             {"ctrname", name},
                                             {"vdeviceid", index},
                                             {"deviceuuid", use.device}})
                                    : "";
    const auto limit = static_cast<double>(use.Limit());
    Add(kVgpuLimit, labels, limit);
    Add(kOldLimit, old, limit);
    const auto used = use.Used();
    if (!used) return;
    region::ProcessUsage sum;
    for (const region::Process& process : use.container->region.processes) {
      for (const region::ProcessUsage& held : process.held) {
        if (&use.container->region.devices[held.device] != use.measured) continue;
        sum.context += held.context;
        sum.module += held.module;
        sum.data += held.data;
      }
    }
    for (const Family family : {kVgpuUsed, kContainerMemory}) {
      Add(family, labels, static_cast<double>(*used));
    }
    Add(kVgpuContext, labels, static_cast<double>(sum.context));
    Add(kVgpuModule, labels, static_cast<double>(sum.module));
    Add(kVgpuBuffer, labels, static_cast<double>(sum.data));
    Add(kOldUsed, old, static_cast<double>(*used));
    if (legacy_) {
      Add(kOldMemory,
          fmt::format(R"({},context="{}",module="{}",data="{}",offset="0")", old, sum.context,
                      sum.module, sum.data),
          static_cast<double>(*used));
    }
    if (const auto got = use.Got()) {
      Add(kContainerUtilization, labels, *got);
      Add(kOldUtilization, old, *got);
    }
    if (const int64_t launched = use.container->region.launched_at; launched > 0) {
      const double elapsed =
          std::max(0.0, Seconds(wall_now_.time_since_epoch() - std::chrono::seconds(launched)));
      Add(kLastKernel, labels, elapsed);
      Add(kOldLastKernel, old, elapsed);
    }
  }

  const Snapshot& snapshot_;
  const Steady now_;
  const Wall wall_now_;
  const bool legacy_;
  std::array<std::string, kFamilies> texts_;
};

}  // namespace

std::span<const FamilyInfo> AllFamilies() {
  return kInfos;
}

std::string Expose(const Snapshot& snapshot, Steady now, Wall wall_now, bool legacy) {
  return Page(snapshot, now, wall_now, legacy).Make();
}

}  // namespace tessera::monitor
