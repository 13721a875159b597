// SPDX-License-Identifier: Apache-2.0
#include <time.h>
#include <unistd.h>

#include "card/probes/helpers.h"
#include "card/probes/questions.h"

namespace tessera::card {
namespace {

long long Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::string Code(CUresult result) {
  return std::to_string(static_cast<int>(result));
}

long long Free() {
  size_t free = 0, total = 0;
  CU(cuMemGetInfo_v2)(&free, &total);
  return static_cast<long long>(free);
}

// The primary context, current. What a process before this one had is the card's by then.
void Start() {
  CUcontext context = nullptr;
  CU(cuInit)(0);
  CU(cuDevicePrimaryCtxRetain)(&context, 0);
  CU(cuCtxSetCurrent)(context);
  Free();
  usleep(100'000);
}

CUresult GreenStream(CUgreenCtx* green, CUstream* stream) {
  constexpr unsigned kNonBlocking = 1;
  FirstFailure made;
  made << NewGreen(green);
  if (made.result != CUDA_SUCCESS) return made.result;
  made << CU_AS(cuGreenCtxStreamCreate, CUstream*, CUgreenCtx, unsigned, int)(stream, *green,
                                                                              kNonBlocking, 0);
  return made.result;
}

std::string EventsInAGreenStream() {
  Start();
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  const CUresult made = GreenStream(&green, &stream);
  if (made != CUDA_SUCCESS) return "no green context: " + Code(made);
  CUevent before = nullptr, after = nullptr;
  CU(cuEventCreate)(&before, 0);
  CU(cuEventCreate)(&after, 0);
  const CUresult first = CU(cuEventRecord)(before, stream);
  const CUresult spun = Spin(SpinKernel(), 1'000'000, 1, stream);
  const CUresult second = CU(cuEventRecord)(after, stream);
  const CUresult waited = CU(cuEventSynchronize)(after);
  float ms = 0;
  const CUresult elapsed = CU(cuEventElapsedTime)(&ms, before, after);
  return "recorded " + Code(first) + ", kernel " + Code(spun) + ", recorded " + Code(second) +
         ", waited for " + Code(waited) + ", elapsed " + Code(elapsed) +
         (ms >= 1 ? ", its time is told" : ", its time is not told");
}

std::string WaitInGreenDestroy() {
  Start();
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  const CUresult made = GreenStream(&green, &stream);
  if (made != CUDA_SUCCESS) return "no green context: " + Code(made);
  const CUresult spun = Spin(SpinKernel(), 500'000'000, 1, stream);
  const long long from = Now();
  const CUresult destroyed = CU(cuGreenCtxDestroy)(green);
  const long long took = Now() - from;
  return "kernel " + Code(spun) + ", destroyed " + Code(destroyed) +
         (took > 400'000'000 ? ": it waits" : ": it does not wait") + "; then the stream says " +
         Code(CU(cuStreamQuery)(stream));
}

std::string NodeOf(CUgraphNode node, CUkernel kernel) {
  CUDA_KERNEL_NODE_PARAMS said{};
  const CUresult result = CU(cuGraphKernelNodeGetParams_v2)(node, &said);
  CUcontext current = nullptr;
  CU(cuCtxGetCurrent)(&current);
  const char* const context = said.ctx == nullptr   ? "null"
                              : said.ctx == current ? "current"
                                                    : "other";
  const char* const which = said.kern == kernel    ? "the kernel"
                            : said.kern == nullptr ? "null"
                                                   : "other";
  return Code(result) + ": ctx " + context + ", kern " + which + ", func " +
         (said.func == nullptr ? "null" : "set");
}

std::string ContextOfANode() {
  Start();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  FirstFailure got;
  got << CU(cuLibraryLoadData)(&library, Ptx(0).c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (got.result == CUDA_SUCCESS) got << CU(cuLibraryGetKernel)(&kernel, library, "empty");
  if (got.result != CUDA_SUCCESS) return "no library: " + Code(got.result);
  CUDA_KERNEL_NODE_PARAMS wanted{};
  wanted.kern = kernel;
  wanted.gridDimX = wanted.gridDimY = wanted.gridDimZ = 1;
  wanted.blockDimX = wanted.blockDimY = wanted.blockDimZ = 1;
  CUgraphNode added = nullptr;
  const CUgraph graph = NewGraph();
  const CUresult result = CU(cuGraphAddKernelNode_v2)(&added, graph, nullptr, 0, &wanted);
  std::string answer = "added " + Code(result);
  if (result == CUDA_SUCCESS) answer += ", says " + NodeOf(added, kernel);
  // And by a launch of it that is captured.
  const CUstream stream = NewStream();
  CUgraph captured = nullptr;
  FirstFailure capture;
  capture << CU_AS(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)(
                 stream, CU_STREAM_CAPTURE_MODE_RELAXED)
          << CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, stream,
                                nullptr, nullptr)
          << CU_AS(cuStreamEndCapture, CUstream, CUgraph*)(stream, &captured);
  size_t count = 1;
  CUgraphNode node = nullptr;
  if (capture.result == CUDA_SUCCESS) capture << CU(cuGraphGetNodes)(captured, &node, &count);
  answer += "; captured " + Code(capture.result);
  return capture.result == CUDA_SUCCESS ? answer + ", says " + NodeOf(node, kernel) : answer;
}

// What went since, in MiB.
std::string Gone(long long before) {
  return std::to_string((before - Free()) / (1 << 20)) + " MiB";
}

std::string FreeAfterRelease() {
  Start();
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  CUmemGenericAllocationHandle handle = 0;
  const long long before = Free();
  const CUresult made = NewShareable(&handle, kBytes);
  if (made != CUDA_SUCCESS) return "none: " + Code(made);
  std::string answer = "created: " + Gone(before);
  CU(cuMemRelease)(handle);
  answer += ", released: " + Gone(before);
  NewShareable(&handle, kBytes);
  const CUdeviceptr address = Map(handle, kBytes);
  CU(cuMemRelease)(handle);
  answer += "; mapped and released: " + Gone(before);
  Unmap(address, kBytes);
  answer += ", unmapped: " + Gone(before);
  return answer;
}

std::string ModulesAndSmallBlocks() {
  Start();
  CUdeviceptr warm = 0, block = 0;
  CU(cuMemAlloc_v2)(&warm, 1);
  CU(cuMemFree_v2)(warm);
  const auto load = [](CUmodule* module) {
    CUfunction kernel = nullptr;
    FirstFailure loaded;
    loaded << CU(cuModuleLoadData)(module, Ptx(0).c_str());
    if (loaded.result != CUDA_SUCCESS) return loaded.result;
    loaded << CU(cuModuleGetFunction)(&kernel, *module, "empty")
           << CU(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    Synchronize();
    return loaded.result;
  };
  CUmodule modules[3] = {};
  long long before = Free();
  const CUresult loaded = load(&modules[0]);
  std::string answer = "a first module " + Code(loaded) + ": " + Gone(before);
  before = Free();
  load(&modules[1]);
  answer += ", a second: " + Gone(before);
  before = Free();
  CU(cuMemAlloc_v2)(&block, 1);
  answer += ", a block of a byte: " + Gone(before);
  before = Free();
  load(&modules[2]);
  answer += ", a module beside it: " + Gone(before);
  before = Free();
  CU(cuMemFree_v2)(block);
  return answer + "; the block freed: " + Gone(before);
}

std::string PlaceOf(CUmemoryPool pool) {
  int type = -1, id = -1, kind = -1;
  const CUresult result = CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_LOCATION_TYPE, &type);
  CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_LOCATION_ID, &id);
  CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE, &kind);
  return Code(result) + ", type " + std::to_string(type) + ", id " + std::to_string(id) +
         ", of kind " + std::to_string(kind);
}

std::string PlacesOfManagedPools() {
  Start();
  std::string answer;
  const CUmemLocation places[] = {{CU_MEM_LOCATION_TYPE_INVALID, 0},
                                  {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                  {CU_MEM_LOCATION_TYPE_HOST, 0}};
  for (const CUmemLocation& place : places) {
    CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    wanted.location = place;
    CUmemoryPool pool = nullptr;
    const CUresult made = CU(cuMemPoolCreate)(&pool, &wanted);
    answer += "asked for type " + std::to_string(place.type) + ": " + Code(made);
    if (made == CUDA_SUCCESS) answer += ", says " + PlaceOf(pool);
    answer += "; ";
  }
  CUmemoryPool own = nullptr;
  CU(cuDeviceGetDefaultMemPool)(&own, 0);
  return answer + "the device's own says " + PlaceOf(own);
}

std::string Version() {
  Start();
  int value = 0;
  CU(cuDriverGetVersion)(&value);
  return std::to_string(value);
}

constexpr Question kQuestions[] = {
    {"version of CUDA that the driver serves", Version},
    {"events of a primary context in a green stream", EventsInAGreenStream},
    {"cuGreenCtxDestroy with work in a stream", WaitInGreenDestroy},
    {"a graph's node of a library's kernel", ContextOfANode},
    {"free memory after cuMemRelease", FreeAfterRelease},
    {"modules and small blocks", ModulesAndSmallBlocks},
    {"where managed pools say they are", PlacesOfManagedPools},
};

}  // namespace

std::span<const Question> DriverQuestions() {
  return kQuestions;
}

}  // namespace tessera::card
