// SPDX-License-Identifier: Apache-2.0
// Every way in which a program may find the driver's functions, with the built libvgpu.so and
// without. The program finds a hook where it found a function of the driver; all else is unchanged.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "test/limiter/libvgpu.h"
#include "test/limiter/output.h"

using tessera::limiter::Libvgpu;
using tessera::limiter::Output;

namespace {

const std::string kHere = WAYS_DIRECTORY;  // the driver, the library, the programs

std::string Printed(const std::string& program, const std::string& words,
                    const std::string& preload, const std::string& environment = "") {
  std::istringstream variables("LD_PRELOAD='" + preload + "' LD_LIBRARY_PATH=" + kHere + " " +
                               environment);
  std::string command = EMULATOR;
  // For the program only: the emulator runs on another processor.
  for (std::string one; variables >> one;) command += (*EMULATOR != 0 ? " -E " : " ") + one;
  return Output(command + " " + kHere + "/" + program + " " + words + " 2>&1");
}

// A program that is linked with the driver, as it runs in a container.
std::string Linked(const std::string& words, const std::string& environment = "") {
  return Printed("ways_linked", words, Libvgpu(), environment);
}

// A program that has to open the driver.
std::string Bare(const std::string& words, const std::string& environment = "") {
  return Printed("ways_bare", words, Libvgpu(), environment);
}

TEST(WaysTest, WithoutTheLimiterAllIsTheDrivers) {
  EXPECT_EQ(Printed("ways_linked", "linked", ""), "driver 0 driver");
  EXPECT_EQ(Printed("ways_bare", "linked", ""), "none");
  EXPECT_EQ(Printed("ways_bare", "open cuGetProcAddress_v2", ""), "driver");
}

TEST(WaysTest, AProgramThatIsLinkedWithTheDriverCallsTheHook) {
  EXPECT_EQ(Linked("linked"), "hook 0 driver");
}

TEST(WaysTest, AWeakReferenceWithoutADriverIsAnsweredLikeADriverBeforeCuInit) {
  EXPECT_EQ(Bare("weak libways_library.so"), "hook 3 none");
  EXPECT_EQ(Bare("weak libways_plugin.so"), "hook 0 driver");
}

TEST(WaysTest, ALookupInTheDriverFindsTheHook) {
  EXPECT_EQ(Bare("open cuGetProcAddress_v2"), "hook");
  EXPECT_EQ(Linked("open cuGetProcAddress"), "hook");
}

TEST(WaysTest, ALookupOfAVersionFindsTheHookOfThatVersionAlone) {
  const std::string versioned = "LD_LIBRARY_PATH=" + kHere + "/versioned:" + kHere;
  EXPECT_EQ(Bare("version cuGetProcAddress_v2 DRIVER_1", versioned), "hook");
  EXPECT_EQ(Bare("version cuGetProcAddress_v2 DRIVER_2", versioned), "none");
  EXPECT_EQ(Bare("version cuInit DRIVER_1", versioned), "driver");
  EXPECT_EQ(Bare("open cuGetProcAddress_v2", versioned), "hook");
  EXPECT_EQ(Linked("linked", versioned), "hook 0 driver");
}

TEST(WaysTest, AFunctionThatIsPassedOnIsTheDrivers) {
  EXPECT_EQ(Bare("open cuInit"), "driver");
  EXPECT_EQ(Linked("default cuGetExportTable"), "driver");
}

TEST(WaysTest, AProgramMayLookEverywhere) {
  EXPECT_EQ(Linked("default cuGetProcAddress_v2"), "hook");
  EXPECT_EQ(Linked("self cuGetProcAddress_v2"), "hook");
  EXPECT_EQ(Linked("library-default cuGetProcAddress_v2"), "hook");
}

// An opened library sees its own dependencies, the program does not.
TEST(WaysTest, ALibraryThatWasOpenedSeesTheDriverThatItNeeds) {
  EXPECT_EQ(Bare("plugin-default cuGetProcAddress_v2"), "hook");
  EXPECT_EQ(Bare("program-default cuGetProcAddress_v2"), "none");
}

TEST(WaysTest, NothingIsFoundWhereWithoutTheLimiterThereWouldBeNothing) {
  for (const char* way : {"default", "next", "self"}) {
    EXPECT_EQ(Bare(std::string(way) + " cuGetProcAddress_v2"), "none") << way;
    EXPECT_EQ(Bare(std::string(way) + " curl_easy_init"), "none") << way;
  }
  EXPECT_EQ(Bare("open cuMemAlloc_v2"), "none") << "this driver does not have it";
}

TEST(WaysTest, TheNextDefinitionIsLookedForBehindWhoAsks) {
  EXPECT_EQ(Linked("next cuGetProcAddress_v2"), "hook");
  EXPECT_EQ(Linked("library-next cuGetProcAddress_v2"), "hook");
}

// The program itself must ask the loader, as the answer depends on the caller.
TEST(WaysTest, ANameThatIsNoneOfTheDriversMeansWhatItMeant) {
  EXPECT_EQ(Linked("next cuOfSeveral"), "libways_library.so");
  EXPECT_EQ(Linked("library-next cuOfSeveral"), "none");
  EXPECT_EQ(Linked("default cuOfSeveral"), "ways_linked");
  EXPECT_EQ(Linked("next getpid"), "libc.so.6");
}

TEST(WaysTest, ALibraryThatStandsBeforeTheDriverFindsTheDriverBehindIt) {
  EXPECT_EQ(Printed("ways_before", "library-next cuGetProcAddress", Libvgpu()), "driver");
  EXPECT_EQ(Printed("ways_before", "library-next cuGetProcAddress_v2", Libvgpu()), "hook");
}

TEST(WaysTest, ADriverThatWasUnloadedIsFoundAnew) {
  EXPECT_EQ(Bare("again libways_plugin.so"), "driver 0, driver 0, driver 0, ");
}

// The driver's functions are exported or not. If not, version and flags decide what a symbol is.
class HandedOutTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HandedOutTest, TheDriverHandsOutTheHookOfTheVersionThatIsAskedFor) {
  const auto asked = [](const std::string& words) { return Bare(words, GetParam()); };
  EXPECT_EQ(asked("proc cuMemGetInfo 2000 0"), "hook cuMemGetInfo, found");
  EXPECT_EQ(asked("proc cuMemGetInfo 3010 0"), "hook cuMemGetInfo, found");
  EXPECT_EQ(asked("proc cuMemGetInfo 3020 0"), "hook cuMemGetInfo_v2, found");
  EXPECT_EQ(asked("proc cuMemGetInfo 13050 0"), "hook cuMemGetInfo_v2, found");
  EXPECT_EQ(asked("proc1 cuMemGetInfo 11030 0"), "hook cuMemGetInfo_v2");
  EXPECT_EQ(asked("proc cuGetProcAddress 11030 0"), "hook cuGetProcAddress, found");
  EXPECT_EQ(asked("proc cuGetProcAddress 12000 0"), "hook cuGetProcAddress_v2, found");
  EXPECT_EQ(asked("proc cuInit 12000 0"), "driver, found");
  EXPECT_EQ(asked("proc cuNothing 12000 0"), "none, unknown");
}

TEST_P(HandedOutTest, TheDefaultStreamIsTheOneThatIsAskedFor) {
  const auto asked = [](const std::string& words) { return Bare(words, GetParam()); };
  EXPECT_EQ(asked("proc cuMemAllocAsync 12000 0"), "hook cuMemAllocAsync, found");
  EXPECT_EQ(asked("proc cuMemAllocAsync 12000 1"), "hook cuMemAllocAsync, found");
  EXPECT_EQ(asked("proc cuMemAllocAsync 12000 2"), "hook cuMemAllocAsync_ptsz, found");
  EXPECT_EQ(asked("proc1 cuMemAllocAsync 11030 2"), "hook cuMemAllocAsync_ptsz");
  EXPECT_EQ(asked("proc cuMemGetInfo 12000 2"), "hook cuMemGetInfo_v2, found");
}

TEST_P(HandedOutTest, WhatTheDriverSaysOfASymbolIsLeftAsItIs) {
  for (const std::string& preload : {std::string(), Libvgpu()}) {
    const auto asked = [&](const std::string& words) {
      return Printed("ways_bare", words, preload, GetParam());
    };
    SCOPED_TRACE(preload);
    EXPECT_EQ(asked("proc cuInit 2000 0"), "driver, found");
    EXPECT_EQ(asked("proc cuMemAllocAsync 11010 0"), "none, version too old");
    EXPECT_EQ(asked("proc cuMemAllocAsync 11010 2"), "none, version too old");
    EXPECT_EQ(asked("proc cuNothing 12000 0"), "none, unknown");
    EXPECT_EQ(asked("proc cuMemAllocAsync_ptsz 12000 0"), "none, unknown");
  }
}

// For CUDA 14 the symbol is the known function. For CUDA 15 it is an unknown one, which may take
// other arguments.
TEST_P(HandedOutTest, AVariantOfTheFutureIsLeftAlone) {
  EXPECT_EQ(Bare("proc cuMemGetInfo 14000 0", GetParam()), "hook cuMemGetInfo_v2, found");
  EXPECT_EQ(Bare("proc cuMemGetInfo 15000 0", GetParam()), "driver, found");
}

INSTANTIATE_TEST_SUITE_P(EveryDriver, HandedOutTest,
                         ::testing::Values("FAKE_EXPORTED=1", "FAKE_UNEXPORTED=1"),
                         [](const auto& way) {
                           return std::string(way.param).find("UN") == std::string::npos
                                      ? std::string("Exported")
                                      : std::string("Unexported");
                         });

TEST(WaysTest, TheLimiterSaysNothing) {
  EXPECT_EQ(Printed("ways_bare", "default nothing", Libvgpu()), "none");
}

TEST(WaysTest, PythonFindsTheHook) {
  if (Output("command -v python3 || true").empty() || *EMULATOR != 0) {
    GTEST_SKIP() << "there is no python3 of this processor";
  }
  const std::string script =
      "import ctypes\n"
      "driver = ctypes.CDLL(\"libcuda.so.1\")\n"
      "address = ctypes.cast(driver.cuGetProcAddress_v2, ctypes.c_void_p).value\n"
      "for line in open(\"/proc/self/maps\"):\n"
      "    begin, end = (int(x, 16) for x in line.split()[0].split(\"-\"))\n"
      "    if begin <= address < end: print(line.split(\"/\")[-1], end=\"\")\n";
  EXPECT_EQ(Output("LD_PRELOAD=" + Libvgpu() + " LD_LIBRARY_PATH=" + kHere + " python3 -c '" +
                   script + "' 2>&1"),
            "libvgpu.so\n");
}

}  // namespace
