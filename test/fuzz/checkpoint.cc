// SPDX-License-Identifier: Apache-2.0
// kubelet's checkpoint. A text that parses, is written and parsed again must give the same.

#include "kubelet/checkpoint.h"

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto checkpoint = tessera::kubelet::ParseCheckpoint(tessera::fuzz::Text(data, size));
  if (!checkpoint) return 0;
  for (const auto& entry : checkpoint->entries) {
    size_t ids = 0;
    for (const auto& [numa, of_node] : entry.ids_by_numa) ids += of_node.size();
    Require(entry.ids().size() <= ids, "no id comes from nowhere");
  }
  const std::string written = tessera::kubelet::WriteCheckpoint(*checkpoint);
  const auto again = tessera::kubelet::ParseCheckpoint(written);
  Require(again.has_value(), "what was written parses");
  Require(tessera::kubelet::WriteCheckpoint(*again) == written, "writing again gives the same");
  return 0;
}
