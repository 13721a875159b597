// SPDX-License-Identifier: Apache-2.0
// Modules from PTX text, or from a fat binary of it. Each ".entry" is a kernel. Each ".global"
// array takes memory of the device, and a module's code takes the option module-mib. With lazy
// loading, the code is loaded when a function or variable is first looked up by name or used.
//
// A kernel named `spin` or `..._spin` runs for as many ns as its only argument, a u64, says. Any
// other kernel runs for 1000 ns.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>

#include "cuda/contexts.h"
#include "cuda/launches.h"
#include "nvml/faults.h"

struct CUmod_st {
  struct Global {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  CUcontext context = nullptr;
  std::deque<CUfunc_st> functions;
  std::map<std::string, Global> globals;
  uint64_t code = 0;  // the code's address; 0: not loaded, or module-mib is 0
};

namespace tessera::fake_cuda {
namespace {

bool IsOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string NameAt(std::string_view text, size_t at) {
  while (at < text.size() && !IsOfName(text[at])) ++at;
  size_t end = at;
  while (end < text.size() && IsOfName(text[end])) ++end;
  return std::string(text.substr(at, end - at));
}

// Parses a line like ".global .align 4 .b8 table[65536];".
void AddGlobal(CUmod_st& module, std::string_view line) {
  line = line.substr(0, line.find_first_of(";="));
  const size_t bracket = line.find('[');
  if (bracket == std::string_view::npos) return;
  size_t begin = bracket;
  while (begin > 0 && IsOfName(line[begin - 1])) --begin;
  uint64_t bytes = 0;
  std::from_chars(line.data() + bracket + 1, line.data() + line.size(), bytes);
  if (line.find(".b64") != std::string_view::npos || line.find("64 ") != std::string_view::npos) {
    bytes *= 8;
  } else if (line.find("32 ") != std::string_view::npos) {
    bytes *= 4;
  }
  if (bytes > 0) module.globals[std::string(line.substr(begin, bracket - begin))] = {0, bytes};
}

void Parse(CUmod_st& module, std::string_view text) {
  for (size_t at = text.find(".entry"); at != std::string_view::npos;
       at = text.find(".entry", at + 1)) {
    CUfunc_st& function = module.functions.emplace_back();
    function.module = &module;
    function.name = NameAt(text, at + 6);
    function.spins = function.name == "spin" || function.name.ends_with("_spin");
  }
  for (size_t at = text.find(".global ."); at != std::string_view::npos;
       at = text.find(".global .", at + 1)) {
    AddGlobal(module, text.substr(at, text.find('\n', at) - at));
  }
}

void Drop(CUmod_st& module) {
  for (const auto& [name, global] : module.globals) {
    if (global.address != 0) FreeBlock(global.address);
  }
  if (module.code != 0) FreeBlock(module.code);
}

// Loads the code once, whichever thread comes first. False: the card has no room for it.
bool LoadCode(CUmod_st& module) {
  static std::mutex mutex;
  const uint64_t bytes = TheDriver()->node.options.module_bytes;
  if (bytes == 0) return true;
  const std::lock_guard lock(mutex);
  if (module.code != 0) return true;
  module.code = module.context->heap.Allocate(bytes);
  return module.code != 0;
}

// False: the card has no room for all of it. Then the caller must call Drop.
bool Fill(CUmod_st& module) {
  for (auto& [name, global] : module.globals) {
    global.address = module.context->heap.Allocate(global.bytes);
    if (global.address == 0) return false;
  }
  return TheDriver()->node.options.lazy != 0 || LoadCode(module);
}

// The PTX of an image. Of a fat binary, only the first entry counts, after two headers.
const char* TextIn(const char* image) {
  constexpr uint16_t kPtx = 1;
  struct {
    uint32_t magic;
    uint16_t version, size;
    uint64_t bytes;
  } header;
  struct {
    uint16_t kind, version;
    uint32_t size;
  } entry;
  if (std::strncmp(image, "\x50\xED\x55\xBA", 4) != 0) return image;
  std::memcpy(&header, image, sizeof header);
  static_assert(sizeof header == 16 && sizeof entry == 8);
  std::memcpy(&entry, image + header.size, sizeof entry);
  return entry.kind == kPtx ? image + header.size + entry.size : "";
}

CUresult Load(CUmodule* out, const char* image) {
  NEED_CONTEXT(context);
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NEED_NO_CAPTURE();
  auto module = std::make_unique<CUmod_st>();
  module->context = context;
  Parse(*module, TextIn(image));
  if (module->functions.empty() && module->globals.empty()) return kInvalidImage;
  if (!Fill(*module)) {
    Drop(*module);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = module.release();
  return CUDA_SUCCESS;
}

CUresult LoadFile(CUmodule* out, const char* path) {
  std::string text;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr CUresult kFileNotFound{301};
  if (!nvml::ReadText(path, text)) return kFileNotFound;
  return Load(out, text.c_str());
}

CUresult FunctionOf(CUfunction* out, CUmodule module, const char* name, bool is_loaded) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = std::ranges::find(module->functions, name, &CUfunc_st::name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  if (is_loaded && !LoadCode(*module)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = &*found;
  return CUDA_SUCCESS;
}

CUresult GlobalOf(CUdeviceptr* out, size_t* bytes, CUmodule module, const char* name) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = module->globals.find(name);
  if (found == module->globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (!LoadCode(*module)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (out != nullptr) *out = found->second.address;
  if (bytes != nullptr) *bytes = found->second.bytes;
  return CUDA_SUCCESS;
}

CUresult AllOf(CUfunction* out, unsigned count, CUmodule module) {
  if (out == nullptr || module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && i < module->functions.size(); ++i) {
    out[i] = &module->functions[i];
  }
  return CUDA_SUCCESS;
}

CUresult Unload(CUmodule module) {
  if (Current() == nullptr) return Missing();
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (module->context->active) Drop(*module);  // else its memory went with the context
  delete module;
  return CUDA_SUCCESS;
}

}  // namespace

CUcontext ContextOf(CUfunction function) {
  return function->module->context;
}
bool HasCode(CUfunction function) {
  return TheDriver()->node.options.lazy == 0 || LoadCode(*function->module);
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuModuleLoad(CUmodule* out, const char* path) {
  return LoadFile(out, path);
}
FAKE_EXPORT CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return Load(out, static_cast<const char*>(image));
}
FAKE_EXPORT CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned /*count*/,
                                        CUjit_option* /*options*/, void** /*values*/) {
  return Load(out, static_cast<const char*>(image));
}
FAKE_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return Load(out, static_cast<const char*>(image));
}
FAKE_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return Unload(module);
}
FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  if (Current() == nullptr) return Missing();
  return FunctionOf(out, module, name, true);
}
FAKE_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule module) {
  if (Current() == nullptr) return Missing();
  return AllOf(out, count, module);
}
FAKE_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* out) {
  NEED_DRIVER(driver);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = driver->node.options.lazy != 0 ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuModuleGetFunctionCount(unsigned* out, CUmodule module) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* out, size_t* bytes, CUmodule module,
                                          const char* name) {
  if (Current() == nullptr) return Missing();
  return GlobalOf(out, bytes, module, name);
}

// CUDA 2's function with 32-bit numbers: a 64-bit address is cut, so only the size is of use.
FAKE_EXPORT CUresult cuModuleGetGlobal(CUdeviceptr_v1* out, unsigned* bytes, CUmodule module,
                                       const char* name) {
  if (Current() == nullptr) return Missing();
  CUdeviceptr address = 0;
  size_t size = 0;
  const CUresult result = GlobalOf(&address, &size, module, name);
  if (result != CUDA_SUCCESS) return result;
  if (out != nullptr) *out = static_cast<CUdeviceptr_v1>(address);
  if (bytes != nullptr) *bytes = static_cast<unsigned>(size);
  return CUDA_SUCCESS;
}

// In this fake a library is a module of the context that is current when it is loaded. A kernel is
// the module's function.
FAKE_EXPORT CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option* /*options*/,
                                       void** /*values*/, unsigned /*count*/,
                                       CUlibraryOption* /*library_options*/,
                                       void** /*library_values*/, unsigned /*library_count*/) {
  return Load(reinterpret_cast<CUmodule*>(out), static_cast<const char*>(image));
}
FAKE_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path,
                                           CUjit_option* /*options*/, void** /*values*/,
                                           unsigned /*count*/, CUlibraryOption* /*library_options*/,
                                           void** /*library_values*/, unsigned /*library_count*/) {
  return LoadFile(reinterpret_cast<CUmodule*>(out), path);
}
FAKE_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  return Unload(reinterpret_cast<CUmodule>(library));
}
// A module that a program gets from a library has its code loaded.
FAKE_EXPORT CUresult cuLibraryGetModule(CUmodule* out, CUlibrary library) {
  if (Current() == nullptr) return Missing();
  if (out == nullptr || library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto module = reinterpret_cast<CUmodule>(library);
  if (!LoadCode(*module)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = module;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr* out, size_t* bytes, CUlibrary library,
                                        const char* name) {
  if (Current() == nullptr) return Missing();
  return GlobalOf(out, bytes, reinterpret_cast<CUmodule>(library), name);
}
FAKE_EXPORT CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return FunctionOf(reinterpret_cast<CUfunction*>(out), reinterpret_cast<CUmodule>(library), name,
                    false);
}
FAKE_EXPORT CUresult cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
  if (out == nullptr || kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto function = reinterpret_cast<CUfunction>(kernel);
  if (!HasCode(function)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = function;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary library) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return AllOf(reinterpret_cast<CUfunction*>(out), count, reinterpret_cast<CUmodule>(library));
}
FAKE_EXPORT CUresult cuFuncLoad(CUfunction function) {
  if (Current() == nullptr) return Missing();
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return HasCode(function) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE_EXPORT CUresult cuFuncGetModule(CUmodule* out, CUfunction function) {
  if (out == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = function->module;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuFuncGetName(const char** out, CUfunction function) {
  if (out == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = function->name.c_str();
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuFuncGetAttribute(int* out, int attribute, CUfunction function) {
  constexpr int kMostThreads = 0;
  if (out == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!HasCode(function)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = attribute == kMostThreads ? 1024 : 0;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction function, int /*attribute*/, int /*value*/) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return HasCode(function) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
