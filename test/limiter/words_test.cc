// SPDX-License-Identifier: Apache-2.0
// The library's messages and their readers. In a program that uses no GPU the library does nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

class WordsTest : public LimitTest {
 protected:
  // Both outputs, without process ids.
  static std::string Told(const std::string& command) {
    return Output("{ " + command + "; } 2>&1 | sed -E 's/(tessera-vgpu)\\[[0-9]+\\]/\\1/'");
  }
};

TEST_F(WordsTest, OnlyWhoAsksIsToldOfLimitsAndDenials) {
  const std::string limits =
      "tessera-vgpu: limits of the environment: policy default, priority 1\n"
      "tessera-vgpu: limit of device 0: 1073741824 bytes of memory, all of its time\n";
  const std::string denied = "tessera-vgpu: denied: 104857600 bytes of " + std::string(kUuid) +
                             "; 1048576000 of 1073741824 are held\n";
  const std::string program = Program("proc");
  EXPECT_EQ(Told(Environment() + kLimit + program), kGranted);
  EXPECT_EQ(Told(Environment() + kLimit + "LIBCUDA_LOG_LEVEL=0 " + program), kGranted);
  EXPECT_EQ(Told(Environment() + kLimit + "LIBCUDA_LOG_LEVEL=1 " + program), kGranted);
  EXPECT_EQ(Told(Environment() + kLimit + "LIBCUDA_LOG_LEVEL=2 " + program), limits + kGranted);
  EXPECT_EQ(Told(Environment() + kLimit + "LIBCUDA_LOG_LEVEL=3 " + program),
            limits + denied + kGranted);
}

TEST_F(WordsTest, WhyMemoryIsDeniedIsAnError) {
  EXPECT_EQ(
      Told(Environment() + "CUDA_DEVICE_MEMORY_LIMIT=much LIBCUDA_LOG_LEVEL=1 " + Program("proc")),
      "tessera-vgpu: error: memory is denied: CUDA_DEVICE_MEMORY_LIMIT: not a size, such as "
      "2048m: 'much'\nretain: 2\n");
}

TEST_F(WordsTest, APlaceForNoRegionIsAWarning) {
  EXPECT_EQ(
      Told(Environment() + kLimit + "CUDA_DEVICE_MEMORY_SHARED_CACHE=/proc/none/a.cache " +
           "CUDA_TASK_PRIORITY=high LIBCUDA_LOG_LEVEL=2 " + Program("proc")),
      "tessera-vgpu: warning: left out: CUDA_TASK_PRIORITY: takes a number from 0, not 'high'\n"
      "tessera-vgpu: limits of the environment: policy default, priority 1\n"
      "tessera-vgpu: limit of device 0: 1073741824 bytes of memory, all of its time\n"
      "tessera-vgpu: warning: /proc/none/a.cache: the region can be neither opened nor made; see "
      "its directory; limits hold for this process only\n" +
          std::string(kGranted));
}

TEST_F(WordsTest, AProgramThatUsesNoGpuOpensAndSaysNothing) {
  const std::string look =
      "sh -c 'cat /proc/self/maps | grep -c -e libvgpu -e vgpu.cache; ls /proc/self/fd | wc -l' "
      "2>&1";
  const std::string with = Output(Environment() + kLimit + "LIBCUDA_LOG_LEVEL=4 " + look);
  const std::string without = Output(Environment("") + kLimit + look);
  // As many open descriptors as without the library.
  EXPECT_EQ(with.substr(with.find('\n')), without.substr(without.find('\n')));
  EXPECT_GT(std::stoi(with), 0) << "it was not loaded";
  EXPECT_EQ(std::stoi(without), 0);
  EXPECT_EQ(Output(Environment() + kLimit + "sh -c 'grep -c vgpu.cache /proc/self/maps; true'"),
            "0\n");
  EXPECT_FALSE(std::filesystem::exists(node_.directory() + "/vgpu.cache"));
}

}  // namespace
}  // namespace tessera::limiter
