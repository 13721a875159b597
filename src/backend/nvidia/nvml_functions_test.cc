// SPDX-License-Identifier: Apache-2.0
// A library that lacks one function of nvml/functions.def, each in turn, as an older or a newer
// driver may.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "backend/nvidia/nvidia.h"
#include "backend/recorder_test.h"
#include "base/log.h"
#include "nvml/nvidia_node.h"

namespace tessera {
namespace {

constexpr Duration kWithin{20'000};  // only a failing test waits this long

using Texts = std::vector<std::string>;

const Texts kFunctions = {
#define NVML_FUNCTION(name, symbol, ...) #symbol,
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
    "nvmlErrorString"};

// The result for a node with six whole GPUs and two divided ones.
enum class Outcome : uint8_t {
  kServed,     // all of them
  kUndivided,  // every GPU is whole
  kNoDivided,  // the divided GPUs are out
  kNoGpu,      // every GPU is out
  kNoScan,     // the GPUs are unknown
  kNoDriver,   // no driver either
};

// The functions that are needed to serve all, with the result if one is missing.
const std::map<std::string, Outcome> kIndispensable = {
    {"nvmlInit_v2", Outcome::kNoDriver},
    {"nvmlDeviceGetCount_v2", Outcome::kNoScan},
    {"nvmlDeviceGetHandleByIndex_v2", Outcome::kNoGpu},
    {"nvmlDeviceGetUUID", Outcome::kNoGpu},
    {"nvmlDeviceGetName", Outcome::kNoGpu},
    {"nvmlDeviceGetMinorNumber", Outcome::kNoGpu},
    {"nvmlDeviceGetPciInfo_v3", Outcome::kNoGpu},
    {"nvmlDeviceGetMigMode", Outcome::kUndivided},
    {"nvmlDeviceGetMemoryInfo", Outcome::kNoDivided},
    {"nvmlDeviceGetMaxMigDeviceCount", Outcome::kNoDivided},
    {"nvmlDeviceGetMigDeviceHandleByIndex", Outcome::kNoDivided},
    {"nvmlDeviceGetAttributes_v2", Outcome::kNoDivided},
    {"nvmlDeviceGetGpuInstanceId", Outcome::kNoDivided},
    {"nvmlDeviceGetComputeInstanceId", Outcome::kNoDivided},
};

class NvmlFunctionTest : public testing::TestWithParam<std::string> {
 protected:
  NvmlFunctionTest() {
    node_.InstallDriver(GetParam());
    log::SetSink([this](std::string_view line) {
      std::lock_guard lock(mutex_);
      log_.emplace_back(line.substr(25));  // after the time
      told_.notify_all();
    });
  }
  ~NvmlFunctionTest() override { log::SetSink(nullptr); }
  void TearDown() override {
    for (const auto& backend : backends_) backend->Stop();
    EXPECT_TRUE(os::RemoveTree(directory_));
  }

  static Outcome Expected() {
    const auto known = kIndispensable.find(GetParam());
    return known == kIndispensable.end() ? Outcome::kServed : known->second;
  }
  // The state of each of the resource's devices, or the scan's failure.
  Texts Served(NvidiaConfig config) {
    backends_.push_back(
        std::make_shared<NvidiaBackend>("nvidia.com/gpu", std::move(config), os::Root(directory_)));
    NvidiaBackend& backend = *backends_.back();
    EXPECT_TRUE(backend.Start(events_));
    const auto devices = backend.Scan();
    if (!devices) {
      return {fmt::format("{} {}", ReasonName(devices.error().reason), devices.error().message)};
    }
    Texts said;
    for (const Device& device : *devices) said.push_back(Say(backend.Check(device)));
    return said;
  }
  Texts FailedScan(const std::string& text) const {
    return {fmt::format("{}{}: Not Supported (3)", text, GetParam())};
  }
  // The GPUs from this one on are out; those before are good.
  static Texts OutFrom(unsigned first) {
    Texts said(first, "good");
    for (unsigned gpu = first; gpu < 8; ++gpu) {
      said.push_back(fmt::format("bad unreadable GPU {}: {}: Not Supported (3)", gpu, GetParam()));
    }
    return said;
  }
  Texts ExpectedWhole() const {
    switch (Expected()) {
      case Outcome::kServed:
        return Texts(6, "good");
      case Outcome::kUndivided:
        return Texts(8, "good");
      case Outcome::kNoDivided:
        return OutFrom(6);
      case Outcome::kNoGpu:
        return OutFrom(0);
      case Outcome::kNoScan:
        return FailedScan("scan-failed nvidia.com/gpu: ");
      case Outcome::kNoDriver:
        return FailedScan(
            fmt::format("driver-missing nvidia.com/gpu: cannot start NVML from "
                        "{}/usr/lib64/libnvidia-ml.so.1: ",
                        directory_));
    }
    return {};
  }
  Texts ExpectedDivided() const {
    if (Expected() == Outcome::kServed) return Texts(11, "good");
    const bool scanned = Expected() != Outcome::kNoScan && Expected() != Outcome::kNoDriver;
    return scanned ? Texts() : ExpectedWhole();
  }
  // The log line of the event watch; empty: there is no GPU to watch.
  std::string ExpectedLine() const {
    if (GetParam() == "nvmlEventSetCreate" || GetParam() == "nvmlEventSetWait_v2") {
      return fmt::format(
          "WARN cannot receive the events of GPUs; checks continue, and the agent retries "
          "error=\"{}: Not Supported (3)\"",
          GetParam());
    }
    if (GetParam() == "nvmlDeviceRegisterEvents" ||
        GetParam() == "nvmlDeviceGetSupportedEventTypes") {
      return fmt::format(
          "WARN a GPU reports no events; only checks watch it gpu={} error=\"it does not support "
          "them\"",
          node_.hardware().gpus[0].uuid);
    }
    if (Expected() > Outcome::kNoDivided) return "";
    return fmt::format("INFO events of GPUs are watched gpus={}",
                       Expected() == Outcome::kNoDivided ? 6 : 8);
  }
  bool AwaitLog(const std::string& line) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, kWithin, [&] { return std::ranges::count(log_, line) > 0; });
  }

  // Lets go of the library, and ends the wait for events that holds it.
  bool IsClosed() {
    EXPECT_TRUE(backends_.front()->Release());
    node_.SetFaults("driver: {fail: {nvmlEventSetWait_v2: 999}}");
    const Steady limit = SystemClock().Now() + kWithin;
    while (!backends_.front()->HeldBy().empty() && SystemClock().Now() < limit) {
      std::this_thread::yield();
    }
    return backends_.front()->HeldBy().empty();
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/nvml_functions_test").value();
  NvidiaNode node_{directory_, "8xh100-mig"};
  os::Loop loop_;
  Recorder events_{loop_};
  std::vector<std::shared_ptr<NvidiaBackend>> backends_;
  std::mutex mutex_;
  std::condition_variable told_;
  Texts log_;  // under mutex_
};

TEST_P(NvmlFunctionTest, IsNotSupportedWhereTheLibraryLacksIt) {
  // A library that cannot free its objects is not our leak. It stays loaded, with all that it
  // points to.
  if (GetParam() == "nvmlShutdown" || GetParam() == "nvmlEventSetFree") {
    ASSERT_NE(dlopen((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(), RTLD_LAZY), nullptr);
  }
  EXPECT_EQ(Served({}), ExpectedWhole());
  EXPECT_EQ(Served({.mig = "*"}), ExpectedDivided());
  const std::string line = ExpectedLine();
  EXPECT_TRUE(line.empty() || AwaitLog(line)) << line;
  EXPECT_TRUE(IsClosed());
}

TEST_P(NvmlFunctionTest, IsTheOnlyOneThatTheLibraryOfThisTestLacks) {
  void* library = dlopen((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(), RTLD_LAZY);
  ASSERT_NE(library, nullptr);
  for (const std::string& function : kFunctions) {
    EXPECT_EQ(dlsym(library, function.c_str()) == nullptr, function == GetParam()) << function;
  }
  dlclose(library);
}

INSTANTIATE_TEST_SUITE_P(Each, NvmlFunctionTest, testing::ValuesIn(kFunctions),
                         [](const auto& function) { return function.param; });

}  // namespace
}  // namespace tessera
