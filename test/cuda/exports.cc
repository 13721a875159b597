// SPDX-License-Identifier: Apache-2.0
// Every name that the driver's library exports. A function that no other file defines is defined
// here, and returns "not supported". Types do not matter here, so none is declared.
#include "cuda/exports.h"

#include <algorithm>

namespace {
constexpr int kNotSupported = 801;
}  // namespace

// The linker prefers another file's function to a weak one.
#define CUDA_FUNCTION(name, suffix, version)                                   \
  extern "C" __attribute__((visibility("default"), weak)) int name##suffix() { \
    return kNotSupported;                                                      \
  }
#include "cuda/functions.def"
#include "cuda/graph_functions.def"
#undef CUDA_FUNCTION

namespace tessera::fake_cuda {
namespace {

// A constant, because a compiler needs most of a minute for a function that fills such a list.
struct Listed {
  const char* name;
  int version;
  const char* suffix;
  int (*function)();
};

constexpr Listed kListed[] = {
#define CUDA_FUNCTION(name, suffix, version) {#name, version, #suffix, &name##suffix},
#include "cuda/functions.def"
#include "cuda/graph_functions.def"
#undef CUDA_FUNCTION
};

}  // namespace

const std::vector<Export>& Exports() {
  static const auto* const exports = [] {
    auto* all = new std::vector<Export>;
    for (const Listed& one : kListed) {
      const bool per_thread = std::string_view(one.suffix).find("_pt") != std::string_view::npos;
      all->push_back({one.name, one.version, per_thread, reinterpret_cast<void*>(one.function)});
    }
    std::ranges::stable_sort(*all, {}, &Export::name);
    return all;
  }();
  return *exports;
}

}  // namespace tessera::fake_cuda
