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

const std::vector<Export>& Exports() {
  static const auto* const exports = [] {
    auto* all = new std::vector<Export>{
#define CUDA_FUNCTION(name, suffix, version)                                        \
  {#name, version, std::string_view(#suffix).find("_pt") != std::string_view::npos, \
   reinterpret_cast<void*>(&name##suffix)},
#include "cuda/functions.def"
#include "cuda/graph_functions.def"
#undef CUDA_FUNCTION
    };
    std::ranges::stable_sort(*all, {}, &Export::name);
    return all;
  }();
  return *exports;
}

}  // namespace tessera::fake_cuda
