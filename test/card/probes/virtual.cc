// SPDX-License-Identifier: Apache-2.0
// Memory whose handle and whose addresses are made apart.
#include <unistd.h>

#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUmemGenericAllocationHandle handle = 0, other = 0;
CUdeviceptr address = 0;
int file = -1;

void ReleaseAll() {
  if (address != 0) Unmap(address, kTaken);
  for (CUmemGenericAllocationHandle* one : {&handle, &other}) {
    if (*one != 0) CU(cuMemRelease)(*one);
    *one = 0;
  }
  if (file >= 0) close(file);
  address = 0;
  file = -1;
}

CUresult MapAndRelease() {
  address = Map(handle, kTaken);
  const CUresult released = CU(cuMemRelease)(handle);
  handle = 0;
  return address != 0 ? released : CUDA_ERROR_UNKNOWN;
}

void* AsPointer(int number) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(number));
}

CUresult Import() {
  return CU(cuMemImportFromShareableHandle)(&other, AsPointer(file),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

constexpr Step kSteps[] = {
    {"cuMemCreate cuMemRelease",
     [](uint64_t bytes) {
       const CUmemAllocationProp wanted = Pinned();
       return CU(cuMemCreate)(&handle, bytes, &wanted, 0);
     },
     ReleaseAll},
    {"cuMemMap cuMemUnmap",
     [](uint64_t bytes) {
       const CUresult made = NewShareable(&handle, bytes);
       return made == CUDA_SUCCESS ? MapAndRelease() : made;
     },
     ReleaseAll, "mapped, its handle released"},
    {"cuMemRetainAllocationHandle",
     [](uint64_t bytes) {
       FirstFailure kept;
       kept << NewShareable(&handle, bytes);
       if (kept.result != CUDA_SUCCESS) return kept.result;
       kept << MapAndRelease()
            << CU(cuMemRetainAllocationHandle)(&other, reinterpret_cast<void*>(address))
            << Unmap(address, bytes);
       address = 0;
       return kept.result;
     },
     ReleaseAll, "unmapped, its handle retained"},
    {"cuMemExportToShareableHandle cuMemImportFromShareableHandle",
     [](uint64_t bytes) {
       FirstFailure imported;
       imported << NewShareable(&handle, bytes);
       if (imported.result != CUDA_SUCCESS) return imported.result;
       file = Export(handle);
       return (imported << Import()).result;
     },
     ReleaseAll, "imported where it was made"},
    {"cuMemExportToShareableHandle",
     [](uint64_t bytes) {
       const CUresult made = NewShareable(&handle, bytes);
       if (made != CUDA_SUCCESS) return made;
       file = Export(handle);
       const CUresult released = CU(cuMemRelease)(handle);
       handle = 0;
       return released;
     },
     [] {
       if (file >= 0) Import();
       ReleaseAll();
     },
     "a descriptor alone has it"},
    {"cuImportExternalMemory cuDestroyExternalMemory",
     [](uint64_t bytes) {
       const CUresult made = NewShareable(&handle, bytes);
       if (made != CUDA_SUCCESS) return made;
       CUDA_EXTERNAL_MEMORY_HANDLE_DESC what{};
       what.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
       what.handle.fd = Export(handle);
       what.size = bytes;
       CUexternalMemory memory = nullptr;
       const CUresult imported = CU(cuImportExternalMemory)(&memory, &what);
       Say("destroyed " + std::to_string(CU(cuDestroyExternalMemory)(memory)));
       if (imported != CUDA_SUCCESS) close(what.handle.fd);
       return imported;
     },
     ReleaseAll, "of a descriptor of CUDA's own"},
};

}  // namespace

std::span<const Step> VirtualSteps() {
  return kSteps;
}

}  // namespace tessera::card
