// SPDX-License-Identifier: Apache-2.0
// Every name that the driver's library exports. What no other file has is here, and answers that it
// is not supported. The types of the functions do not matter here, so none is declared.
#include "cuda/exports.h"

#include <algorithm>

namespace {
constexpr int kNotSupported = 801;
}  // namespace

// The linker takes another file's function before a weak one.
#define CUDA_FUNCTION(name, suffix, version)                                   \
  extern "C" __attribute__((visibility("default"), weak)) int name##suffix() { \
    return kNotSupported;                                                      \
  }
#include "cuda/functions.def"
#include "cuda/graph_functions.def"
#undef CUDA_FUNCTION

namespace tessera::fake_cuda {
namespace {

// Constants: a list of strings that a function fills takes a compiler the better part of a minute.
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
