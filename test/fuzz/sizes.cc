// SPDX-License-Identifier: Apache-2.0
// A pod's annotations for the size of its virtual GPUs: lines of KEY=VALUE. KEY omits the common
// prefix.

#include "placement/asked_sizes.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::kube::Pod pod{.containers = {{.name = "main"}}};
  for (const std::string& line : tessera::Split(tessera::fuzz::Text(data, size), '\n')) {
    const size_t end = std::min(line.find('='), line.size());
    pod.annotations[tessera::kSizeKeys + line.substr(0, end)] =
        line.substr(std::min(end + 1, line.size()));
  }
  const tessera::kube::Container container{.name = "main", .limits = {{"nvidia.com/gpu", "1"}}};
  const auto request = tessera::ResolveSizes(
      pod, container, {.count_name = "nvidia.com/gpu", .memory_name = "nvidia.com/gpumem"});
  if (!request) {
    const std::string& why = request.error().message;
    Require(!why.empty() && why.size() < 1000, "a refusal says why, briefly");
    return 0;
  }
  Require(request->has_value(), "a container that asks gets something");
  const tessera::Request& asked = **request;
  Require((asked.memory > 0) != (asked.percentage > 0), "its memory is said in one way");
  Require(asked.memory >= 0 && asked.percentage >= 0 && asked.percentage <= 100, "and is some");
  Require(asked.cores >= 0 && asked.cores <= 100, "so is its compute time");
  return 0;
}
