// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/nvml/nvml.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "nvml/nvidia_node.h"

namespace tessera::nvml {
namespace {

class NvmlTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  Session Here() { return Session(LibraryPaths(os::Root(directory_), "/")); }
  // Whether the fake is still mapped into this process.
  bool IsLoaded() const {
    void* handle =
        dlopen((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }

  // Waits until the session has unloaded all it had.
  static void AwaitClosed(const Session& session) {
    const Steady limit = SystemClock().Now() + Duration(20'000);
    while (!session.HeldBy().empty() && SystemClock().Now() < limit) std::this_thread::yield();
    EXPECT_EQ(session.HeldBy(), std::vector<std::string>());
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/nvml_test").value();
  NvidiaNode node_{directory_, "8xa100"};
};

TEST(NvmlPaths, TheSystemsOwnDriverIsTheLoadersToFindFirst) {
  EXPECT_EQ(LibraryPaths(os::Root(), "/"),
            (std::vector<std::string>{
                "libnvidia-ml.so.1", "/usr/lib64/libnvidia-ml.so.1",
                "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1", "/lib64/libnvidia-ml.so.1",
                "/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                "/lib/aarch64-linux-gnu/libnvidia-ml.so.1", "/usr/lib64/nvidia/libnvidia-ml.so.1",
                "/usr/lib/x86_64-linux-gnu/nvidia/libnvidia-ml.so.1",
                "/usr/lib/aarch64-linux-gnu/nvidia/libnvidia-ml.so.1"}));
}

TEST(NvmlPaths, ADriverRootIsLookedThroughBeforeTheSystem) {
  std::vector<std::string> paths = {
      "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib64/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib64/nvidia/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/nvidia/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/nvidia/libnvidia-ml.so.1"};
  for (std::string& path : LibraryPaths(os::Root(), "/")) paths.push_back(std::move(path));

  EXPECT_EQ(LibraryPaths(os::Root(), "/run/nvidia/driver/"), paths);
}

TEST(NvmlPaths, AWorldOfItsOwnNeverMeansTheSystemsDriver) {
  const std::vector<std::string> paths = LibraryPaths(os::Root("/tmp/x"), "/");
  EXPECT_EQ(paths.front(), "/tmp/x/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(paths.back(), "/tmp/x/usr/lib/aarch64-linux-gnu/nvidia/libnvidia-ml.so.1");
}

// As JetPack has it.
TEST_F(NvmlTest, ALibraryInNvidiasOwnDirectoryIsFound) {
  const std::string nvidia = directory_ + "/usr/lib/aarch64-linux-gnu/nvidia";
  ASSERT_TRUE(os::MakeDirectories(nvidia));
  ASSERT_EQ(rename((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(),
                   (directory_ + "/usr/lib64/libnvidia-ml.real").c_str()),
            0);
  ASSERT_EQ(symlink("/usr/lib64/libnvidia-ml.real", (nvidia + "/libnvidia-ml.so.1").c_str()), 0);
  Session session = Here();

  EXPECT_EQ(session.Open().value()->DeviceCount(), 8U);
}

// As Debian has it.
TEST_F(NvmlTest, AnAbsoluteLinkBelowTheDriversRootMeansThatRoot) {
  const std::string library = directory_ + "/usr/lib64/libnvidia-ml.so.1";
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/etc/alternatives"));
  ASSERT_EQ(rename(library.c_str(), (directory_ + "/usr/lib64/libnvidia-ml.real").c_str()), 0);
  ASSERT_EQ(symlink("/etc/alternatives/nvml", library.c_str()), 0);
  ASSERT_EQ(
      symlink("/usr/lib64/libnvidia-ml.real", (directory_ + "/etc/alternatives/nvml").c_str()), 0);
  Session session = Here();

  EXPECT_EQ(session.Open().value()->DeviceCount(), 8U);
}

TEST_F(NvmlTest, AGpuIsDescribed) {
  Session session = Here();
  const LibraryPtr library = session.Open().value();

  EXPECT_EQ(library->path(), directory_ + "/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(library->DriverVersion(), "570.172.08");
  EXPECT_EQ(library->DeviceCount(), 8U);
  const DeviceHandle gpu = library->DeviceByIndex(3).value();
  EXPECT_EQ(library->Uuid(gpu), node_.hardware().gpus[3].uuid);
  EXPECT_EQ(library->Name(gpu), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(library->MinorNumber(gpu), 3U);
  EXPECT_STREQ(library->Pci(gpu)->bus_id, "00000000:4E:00.0");
  EXPECT_EQ(library->MemoryOf(gpu)->total, uint64_t{81920} << 20);
}

TEST_F(NvmlTest, AGpuTellsWhatItMeasures) {
  Session session = Here();
  const LibraryPtr library = session.Open().value();
  const DeviceHandle gpu = library->DeviceByIndex(3).value();

  EXPECT_EQ(library->MemoryWithReserved(gpu)->reserved, uint64_t{2560} << 20);
  EXPECT_EQ(library->UtilizationOf(gpu)->gpu, 0U);
  EXPECT_EQ(library->EncoderUtilization(gpu), 0U);
  EXPECT_EQ(library->DecoderUtilization(gpu), 0U);
  EXPECT_EQ(library->Temperature(gpu), 31U);
  EXPECT_EQ(library->MemoryTemperature(gpu), 34U);
  EXPECT_EQ(library->Power(gpu), 61'400U);
  EXPECT_EQ(library->Energy(gpu), 86'400'000'000U);
  EXPECT_EQ(library->Clock(gpu, ClockType::kSm), 210U);
  EXPECT_EQ(library->Clock(gpu, ClockType::kMemory), 1593U);
  EXPECT_EQ(library->PcieReplays(gpu), 0U);
}

TEST_F(NvmlTest, AValueThatAGpuDoesNotHaveIsNotSupported) {
  node_.SetHardware(
      "driver: \"1\"\n"
      "gpus: [{model: x, memory: 1, compute: \"1.0\", pci: \"0000:01:00.0\"}]\n");
  Session session = Here();
  const LibraryPtr library = session.Open().value();

  EXPECT_EQ(library->MemoryTemperature(library->DeviceByIndex(0).value()).error(),
            (Failure{"nvmlDeviceGetFieldValues", Return::kNotSupported}));
}

TEST_F(NvmlTest, AFailureIsToldInTheLibrarysWords) {
  Session session = Here();
  const LibraryPtr library = session.Open().value();

  const auto device = library->DeviceByIndex(8);

  ASSERT_FALSE(device);
  EXPECT_EQ(device.error(), (Failure{"nvmlDeviceGetHandleByIndex_v2", Return::kInvalidArgument}));
  EXPECT_EQ(library->Text(device.error()), "nvmlDeviceGetHandleByIndex_v2: Invalid Argument (2)");
}

TEST_F(NvmlTest, ANodeWithoutTheLibraryIsToldWhereItWasLookedFor) {
  node_.RemoveDriver();
  Session session = Here();

  const auto library = session.Open();

  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().reason, Reason::kDriverMissing);
  EXPECT_NE(
      library.error().message.find("(looked for " + directory_ + "/usr/lib64/libnvidia-ml.so.1, "),
      std::string::npos)
      << library.error().message;
  EXPECT_EQ(session.current(), nullptr);
}

TEST_F(NvmlTest, ALibraryThatTheLoaderDoesNotFindIsTakenFromAUsualPlace) {
  const std::string place = directory_ + "/usr/lib64/libnvidia-ml.so.1";
  Session session({"libnone-of-that-name.so.1", directory_ + "/lib64/libnvidia-ml.so.1", place});

  EXPECT_EQ(session.Open().value()->path(), place);
}

TEST_F(NvmlTest, ADirectoryInItsPlaceAndALinkToNowhereArePassedOver) {
  const std::string place = directory_ + "/usr/lib64/libnvidia-ml.so.1";
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/a/libnvidia-ml.so.1"));
  ASSERT_EQ(symlink("nowhere", (directory_ + "/link").c_str()), 0);
  Session session({directory_ + "/a/libnvidia-ml.so.1", directory_ + "/link", place});

  EXPECT_EQ(session.Open().value()->path(), place);
}

TEST_F(NvmlTest, AFileThatIsNoLibraryIsToldAndNotPassedOver) {
  const std::string place = directory_ + "/usr/lib64/libnvidia-ml.so.1";
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/text", "no library"));
  Session session({directory_ + "/text", place});

  EXPECT_EQ(
      session.Open().error(),
      (Error{Reason::kDriverMissing,
             fmt::format("cannot load NVML: {0}/text: file too short (looked for {0}/text, {1})",
                         directory_, place)}));
}

TEST_F(NvmlTest, ALibraryThatComesLaterIsFound) {
  node_.RemoveDriver();
  Session session = Here();
  ASSERT_FALSE(session.Open());

  node_.InstallDriver();

  const LibraryPtr library = session.Open().value();
  EXPECT_EQ(library, session.current());
  EXPECT_EQ(library->DeviceCount(), 8U);
}

TEST_F(NvmlTest, ALibraryThatCannotStartIsUnloadedAgain) {
  node_.SetFaults("driver: {fail: {nvmlInit_v2: 9}}");
  Session session = Here();

  EXPECT_EQ(session.Open().error(),
            (Error{Reason::kDriverMissing,
                   "cannot start NVML from " + directory_ +
                       "/usr/lib64/libnvidia-ml.so.1: nvmlInit_v2: Driver Not Loaded (9)"}));
  EXPECT_FALSE(IsLoaded());

  node_.SetFaults("");
  EXPECT_TRUE(session.Open());
}

TEST_F(NvmlTest, AFunctionThatTheLibraryLacksIsNotSupported) {
  node_.RemoveDriver();
  const std::string other = directory_ + "/usr/lib64/libnvidia-ml.so.1";
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &info), 0);
  ASSERT_EQ(symlink(info.dli_fname, other.c_str()), 0);
  Session session = Here();

  EXPECT_EQ(session.Open().error(),
            (Error{Reason::kDriverMissing,
                   "cannot start NVML from " + other + ": nvmlInit_v2: failed (3)"}));
}

TEST_F(NvmlTest, TheLibraryIsUnloadedWhenTheLastOfItsUsersLetsGo) {
  Session session = Here();
  LibraryPtr user = session.Open().value();

  session.Discard(user);
  EXPECT_EQ(session.current(), nullptr);
  EXPECT_TRUE(IsLoaded());
  user = nullptr;
  EXPECT_FALSE(IsLoaded());

  EXPECT_EQ(session.Open().value()->DeviceCount(), 8U);
}

TEST_F(NvmlTest, OnlyTheLibraryThatIsMeantIsDiscarded) {
  Session session = Here();
  const LibraryPtr former = session.Open().value();
  session.Discard(former);
  const LibraryPtr library = session.Open().value();

  session.Discard(former);

  EXPECT_EQ(session.current(), library);
  EXPECT_TRUE(session.is_open());
  EXPECT_EQ(session.losses(), 1U);
}

TEST_F(NvmlTest, AReleasedLibraryIsUnloadedAndNoneIsOpenedUntilItIsTakenUp) {
  Session session = Here();
  ASSERT_TRUE(session.Open());
  EXPECT_TRUE(IsLoaded());

  session.Release();
  AwaitClosed(session);
  EXPECT_FALSE(IsLoaded());
  EXPECT_EQ(session.Open().error(),
            (Error{Reason::kReleased, "NVML was closed by 'tessera release'"}));

  session.TakeUp();
  EXPECT_TRUE(session.Open());
  EXPECT_EQ(session.losses(), 0U);
}

TEST_F(NvmlTest, AnotherDriverAfterAReleaseHasResetAllGpus) {
  Session session = Here();
  ASSERT_TRUE(session.Open());
  session.Release();
  AwaitClosed(session);

  std::string yaml = os::ReadFile(directory_ + "/usr/lib64/fake-nvml.yaml").value();
  yaml.replace(yaml.find("570.172.08"), 10, "580.105.08");
  node_.SetHardware(yaml);
  session.TakeUp();

  EXPECT_EQ(session.Open().value()->DriverVersion(), "580.105.08");
  EXPECT_EQ(session.losses(), 1U);
}

TEST_F(NvmlTest, ADriverThatWasLoadedAnewHasResetAllGpus) {
  const std::string module = directory_ + "/sys/module/nvidia";
  ASSERT_TRUE(os::MakeDirectories(module));
  Session session(LibraryPaths(os::Root(directory_), "/"), module);
  ASSERT_TRUE(session.Open());
  session.Release();
  AwaitClosed(session);

  ASSERT_TRUE(os::MakeDirectories(module + ".next"));
  ASSERT_TRUE(os::RemoveTree(module));
  ASSERT_EQ(rename((module + ".next").c_str(), module.c_str()), 0);
  session.TakeUp();

  EXPECT_TRUE(session.Open());
  EXPECT_EQ(session.losses(), 1U);
}

TEST_F(NvmlTest, ACallThatHangsKeepsAReleasedLibraryOpenAndIsNamed) {
  Session session = Here();
  LibraryPtr library = session.Open().value();
  {
    const Use use(*library, 2);
    session.Release();
    EXPECT_EQ(session.HeldBy(), std::vector<std::string>{"a call about GPU 2 has not returned"});
    EXPECT_TRUE(IsLoaded());
  }
  EXPECT_EQ(session.HeldBy(), std::vector<std::string>{"a call about all GPUs has not returned"});

  library = nullptr;
  AwaitClosed(session);
  EXPECT_FALSE(IsLoaded());
}

TEST_F(NvmlTest, ACallThatHangsHoldsUpNoOther) {
  Session session = Here();
  const LibraryPtr library = session.Open().value();
  node_.SetFaults("gpus: {2: {hang: all}}");
  std::thread stuck([&] { EXPECT_TRUE(library->DeviceByIndex(2)); });

  EXPECT_TRUE(library->DeviceByIndex(3));
  EXPECT_EQ(session.Open().value(), library);

  node_.SetFaults("");
  stuck.join();
}

TEST_F(NvmlTest, ResourcesWithOneDriverRootShareASession) {
  const auto first = Session::Of(os::Root(directory_), "/");

  EXPECT_EQ(Session::Of(os::Root(directory_), "/"), first);
  EXPECT_NE(Session::Of(os::Root(directory_), "/other"), first);
}

}  // namespace
}  // namespace tessera::nvml
