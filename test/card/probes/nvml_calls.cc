// SPDX-License-Identifier: Apache-2.0
// Asks NVML each function that the product calls: its answer, its first and its later times. The
// loader finds libnvidia-ml.so.1.
//
//   calls      the driver and each GPU
//   start      the time that a new process takes to load and start the library
//   events     the events that the driver accepts, one by one and as the agent registers them
//   processes  the processes on each GPU, by every version of the functions
//
// usage: nvml_calls calls | start | events | processes
#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "backend/nvidia/nvml/api.h"
#include "card/probes/nvml.h"
#include "card/row.h"

namespace tessera::card {
namespace {

using nvml::Return;
using Clock = std::chrono::steady_clock;

constexpr int kTimes = 30;
constexpr double kLongest = 100'000;  // us of all of them

double Since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// A function that is asked time and again, and what it says the first time.
class Asked {
 public:
  Asked(const Nvml& nvml, std::string scope) : nvml_(nvml), scope_(std::move(scope)) {}

  // True where it succeeded. `shown` says what it gave.
  template <class... Parameters, class Shown, class... Arguments>
  bool operator()(const nvml::Function<Return(Parameters...)>& function, const std::string& of,
                  Shown shown, Arguments... arguments) const {
    const std::string name = scope_ + function.name + of;
    if (function.call == &nvml::Function<Return(Parameters...)>::NotThere) {
      Fact(name, "no such function");
      return false;
    }
    auto begin = Clock::now();
    const Return first = function.call(arguments...);
    Figure(name + ", first call", "us", {Since(begin)});
    Fact(name, first == Return::kSuccess ? shown() : nvml_.Text(first));
    std::vector<double> times;
    for (double all = 0; times.size() < kTimes && all < kLongest; all += times.back()) {
      begin = Clock::now();
      (void)function.call(arguments...);
      times.push_back(Since(begin));
    }
    Figure(name, "us", times);
    return first == Return::kSuccess;
  }

 private:
  const Nvml& nvml_;
  const std::string scope_;
};

std::string Hex(uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::string PciText(const nvml::PciInfo& pci) {
  return fmt::format("{} {} {:x}:{:x}:{:x} device {:#x} subsystem {:#x}", pci.bus_id,
                     pci.bus_id_legacy, pci.domain, pci.bus, pci.device, pci.device_id,
                     pci.subsystem_id);
}

void AskSystem(const Nvml& nvml) {
  const Asked ask(nvml, "");
  char text[nvml::kDriverVersionSize + 1] = {};
  int cuda = 0;
  unsigned count = 0;
  ask(
      nvml.api.SystemGetDriverVersion, "", [&] { return std::string(text); }, text,
      nvml::kDriverVersionSize);
  ask(nvml.api.SystemGetCudaDriverVersion, "", [&] { return std::to_string(cuda); }, &cuda);
  ask(nvml.api.DeviceGetCount, "", [&] { return std::to_string(count); }, &count);
}

void AskIdentity(const Nvml& nvml, const Asked& ask, nvml::DeviceHandle gpu) {
  char text[nvml::kUuidSize + 1] = {};
  unsigned number = 0;
  int major = 0, minor = 0;
  nvml::PciInfo pci{};
  nvml::Memory memory{};
  nvml::DeviceHandle found = nullptr;
  const auto said = [&] { return std::string(text); };
  ask(nvml.api.DeviceGetName, "", said, gpu, text, nvml::kNameSize);
  if (ask(nvml.api.DeviceGetUuid, "", said, gpu, text, nvml::kUuidSize)) {
    const auto same = [&] { return std::string(found == gpu ? "the same" : "another"); };
    ask(nvml.api.DeviceGetHandleByUuid, "", same, text, &found);
  }
  ask(nvml.api.DeviceGetMinorNumber, "", [&] { return std::to_string(number); }, gpu, &number);
  ask(nvml.api.DeviceGetPciInfo, "", [&] { return PciText(pci); }, gpu, &pci);
  ask(
      nvml.api.DeviceGetMemoryInfo, "",
      [&] {
        return fmt::format("total {} free {} used {}", memory.total, memory.free, memory.used);
      },
      gpu, &memory);
  ask(
      nvml.api.DeviceGetCudaComputeCapability, "",
      [&] { return fmt::format("{}.{}", major, minor); }, gpu, &major, &minor);
}

void AskMig(const Nvml& nvml, const Asked& ask, nvml::DeviceHandle gpu) {
  unsigned current = 0, pending = 0, most = 0;
  nvml::DeviceHandle mig = nullptr;
  nvml::DeviceAttributes attributes{};
  nvml::GpuInstanceHandle instance = nullptr;
  const auto number = [&] { return std::to_string(most); };
  ask(
      nvml.api.DeviceGetMigMode, "",
      [&] { return fmt::format("{}, pending {}", current, pending); }, gpu, &current, &pending);
  ask(
      nvml.api.DeviceGetMigDeviceHandleByIndex, " 0", [] { return std::string("one"); }, gpu, 0U,
      &mig);
  ask(
      nvml.api.DeviceGetAttributes, "", [&] { return std::to_string(attributes.multiprocessors); },
      gpu, &attributes);
  ask(nvml.api.DeviceGetGpuInstanceId, "", number, gpu, &most);
  ask(nvml.api.DeviceGetComputeInstanceId, "", number, gpu, &most);
  ask(
      nvml.api.DeviceGetGpuInstanceById, " 0", [] { return std::string("one"); }, gpu, 0U,
      &instance);
  nvml::GpuInstanceInfo made{};
  if (instance != nullptr) {
    ask(
        nvml.api.GpuInstanceGetInfo, " 0", [&] { return fmt::format("profile {}", made.profile); },
        instance, &made);
  }
  ask(nvml.api.DeviceGetMaxMigDeviceCount, "", number, gpu, &most);
  for (unsigned profile = 0; profile < nvml::kGpuInstanceProfiles; ++profile) {
    nvml::GpuInstanceProfileInfo info{};
    const auto shown = [&] {
      return fmt::format(
          "id {} slices {} instances {} SMs {} copy {} dec {} enc {} jpeg {} ofa {} {} MiB",
          info.id, info.slices, info.instances, info.multiprocessors, info.copy_engines,
          info.decoders, info.encoders, info.jpeg_engines, info.ofa_engines, info.memory_mib);
    };
    ask(nvml.api.DeviceGetGpuInstanceProfileInfo, fmt::format(" {}", profile), shown, gpu, profile,
        &info);
  }
}

void AskNearness(const Nvml& nvml, const Asked& ask, unsigned index, nvml::DeviceHandle gpu) {
  for (unsigned other = 0; other < nvml.Count(); ++other) {
    nvml::DeviceHandle device = nullptr;
    nvml::TopologyLevel level{};
    if (other == index || nvml.api.DeviceGetHandleByIndex.call(other, &device) != Return::kSuccess)
      continue;
    ask(
        nvml.api.DeviceGetTopologyCommonAncestor, fmt::format(" with GPU {}", other),
        [&] { return std::to_string(static_cast<int>(level)); }, gpu, device, &level);
  }
  for (const unsigned link : {0U, 17U, 18U, nvml::kMostNvLinks}) {
    const std::string of = fmt::format(" {}", link);
    nvml::EnableState state{};
    nvml::PciInfo pci{};
    nvml::NvLinkRemoteType type{};
    ask(
        nvml.api.DeviceGetNvLinkState, of, [&] { return std::to_string(static_cast<int>(state)); },
        gpu, link, &state);
    ask(nvml.api.DeviceGetNvLinkRemotePciInfo, of, [&] { return PciText(pci); }, gpu, link, &pci);
    ask(
        nvml.api.DeviceGetNvLinkRemoteDeviceType, of,
        [&] { return std::to_string(static_cast<int>(type)); }, gpu, link, &type);
  }
  nvml::GpuFabricInfo fabric{};
  ask(
      nvml.api.DeviceGetGpuFabricInfo, "",
      [&] {
        return fmt::format("state {} status {} clique {} cluster {:02x}", fabric.state,
                           static_cast<int>(fabric.status), fabric.clique,
                           fmt::join(fabric.cluster, ""));
      },
      gpu, &fabric);
}

void AskHealth(const Nvml& nvml, const Asked& ask, nvml::DeviceHandle gpu) {
  uint64_t number = 0;
  unsigned rows[4] = {};
  nvml::EnableState pending{};
  for (const auto& [of, type] :
       {std::pair(" uncorrected, volatile", nvml::MemoryErrorType::kUncorrected),
        std::pair(" corrected, volatile", nvml::MemoryErrorType::kCorrected)}) {
    ask(
        nvml.api.DeviceGetTotalEccErrors, of, [&] { return std::to_string(number); }, gpu, type,
        nvml::EccCounterType::kVolatile, &number);
  }
  ask(
      nvml.api.DeviceGetRemappedRows, "",
      [&] {
        return fmt::format("corrected {} uncorrected {} pending {} failed {}", rows[0], rows[1],
                           rows[2], rows[3]);
      },
      gpu, &rows[0], &rows[1], &rows[2], &rows[3]);
  ask(
      nvml.api.DeviceGetRetiredPagesPendingStatus, "",
      [&] { return std::to_string(static_cast<int>(pending)); }, gpu, &pending);
  ask(nvml.api.DeviceGetClocksEventReasons, "", [&] { return Hex(number); }, gpu, &number);
}

void AskGauges(const Nvml& nvml, const Asked& ask, nvml::DeviceHandle gpu) {
  nvml::MemoryV2 memory{};
  memory.version = nvml::kMemoryVersion2;
  nvml::Utilization utilization{};
  nvml::FieldValue value{};
  value.field = nvml::kMemoryTemperature;
  unsigned number = 0, period = 0;
  uint64_t energy = 0;
  const auto shown = [&] { return std::to_string(number); };
  const auto use = [&] { return fmt::format("{} % of {} us", number, period); };
  ask(
      nvml.api.DeviceGetMemoryInfoV2, "",
      [&] {
        return fmt::format("total {} reserved {} free {} used {}", memory.total, memory.reserved,
                           memory.free, memory.used);
      },
      gpu, &memory);
  ask(
      nvml.api.DeviceGetUtilizationRates, "",
      [&] {
        return fmt::format("{} % of SMs, {} % of memory", utilization.gpu, utilization.memory);
      },
      gpu, &utilization);
  ask(nvml.api.DeviceGetEncoderUtilization, "", use, gpu, &number, &period);
  ask(nvml.api.DeviceGetDecoderUtilization, "", use, gpu, &number, &period);
  ask(nvml.api.DeviceGetTemperature, "", shown, gpu, nvml::TemperatureSensor::kGpu, &number);
  ask(
      nvml.api.DeviceGetFieldValues, " memory temperature",
      [&] {
        return value.result == Return::kSuccess
                   ? fmt::format("type {}: {}", value.type, value.number)
                   : nvml.Text(value.result);
      },
      gpu, 1, &value);
  ask(nvml.api.DeviceGetPowerUsage, "", shown, gpu, &number);
  ask(
      nvml.api.DeviceGetTotalEnergyConsumption, "", [&] { return std::to_string(energy); }, gpu,
      &energy);
  ask(nvml.api.DeviceGetClockInfo, " of SMs", shown, gpu, nvml::ClockType::kSm, &number);
  ask(nvml.api.DeviceGetClockInfo, " of memory", shown, gpu, nvml::ClockType::kMemory, &number);
  ask(nvml.api.DeviceGetPcieReplayCounter, "", shown, gpu, &number);
}

void AskAll(const Nvml& nvml) {
  AskSystem(nvml);
  for (unsigned index = 0; index < nvml.Count(); ++index) {
    const Asked ask(nvml, fmt::format("GPU {}: ", index));
    nvml::DeviceHandle gpu = nullptr;
    const auto found = [] { return std::string("found"); };
    if (!ask(nvml.api.DeviceGetHandleByIndex, "", found, index, &gpu)) continue;
    AskIdentity(nvml, ask, gpu);
    AskMig(nvml, ask, gpu);
    AskNearness(nvml, ask, index, gpu);
    AskHealth(nvml, ask, gpu);
    AskGauges(nvml, ask, gpu);
  }
  for (int code = 0; code <= 30; ++code) {
    Fact(fmt::format("nvmlErrorString {}", code), nvml.Text(static_cast<Return>(code)));
  }
}

// The first time is of a process that has nothing of the driver's yet.
void AskStart() {
  Nvml nvml;
  for (const char* const when : {"first", "again"}) {
    auto begin = Clock::now();
    if (!nvml.Load()) return;
    Figure(fmt::format("dlopen of NVML, {}", when), "us", {Since(begin)});
    begin = Clock::now();
    const Return code = nvml.api.Init.call();
    Figure(fmt::format("nvmlInit_v2, {}", when), "us", {Since(begin)});
    if (code != Return::kSuccess) return Trouble("nvmlInit_v2", nvml.Text(code));
    begin = Clock::now();
    (void)nvml.api.Shutdown.call();
    dlclose(nvml.library);
    Figure(fmt::format("nvmlShutdown and dlclose, {}", when), "us", {Since(begin)});
  }
}

}  // namespace
}  // namespace tessera::card

int main(int count, char** words) {
  using namespace tessera::card;  // NOLINT(google-build-using-namespace)
  const std::string what = count == 2 ? words[1] : "";
  if (what == "start") {
    AskStart();
    return 0;
  }
  Nvml nvml;
  if (!nvml.Start()) return 1;
  if (what == "calls") AskAll(nvml);
  if (what == "events") AskEvents(nvml);
  if (what == "processes") AskProcesses(nvml);
  (void)nvml.api.Shutdown.call();
  return 0;
}
