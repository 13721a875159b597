// SPDX-License-Identifier: Apache-2.0
// The processes that NVML lists inside a container.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

using ProcessesTest = LimitTest;

// The driver's entry of a process of the host or of another container.
const std::string kForeign = "TESSERA_FAKE_NVML_PROCESSES='4194305:1024' ";
const std::string kProcesses = std::string(PROGRAMS) + "/limit_processes";

TEST_F(ProcessesTest, NvmlListsTheContainersOwnProcessesAlone) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + Program("proc", 6, kProcesses) +
                   " | grep -v after"),
            R"(ComputeRunningProcesses: 0 limit_bare=629145600
ComputeRunningProcesses_v2: 0 limit_bare=629145600
ComputeRunningProcesses_v3: 0 limit_bare=629145600
GraphicsRunningProcesses: 0
GraphicsRunningProcesses_v2: 0
GraphicsRunningProcesses_v3: 0
MPSComputeRunningProcesses: 0
MPSComputeRunningProcesses_v2: 0
MPSComputeRunningProcesses_v3: 0
details 0: 0 limit_bare=629145600
details 1: 0
details 2: 0
utilization: 0 limit_bare=0%
all utilization: 0 limit_bare=0%
6 x 104857600, then 0; free 444596224 of 1073741824; device 1073741824
)");
}

TEST_F(ProcessesTest, WithoutALimitNvmlListsWhatTheDriverKnows) {
  const std::string driver = R"(ComputeRunningProcesses: 0 4194305=1024
ComputeRunningProcesses_v2: 0 4194305=1024
ComputeRunningProcesses_v3: 0 4194305=1024
GraphicsRunningProcesses: 0
GraphicsRunningProcesses_v2: 0
GraphicsRunningProcesses_v3: 0
MPSComputeRunningProcesses: 0
MPSComputeRunningProcesses_v2: 0
MPSComputeRunningProcesses_v3: 0
details 0: 0 4194305=1024
details 1: 0
details 2: 0
utilization: 0 4194305=42%
all utilization: 0 4194305=42%
after the end: 1
)";
  EXPECT_EQ(Output(Environment("") + kForeign + kLimit + kProcesses), driver) << "no limiter";
  EXPECT_EQ(Output(Environment() + kForeign + kProcesses), driver);
}

TEST_F(ProcessesTest, ListsOfProcessesAreAnsweredAsTheDriverWould) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + Program("proc", 6, kProcesses + " edges") +
                   " | grep -v free"),
            R"(no room: 7, 1 needed
nowhere to write: 2
no count: 2
a newer list: 25
no room for samples: 7, 1 needed
samples of the future: 6, 0
after the end: 1
)");
}

TEST_F(ProcessesTest, WhatIsWrongWithTheDeviceIsTheDriversToSay) {
  std::ofstream(node_.directory() + "/fake-nvml.yaml.faults")
      << "gpus: {0: {fail: {nvmlDeviceGetComputeRunningProcesses_v3: 15,\n"
         "                  nvmlDeviceGetProcessUtilization: 3}}}\n";
  const std::string output = Output(Environment() + kLimit + Program("proc", 6, kProcesses));
  EXPECT_NE(output.find("\nComputeRunningProcesses_v2: 0 limit_bare=629145600\n"
                        "ComputeRunningProcesses_v3: 15\n"),
            output.npos)
      << output;
  EXPECT_NE(output.find("\nutilization: 3\nall utilization: 0 limit_bare=0%\n"), output.npos)
      << output;
}

TEST_F(ProcessesTest, TheDriversAccountOfWhoRanIsOfNoContainer) {
  const std::string end = "after the end: 1\n";
  EXPECT_EQ(Output(Environment() + kForeign + kProcesses + " account"),
            "accounts: 0\n4194305: 1024, 1024\nof any: 6, 6\n" + end)
      << "no limit";
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + kProcesses + " account"),
            "accounts: 3\nof any: 3, 3\n" + end);
}

TEST_F(ProcessesTest, AProcessThatHoldsNothingIsOnNoList) {
  EXPECT_EQ(Output(Environment() + kForeign + kLimit + kProcesses + " edges"),
            R"(no room: 0, 0 needed
nowhere to write: 0
no count: 2
a newer list: 25
no room for samples: 6, 0 needed
samples of the future: 6, 0
after the end: 1
)");
}

}  // namespace
}  // namespace tessera::limiter
