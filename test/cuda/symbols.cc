// SPDX-License-Identifier: Apache-2.0
// The functions that look up other functions.
#include <algorithm>
#include <cstring>

#include "cuda/driver.h"
#include "cuda/exports.h"

namespace tessera::fake_cuda {
namespace {

using Status = CUdriverProcAddressQueryResult;

// Finds the newest version of a function that existed in that version of CUDA.
Status Find(std::string_view name, int version, bool per_thread, void*& address) {
  const auto found = std::ranges::equal_range(Exports(), name, {}, &Export::name);
  if (found.empty()) return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const Export* best = nullptr;
  for (const Export& one : found) {
    if (one.version > version || (one.per_thread && !per_thread)) continue;
    const bool better = best == nullptr || one.per_thread > best->per_thread ||
                        (one.per_thread == best->per_thread && one.version > best->version);
    if (better) best = &one;
  }
  if (best == nullptr) return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  address = best->address;
  return CU_GET_PROC_ADDRESS_SUCCESS;
}

CUresult Look(const char* name, void** address, int version, cuuint64_t flags, Status& status) {
  constexpr cuuint64_t kBoth =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const bool valid = name != nullptr && address != nullptr && flags < kBoth;
  int own = 0;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  cuDriverGetVersion(&own);
  if (version > own) return CUDA_ERROR_INVALID_VALUE;
  *address = nullptr;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  status = Find(name, version, per_thread, *address);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuGetProcAddress(const char* name, void** address, int version,
                                      cuuint64_t flags) {
  Status status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = Look(name, address, version, flags, status);
  const bool found = status == CU_GET_PROC_ADDRESS_SUCCESS;
  return result == CUDA_SUCCESS && !found ? CUDA_ERROR_NOT_FOUND : result;
}

FAKE_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** address, int version,
                                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  Status found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = Look(name, address, version, flags, found);
  if (result == CUDA_SUCCESS && status != nullptr) *status = found;
  return result;
}

// Export tables hold functions without names: the table's size, then the functions. The fake has
// one, under the UUID that the CUDA runtime asks for first.
FAKE_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* uuid) {
  static constexpr unsigned char kUuid[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  static const uintptr_t kTable[] = {2 * sizeof(uintptr_t),
                                     reinterpret_cast<uintptr_t>(&cuDriverGetVersion)};
  if (table == nullptr || uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (std::memcmp(uuid, kUuid, sizeof kUuid) != 0) return CUDA_ERROR_NOT_FOUND;
  *table = kTable;
  return CUDA_SUCCESS;
}
