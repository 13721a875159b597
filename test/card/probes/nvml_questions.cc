// SPDX-License-Identifier: Apache-2.0
#include <time.h>
#include <unistd.h>

#include <vector>

#include "card/probes/first_device.h"
#include "card/probes/helpers.h"
#include "card/probes/questions.h"
#include "card/row.h"

namespace tessera::card {
namespace {

std::string Code(int result) {
  return std::to_string(result);
}

const FirstDevice* Open() {
  const FirstDevice* const nvml = FirstDevice::Open();
  return nvml != nullptr ? nvml : throw Missing{"a device of NVML's"};
}

// Keeps the device busy for so many ms by kernels of 1 ms.
void Work(int ms) {
  CUcontext context = nullptr;
  CU(cuInit)(0);
  CU(cuDevicePrimaryCtxRetain)(&context, 0);
  CU(cuCtxSetCurrent)(context);
  const CUfunction kernel = SpinKernel();
  for (int i = 0; i < ms; ++i) {
    Spin(kernel, 1'000'000);
    Synchronize();
  }
}

std::string UtilisationOfProcesses() {
  const FirstDevice* const nvml = Open();
  Work(2'000);
  std::vector<nvmlProcessUtilizationSample_t> samples(512);
  auto count = static_cast<unsigned>(samples.size());
  const auto ask = NVML(*nvml, nvmlDeviceGetProcessUtilization);
  if (ask == nullptr) throw Missing{"the function"};
  const nvmlReturn_t result = ask(nvml->device(), samples.data(), &count, 0);
  if (result != NVML_SUCCESS) return Code(result);
  std::vector<double> own;
  for (unsigned i = 0; i < count; ++i) {
    if (samples[i].pid == static_cast<unsigned>(getpid())) own.push_back(samples[i].smUtil);
  }
  Figure("nvmlDeviceGetProcessUtilization of a process that was busy", "%", own);
  return "0, " + std::string(own.empty() ? "without this process" : "with this process");
}

std::string UtilisationByTheNewFunction() {
  const FirstDevice* const nvml = Open();
  Work(2'000);
  std::vector<nvmlProcessUtilizationInfo_v1_t> infos(512);
  nvmlProcessesUtilizationInfo_v1_t all{};
  all.version = kNvmlVersion1<nvmlProcessesUtilizationInfo_v1_t>;
  all.processSamplesCount = static_cast<unsigned>(infos.size());
  all.procUtilArray = infos.data();
  const auto ask = NVML(*nvml, nvmlDeviceGetProcessesUtilizationInfo);
  if (ask == nullptr) throw Missing{"the function"};
  const nvmlReturn_t result = ask(nvml->device(), &all);
  if (result != NVML_SUCCESS) return Code(result);
  bool is_there = false;
  for (unsigned i = 0; i < all.processSamplesCount; ++i) {
    is_there = is_there || infos[i].pid == static_cast<unsigned>(getpid());
  }
  return "0, " + std::string(is_there ? "with this process" : "without this process");
}

// Asked, and nothing is made.
std::string MayMakeMig() {
  const FirstDevice* const nvml = Open();
  unsigned current = 0, pending = 0, most = 0, mode = 0;
  const int mig = nvml->Of<nvmlReturn_t(nvmlDevice_t, unsigned*, unsigned*)>(
      "nvmlDeviceGetMigMode")(nvml->device(), &current, &pending);
  NVML(*nvml, nvmlDeviceGetMaxMigDeviceCount)(nvml->device(), &most);
  const auto virtualization =
      nvml->Of<nvmlReturn_t(nvmlDevice_t, unsigned*)>("nvmlDeviceGetVirtualizationMode");
  const std::string in =
      virtualization == nullptr || virtualization(nvml->device(), &mode) != NVML_SUCCESS
          ? "not told"
          : std::to_string(mode);
  constexpr char kConfig[] = "/proc/driver/nvidia/capabilities/mig/config";
  return "user " + std::to_string(geteuid()) + ", mode " + Code(mig) + " current " +
         std::to_string(current) + " pending " + std::to_string(pending) + ", most devices " +
         std::to_string(most) + ", virtualization " + in + ", " + kConfig +
         (access(kConfig, R_OK) == 0   ? " may be read"
          : access(kConfig, F_OK) == 0 ? " may not be read"
                                       : " is not there");
}

constexpr Question kQuestions[] = {
    {"nvmlDeviceGetProcessUtilization", UtilisationOfProcesses},
    {"nvmlDeviceGetProcessesUtilizationInfo", UtilisationByTheNewFunction},
    {"whether this user may make MIG devices", MayMakeMig},
};

}  // namespace

std::span<const Question> NvmlQuestions() {
  return kQuestions;
}

}  // namespace tessera::card
