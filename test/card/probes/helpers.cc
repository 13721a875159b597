// SPDX-License-Identifier: Apache-2.0
#include "card/probes/helpers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "spin/kernel.h"

namespace tessera::card {

std::string Ptx(uint64_t table_bytes) {
  const std::string spin = kSpinModule;
  const size_t entry = spin.find(".visible");
  std::string text = spin.substr(0, entry);
  std::string write;
  if (table_bytes != 0) {
    text += ".visible .global .align 4 .b8 table[" + std::to_string(table_bytes) + "];\n";
    write = "  .reg .b32 %one;\n  mov.u32 %one, 1;\n  st.global.u32 [table], %one;\n";
  }
  return text + ".visible .entry empty()\n{\n" + write + "  ret;\n}\n" + spin.substr(entry);
}

// One entry of PTX behind its header, behind the binary's own.
std::string FatBinary(uint64_t table_bytes) {
  struct Header {
    uint32_t magic = 0xBA55ED50;
    uint16_t version = 1;
    uint16_t size = 16;
    uint64_t bytes = 0;  // of what follows
  } header;
  struct Entry {
    uint16_t kind = 1;  // PTX
    uint16_t version = 0x0101;
    uint32_t size = 64;
    uint64_t bytes = 0;
    uint32_t compressed = 0, options = 0;
    uint16_t minor = 0, major = 6;
    uint32_t architecture = 50, name_at = 0, name_bytes = 0;
    uint64_t flags = 0x11;  // 64 bits, Linux
    uint64_t zero = 0, uncompressed = 0;
  } entry;
  static_assert(sizeof(Header) == 16 && sizeof(Entry) == 64);
  std::string text = Ptx(table_bytes);
  text.resize((text.size() + 8) / 8 * 8, '\0');
  entry.bytes = text.size();
  header.bytes = sizeof entry + text.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&entry), sizeof entry) + text;
}

std::string PtxFile(uint64_t table_bytes) {
  const char* const scratch = std::getenv("CARD_SCRATCH");  // NOLINT(concurrency-mt-unsafe)
  const std::string path = std::string(scratch != nullptr ? scratch : "/tmp") + "/table.ptx";
  if (FILE* const file = std::fopen(path.c_str(), "w")) {
    std::fputs(Ptx(table_bytes).c_str(), file);
    std::fclose(file);
  }
  return path;
}

CUresult UnaskedKernel(CUmodule module, CUfunction* function) {
  CUfunction all[2] = {};
  const CUresult result =
      CU_AS(cuModuleEnumerateFunctions, CUfunction*, unsigned, CUmodule)(all, 2, module);
  for (const CUfunction one : all) {
    const char* name = "";
    CU(cuFuncGetName)(&name, one);
    if (name != nullptr && std::strcmp(name, "empty") == 0) *function = one;
  }
  return result;
}

CUfunction SpinKernel() {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  if (CU(cuModuleLoadData)(&module, Ptx(0).c_str()) == CUDA_SUCCESS) {
    CU(cuModuleGetFunction)(&kernel, module, "spin");
  }
  return kernel;
}

CUresult Spin(CUfunction kernel, uint64_t ns, unsigned blocks, CUstream stream) {
  void* arguments[] = {&ns};
  return CU(cuLaunchKernel)(kernel, blocks, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

CUstream NewStream() {
  constexpr unsigned kNonBlocking = 1;
  CUstream stream = nullptr;
  CU(cuStreamCreate)(&stream, kNonBlocking);
  return stream;
}

void Synchronize() {
  CU(cuCtxSynchronize)();
}

CUgraph NewGraph() {
  CUgraph graph = nullptr;
  CU_AS(cuGraphCreate, CUgraph*, unsigned)(&graph, 0);
  return graph;
}

CUmemAllocationProp Pinned() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return wanted;
}

CUresult NewShareable(CUmemGenericAllocationHandle* handle, uint64_t bytes) {
  CUmemAllocationProp wanted = Pinned();
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return CU(cuMemCreate)(handle, bytes, &wanted, 0);
}

int Export(CUmemGenericAllocationHandle handle) {
  int file = -1;
  CU(cuMemExportToShareableHandle)(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return file;
}

CUdeviceptr Map(CUmemGenericAllocationHandle handle, uint64_t bytes) {
  CUdeviceptr address = 0;
  CU_AS(cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)
  (&address, bytes, 0, 0, 0);
  if (address == 0 || CU(cuMemMap)(address, bytes, 0, handle, 0) == CUDA_SUCCESS) return address;
  CU(cuMemAddressFree)(address, bytes);
  return 0;
}

CUresult Unmap(CUdeviceptr address, uint64_t bytes) {
  const CUresult result = CU(cuMemUnmap)(address, bytes);
  CU(cuMemAddressFree)(address, bytes);
  return result;
}

CUmemPoolProps PoolOf(CUmemAllocationHandleType shared_by) {
  CUmemPoolProps wanted{};
  wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.handleTypes = shared_by;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return wanted;
}

uint64_t OfPool(CUmemoryPool pool, CUmemPool_attribute attribute) {
  uint64_t value = 0;
  CU(cuMemPoolGetAttribute)(pool, attribute, &value);
  return value;
}

CUresult NewGreen(CUgreenCtx* green) {
  // Larger than any version's.
  struct alignas(8) Resource {
    char bytes[512];
  } all{}, some{};
  constexpr int kMultiprocessors = 1;
  constexpr unsigned kWithDefaultStream = 1, kFewest = 8;
  unsigned groups = 1;
  CUdevResourceDesc description = nullptr;
  FirstFailure made;
  made << CU_AS(cuDeviceGetDevResource, CUdevice, void*, int)(0, &all, kMultiprocessors)
       << CU_AS(cuDevSmResourceSplitByCount, void*, unsigned*, const void*, void*, unsigned,
                unsigned)(&some, &groups, &all, nullptr, 0, kFewest)
       << CU_AS(cuDevResourceGenerateDesc, CUdevResourceDesc*, void*, unsigned)(&description, &some,
                                                                                1)
       << CU(cuGreenCtxCreate)(green, description, 0, kWithDefaultStream);
  return made.result;
}

}  // namespace tessera::card
