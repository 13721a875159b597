// SPDX-License-Identifier: Apache-2.0
// Functions of the fake NVML that NVML does not have, for `tessera-sim demo --hardware`. They make
// a node and change its faults and MIG devices. Any thread, but only one for each directory.
#include <fmt/core.h>

#include <functional>
#include <string>

#include "demo/answer.h"
#include "nvml/node.h"
#include "sim/demo/hardware_api.h"

namespace tessera::nvml {
namespace {

bool Answer(const std::function<std::vector<NodeDevice>()>& call, const char** answer) {
  const auto lines = [&] {
    demo::Lines of;
    for (const NodeDevice& device : call()) {
      of.push_back(
          fmt::format("{} {} {} {}", device.index, device.uuid, device.memory_mib, device.name));
    }
    return of;
  };
  return demo::Answer(lines, answer);
}

}  // namespace
}  // namespace tessera::nvml

using namespace tessera::nvml;  // NOLINT(google-build-using-namespace)

extern "C" {

#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming): names of C functions

bool tesseraMakeNode(const char* directory, const char* text, bool only_ask, const char** answer) {
  return Answer(
      [&] { return DevicesOf(only_ask ? ParseHardware(text) : MakeNode(directory, text)); },
      answer);
}

bool tesseraSetFaults(const char* directory, const char* text, bool only_ask, const char** answer) {
  return Answer(
      [&] {
        auto touched = TouchedBy(text, ParseHardware(DescriptionOf(directory)));
        if (!only_ask) SetFaults(directory, text);
        return touched;
      },
      answer);
}

bool tesseraSetMig(const char* directory, const char* text, bool only_ask, const char** answer) {
  return Answer(
      [&] {
        const std::string description = DescriptionOf(directory);
        auto touched = TouchedByMig(text, description);
        if (!only_ask) MakeNode(directory, Divided(description, text));
        return touched;
      },
      answer);
}

// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop

}  // extern "C"

using tessera::demo::HardwareCall;
static_assert(std::is_same_v<decltype(tesseraMakeNode), HardwareCall>);
static_assert(std::is_same_v<decltype(tesseraSetFaults), HardwareCall>);
static_assert(std::is_same_v<decltype(tesseraSetMig), HardwareCall>);
