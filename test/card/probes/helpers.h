// SPDX-License-Identifier: Apache-2.0
// What several tables of steps make: code, streams, graphs, shareable memory. Each throws Missing
// where the driver lacks a function. One thread.
#pragma once

#include <string>

#include "card/probes/driver.h"

namespace tessera::card {

// A module's text with a kernel `empty`, a kernel `spin` of so many ns, and a variable `table` of
// so many bytes (0: none) that `empty` writes to.
std::string Ptx(uint64_t table_bytes);
// The same in a fat binary.
std::string FatBinary(uint64_t table_bytes);
// In a file of the part's scratch directory; its path.
std::string PtxFile(uint64_t table_bytes);

// A kernel that nobody asked for by name, so that a driver that loads lazily has not loaded it.
CUresult UnaskedKernel(CUmodule module, CUfunction* function);
// A kernel that takes as long as it is told to, of the current context. Null: it was refused.
CUfunction SpinKernel();
CUresult Spin(CUfunction kernel, uint64_t ns, unsigned blocks = 1, CUstream stream = nullptr);
CUstream NewStream();
void Synchronize();  // whatever the current context has to do
CUgraph NewGraph();

// Memory of the first device that may be handed on by a descriptor.
CUmemAllocationProp Pinned();
CUresult NewShareable(CUmemGenericAllocationHandle* handle, uint64_t bytes);
int Export(CUmemGenericAllocationHandle handle);  // -1: it was refused
// Maps it where nothing is. 0: it was refused.
CUdeviceptr Map(CUmemGenericAllocationHandle handle, uint64_t bytes);
CUresult Unmap(CUdeviceptr address, uint64_t bytes);

CUmemPoolProps PoolOf(CUmemAllocationHandleType shared_by);
uint64_t OfPool(CUmemoryPool pool, CUmemPool_attribute attribute);

// A green context with some of the first device's multiprocessors.
CUresult NewGreen(CUgreenCtx* green);

}  // namespace tessera::card
