// SPDX-License-Identifier: Apache-2.0
// Loaded code, its variables, and the heaps of kernels. The driver does not report their size. It
// is measured as the drop in free memory during the call; code without room is unloaded. With lazy
// loading that is the call that asks for a function.
#include "limiter/memory/launched_code.h"
#include "limiter/memory/lazy.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// Bytes. Such a size is measured twice, since a neighbour may have allocated at that moment.
constexpr uint64_t kLarge = uint64_t{128} << 20;

// Unloads code that seems large and loads it again. The smaller result counts, unless memory that
// came free may have hidden some of it.
template <typename Call, typename Undo>
CUresult LoadAgain(CUdevice device, bool is_hidden, uint64_t* bytes, Call call, Undo undo) {
  const Watch unloading(device);
  undo();
  const uint64_t given = unloading.Given();
  const Watch loading(device);
  const CUresult result = call();
  const uint64_t taken = loading.Taken();
  const uint64_t second = given > taken ? given : taken;
  if (is_hidden ? second > *bytes : second < *bytes) *bytes = second;
  return result;
}

template <typename Key, typename Call, typename Undo>
CUresult LoadOwn(Sort sort, Key* out, Call call, Undo undo) {
  const CUdevice device = CurrentDevice();
  const int place = out == nullptr || device < 0 ? -1 : PlaceOfDevice(device);
  if (place < 0) return call();
  if (place == kDeniedDevice) return CUDA_ERROR_OUT_OF_MEMORY;
  CountLate(place);
  const Watch watch(device);
  CUresult result = Patiently(call);
  uint64_t bytes = result == CUDA_SUCCESS ? watch.Taken() : 0;
  const bool is_hidden = watch.is_disturbed();
  if (result == CUDA_SUCCESS && (bytes >= kLarge || is_hidden)) {
    result = LoadAgain(device, is_hidden, &bytes, call, undo);
  }
  if (result != CUDA_SUCCESS) return result;
  if (ReserveOrTrim(place, bytes, Kind::kModule)) {
    const Holding holding{.bytes = bytes,
                          .other = reinterpret_cast<uint64_t>(CurrentOwner()),
                          .device = place,
                          .references = 1};
    if (Remember(sort, reinterpret_cast<uint64_t>(*out), holding)) return CUDA_SUCCESS;
    Release(place, bytes, Kind::kModule);
  }
  undo();
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// call(out), undo(what).
template <typename Key, typename Call, typename Undo>
CUresult Load(Sort sort, Key* answer, Call call, Undo undo) {
  return Answered(answer, [&](Key* out) {
    return LoadOwn(sort, out, [&] { return call(out); }, [&] { return undo(*out); });
  });
}

// Uncounts memory that a context gave back from its heaps.
void TakeFromHeap(int place, uint64_t bytes) {
  Holding holding;
  Table* const table = TheTable();
  const auto context = reinterpret_cast<uint64_t>(CurrentOwner());
  if (table == nullptr || !table->Find(Sort::kHeap, context, &holding)) return;
  const uint64_t less = bytes < holding.bytes ? bytes : holding.bytes;
  if (table->Count(Sort::kHeap, context, 0, 0, -less, &holding)) {
    Release(place, less, Kind::kModule);
  }
}

}  // namespace

CUresult cuModuleLoad(CUmodule* out, const char* path) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kModule, out, [&](CUmodule* own) { return driver.cuModuleLoad(own, path); },
      driver.cuModuleUnload);
}
CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kModule, out, [&](CUmodule* own) { return driver.cuModuleLoadData(own, image); },
      driver.cuModuleUnload);
}
CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kModule, out,
      [&](CUmodule* own) { return driver.cuModuleLoadDataEx(own, image, count, options, values); },
      driver.cuModuleUnload);
}
CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kModule, out, [&](CUmodule* own) { return driver.cuModuleLoadFatBinary(own, image); },
      driver.cuModuleUnload);
}
CUresult cuModuleUnload(CUmodule module) {
  ForgetCode(nullptr);
  return Free(Sort::kModule, reinterpret_cast<uint64_t>(module),
              [&] { return TheDriver().cuModuleUnload(module); });
}

CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option* options, void** values,
                           unsigned count, CUlibraryOption* library_options, void** library_values,
                           unsigned library_count) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kLibrary, out,
      [&](CUlibrary* own) {
        return driver.cuLibraryLoadData(own, image, options, values, count, library_options,
                                        library_values, library_count);
      },
      driver.cuLibraryUnload);
}
CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option* options,
                               void** values, unsigned count, CUlibraryOption* library_options,
                               void** library_values, unsigned library_count) {
  const Driver& driver = TheDriver();
  return Load(
      Sort::kLibrary, out,
      [&](CUlibrary* own) {
        return driver.cuLibraryLoadFromFile(own, path, options, values, count, library_options,
                                            library_values, library_count);
      },
      driver.cuLibraryUnload);
}
CUresult cuLibraryUnload(CUlibrary library) {
  ForgetCode(library);
  return Free(Sort::kLibrary, reinterpret_cast<uint64_t>(library),
              [&] { return TheDriver().cuLibraryUnload(library); });
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  return LoadMore({Sort::kModule, reinterpret_cast<uint64_t>(module)},
                  [&] { return TheDriver().cuModuleGetFunction(out, module, name); });
}
CUresult cuModuleGetGlobal(CUdeviceptr_v1* out, unsigned* bytes, CUmodule module,
                           const char* name) {
  return LoadMore({Sort::kModule, reinterpret_cast<uint64_t>(module)},
                  [&] { return TheDriver().cuModuleGetGlobal(out, bytes, module, name); });
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* out, size_t* bytes, CUmodule module, const char* name) {
  return LoadMore({Sort::kModule, reinterpret_cast<uint64_t>(module)},
                  [&] { return TheDriver().cuModuleGetGlobal_v2(out, bytes, module, name); });
}
CUresult cuLibraryGetModule(CUmodule* out, CUlibrary library) {
  return LoadMore({Sort::kLibrary, reinterpret_cast<uint64_t>(library)},
                  [&] { return TheDriver().cuLibraryGetModule(out, library); });
}
CUresult cuLibraryGetGlobal(CUdeviceptr* out, size_t* bytes, CUlibrary library, const char* name) {
  return LoadMore({Sort::kLibrary, reinterpret_cast<uint64_t>(library)},
                  [&] { return TheDriver().cuLibraryGetGlobal(out, bytes, library, name); });
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const Driver& driver = TheDriver();
  const CUdevice device = CurrentDevice();
  const int place = device < 0 ? -1 : PlaceOfDevice(device);
  size_t before = 0;
  if (place < 0 || driver.cuCtxGetLimit(&before, limit) != CUDA_SUCCESS) {
    return driver.cuCtxSetLimit(limit, value);
  }
  const Watch watch(device);
  const CUresult result = driver.cuCtxSetLimit(limit, value);
  const uint64_t bytes = watch.Taken();
  if (bytes == 0) {
    TakeFromHeap(place, watch.Given());
    return result;
  }
  if (!ReserveOrTrim(place, bytes, Kind::kModule)) {
    driver.cuCtxSetLimit(limit, before);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  AddTo({}, place, bytes);
  return result;
}
