// SPDX-License-Identifier: Apache-2.0
// The names that the driver's library exports, with their addresses. Plain data.
#pragma once

#include <string_view>
#include <vector>

namespace tessera::fake_cuda {

struct Export {
  std::string_view name;    // without a suffix
  int version = 0;          // the CUDA version that introduced it
  bool per_thread = false;  // the default stream is the thread's own
  void* address = nullptr;
};

// Sorted by name.
const std::vector<Export>& Exports();

}  // namespace tessera::fake_cuda
