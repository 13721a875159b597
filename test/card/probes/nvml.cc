// SPDX-License-Identifier: Apache-2.0
#include "card/probes/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "card/row.h"
#include "limiter/driver/nvml.h"

namespace tessera::card {
namespace {

using nvml::Return;

constexpr unsigned kMost = 64;            // processes on a GPU
constexpr useconds_t kBetween = 200'000;  // us, of two samples of the whole GPU

// NVML's GPM: counters of the whole GPU.
struct GpmSupport {
  unsigned version = 1;
  unsigned supported = 0;
};
struct GpmMetric {
  unsigned id;
  Return code;
  double value;
  const char* names[3];
};
struct GpmMetrics {
  unsigned version = 1;
  unsigned count = 1;
  void* first = nullptr;
  void* second = nullptr;
  GpmMetric metrics[512]{};  // more than any driver has
};
constexpr unsigned kGpmSmUtilisation = 2;

template <class Signature>
Signature* Find(const Nvml& nvml, const char* name) {
  return reinterpret_cast<Signature*>(dlsym(nvml.library, name));
}

// Asks once; `shown` says what came of it.
template <class... Parameters, class Shown, class... Arguments>
void Ask(const Nvml& nvml, const std::string& scope, const char* name, int (*)(Parameters...),
         Shown shown, Arguments... arguments) {
  auto* const function = Find<int(Parameters...)>(nvml, name);
  if (function == nullptr) return Fact(scope + name, "no such function");
  const auto code = static_cast<Return>(function(arguments...));
  Fact(scope + name, code == Return::kSuccess ? shown() : nvml.Text(code));
}

using Device = nvml::DeviceHandle;
template <class... Parameters>
constexpr int (*kType)(Parameters...) = nullptr;

void AskModes(const Nvml& nvml, const std::string& scope, Device gpu) {
  for (const char* const name : {"nvmlDeviceGetComputeMode", "nvmlDeviceGetPersistenceMode",
                                 "nvmlDeviceGetAccountingMode", "nvmlDeviceGetVirtualizationMode",
                                 "nvmlDeviceGetArchitecture", "nvmlDeviceGetNumaNodeId"}) {
    unsigned value = 0;
    Ask(
        nvml, scope, name, kType<Device, unsigned*>, [&] { return std::to_string(value); }, gpu,
        &value);
  }
  unsigned current = 0, pending = 0;
  Ask(
      nvml, scope, "nvmlDeviceGetEccMode", kType<Device, unsigned*, unsigned*>,
      [&] { return fmt::format("{}, pending {}", current, pending); }, gpu, &current, &pending);
}

template <class Info>
void AskList(const Nvml& nvml, const std::string& scope, const std::string& name, Device gpu) {
  Info infos[kMost] = {};
  unsigned count = kMost;
  Ask(
      nvml, scope, name.c_str(), kType<Device, unsigned*, Info*>,
      [&] {
        std::string text = fmt::format("{} processes:", count);
        for (unsigned i = 0; i < count && i < kMost; ++i) {
          text += fmt::format(" {} bytes", infos[i].usedGpuMemory);
          if constexpr (sizeof(Info) == sizeof(nvmlProcessInfo_v2_t)) {
            text += fmt::format(" gi {:#x} ci {:#x}", infos[i].gpuInstanceId,
                                infos[i].computeInstanceId);
          }
        }
        return text;
      },
      gpu, &count, infos);
}

void AskLists(const Nvml& nvml, const std::string& scope, Device gpu) {
  for (const char* const kind : {"Compute", "Graphics", "MPSCompute"}) {
    const std::string name = fmt::format("nvmlDeviceGet{}RunningProcesses", kind);
    AskList<nvmlProcessInfo_v1_t>(nvml, scope, name, gpu);
    AskList<nvmlProcessInfo_v2_t>(nvml, scope, name + "_v2", gpu);
    AskList<nvmlProcessInfo_v2_t>(nvml, scope, name + "_v3", gpu);
  }
  nvmlProcessDetail_v1_t details[kMost] = {};
  nvmlProcessDetailList_v1_t list{.version = kNvmlVersion1<nvmlProcessDetailList_v1_t>,
                                  .mode = 0,
                                  .numProcArrayEntries = kMost,
                                  .procArray = details};
  Ask(
      nvml, scope, "nvmlDeviceGetRunningProcessDetailList",
      kType<Device, nvmlProcessDetailList_v1_t*>,
      [&] {
        return fmt::format("{} processes, the first {} bytes", list.numProcArrayEntries,
                           details[0].usedGpuMemory);
      },
      gpu, &list);
}

void AskUtilisation(const Nvml& nvml, const std::string& scope, Device gpu) {
  nvmlProcessUtilizationSample_t samples[kMost] = {};
  unsigned count = kMost;
  Ask(
      nvml, scope, "nvmlDeviceGetProcessUtilization",
      kType<Device, nvmlProcessUtilizationSample_t*, unsigned*, unsigned long long>,
      [&] {
        return fmt::format("{} samples, the first {} % of SMs, {} % of memory", count,
                           samples[0].smUtil, samples[0].memUtil);
      },
      gpu, samples, &count, 0ULL);
  nvmlProcessUtilizationInfo_v1_t infos[kMost] = {};
  nvmlProcessesUtilizationInfo_v1_t all{.version = kNvmlVersion1<nvmlProcessesUtilizationInfo_v1_t>,
                                        .processSamplesCount = kMost,
                                        .lastSeenTimeStamp = 0,
                                        .procUtilArray = infos};
  Ask(
      nvml, scope, "nvmlDeviceGetProcessesUtilizationInfo",
      kType<Device, nvmlProcessesUtilizationInfo_v1_t*>,
      [&] {
        return fmt::format("{} samples, the first {} % of SMs", all.processSamplesCount,
                           infos[0].smUtil);
      },
      gpu, &all);
  unsigned rates[2] = {};
  Ask(
      nvml, scope, "nvmlDeviceGetUtilizationRates", kType<Device, unsigned*>,
      [&] { return fmt::format("{} % of SMs, {} % of memory", rates[0], rates[1]); }, gpu,
      &rates[0]);
}

// How busy the SMs are between two samples.
void AskGpm(const Nvml& nvml, const std::string& scope, Device gpu) {
  GpmSupport support;
  Ask(
      nvml, scope, "nvmlGpmQueryDeviceSupport", kType<Device, GpmSupport*>,
      [&] { return std::string(support.supported != 0 ? "supported" : "not supported"); }, gpu,
      &support);
  auto* const alloc = Find<int(void**)>(nvml, "nvmlGpmSampleAlloc");
  auto* const take = Find<int(Device, void*)>(nvml, "nvmlGpmSampleGet");
  auto* const drop = Find<int(void*)>(nvml, "nvmlGpmSampleFree");
  if (support.supported == 0 || alloc == nullptr || take == nullptr || drop == nullptr) return;
  GpmMetrics metrics;
  metrics.metrics[0].id = kGpmSmUtilisation;
  int code = alloc(&metrics.first);
  if (code == 0) code = alloc(&metrics.second);
  if (code == 0) code = take(gpu, metrics.first);
  usleep(kBetween);
  if (code == 0) code = take(gpu, metrics.second);
  if (code != 0) {
    Trouble(scope + "nvmlGpmSampleGet", nvml.Text(static_cast<Return>(code)));
  } else {
    Ask(
        nvml, scope, "nvmlGpmMetricsGet", kType<GpmMetrics*>,
        [&] {
          return fmt::format("{}: {:.0f} % of SMs", static_cast<int>(metrics.metrics[0].code),
                             metrics.metrics[0].value);
        },
        &metrics);
  }
  for (void* sample : {metrics.first, metrics.second}) {
    if (sample != nullptr) drop(sample);
  }
}

template <class Each>
void ForEachGpu(const Nvml& nvml, Each each) {
  for (unsigned index = 0; index < nvml.Count(); ++index) {
    Device gpu = nullptr;
    if (nvml.api.DeviceGetHandleByIndex.call(index, &gpu) == Return::kSuccess) {
      each(fmt::format("GPU {}: ", index), gpu);
    }
  }
}

}  // namespace

bool Nvml::Load() {
  library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    Trouble("NVML", dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
    return false;
  }
#define NVML_FUNCTION(function, ...)                                           \
  if (void* symbol = dlsym(library, api.function.name)) {                      \
    api.function.call = reinterpret_cast<decltype(api.function.call)>(symbol); \
  }
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
  api.ErrorString = reinterpret_cast<decltype(api.ErrorString)>(dlsym(library, "nvmlErrorString"));
  return true;
}

bool Nvml::Start() {
  if (!Load()) return false;
  const Return code = api.Init.call();
  if (code != Return::kSuccess) Trouble("nvmlInit_v2", Text(code));
  return code == Return::kSuccess;
}

std::string Nvml::Text(Return code) const {
  const char* text = api.ErrorString == nullptr ? nullptr : api.ErrorString(code);
  return fmt::format("error {}, {}", static_cast<int>(code), text == nullptr ? "?" : text);
}

unsigned Nvml::Count() const {
  unsigned count = 0;
  return api.DeviceGetCount.call(&count) == Return::kSuccess ? count : 0;
}

void AskEvents(const Nvml& nvml) {
  ForEachGpu(nvml, [&](const std::string& scope, Device gpu) {
    uint64_t supported = 0;
    Return code = nvml.api.DeviceGetSupportedEventTypes.call(gpu, &supported);
    Fact(scope + "nvmlDeviceGetSupportedEventTypes",
         code == Return::kSuccess ? fmt::format("{:#x}", supported) : nvml.Text(code));
    const uint64_t own =
        nvml::kSingleBitEccError | nvml::kDoubleBitEccError | nvml::kXidCriticalError;
    std::vector<std::pair<std::string, uint64_t>> asked = {{"what the agent wants", own},
                                                           {"all that are supported", supported}};
    for (unsigned bit = 0; bit < 32; ++bit) {
      asked.emplace_back(fmt::format("{:#x}", uint64_t{1} << bit), uint64_t{1} << bit);
    }
    for (const auto& [name, types] : asked) {
      nvml::EventSetHandle set = nullptr;
      code = nvml.api.EventSetCreate.call(&set);
      if (code != Return::kSuccess) return Trouble(scope + "nvmlEventSetCreate", nvml.Text(code));
      code = nvml.api.DeviceRegisterEvents.call(gpu, types, set);
      Fact(fmt::format("{}nvmlDeviceRegisterEvents {}", scope, name),
           code == Return::kSuccess ? "accepted" : nvml.Text(code));
      if (name == asked[0].first) {
        nvml::EventData event{};
        code = nvml.api.EventSetWait.call(set, &event, 20);
        Fact(scope + "nvmlEventSetWait_v2, 20 ms",
             code == Return::kSuccess ? fmt::format("type {:#x} data {}", event.type, event.data)
                                      : nvml.Text(code));
      }
      (void)nvml.api.EventSetFree.call(set);
    }
  });
}

void AskProcesses(const Nvml& nvml) {
  ForEachGpu(nvml, [&](const std::string& scope, Device gpu) {
    AskModes(nvml, scope, gpu);
    AskLists(nvml, scope, gpu);
    AskUtilisation(nvml, scope, gpu);
    AskGpm(nvml, scope, gpu);
  });
}

}  // namespace tessera::card
