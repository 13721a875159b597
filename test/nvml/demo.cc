// SPDX-License-Identifier: Apache-2.0
// What the fake NVML can do besides what NVML does, for `tessera-sim demo --hardware`.
#include <fmt/core.h>

#include <exception>
#include <functional>
#include <string>

#include "nvml/node.h"
#include "sim/demo/hardware_api.h"

namespace tessera::nvml {
namespace {

bool Answer(const std::function<std::vector<NodeDevice>()>& call, const char** answer) {
  thread_local std::string text;
  *answer = "";
  try {
    text.clear();
    for (const NodeDevice& device : call()) {
      text +=
          fmt::format("{} {} {} {}\n", device.index, device.uuid, device.memory_mib, device.name);
    }
    *answer = text.c_str();
    return true;
  } catch (const std::exception& error) {
    text = error.what();
    *answer = text.c_str();
    return false;
  }
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
