// SPDX-License-Identifier: Apache-2.0
#include "card/probes/peer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "card/probes/helpers.h"
#include "card/probes/watch.h"

namespace tessera::card {
namespace {

constexpr int kOther = 4;  // the descriptor at which the peer is told

// What an order calls there.
constexpr const char* kFunctions[] = {
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuIpcOpenMemHandle_v2",
    "cuIpcOpenMemHandle",
    "cuIpcCloseMemHandle",
    "cuMemCreate",
    "cuMemImportFromShareableHandle",
    "cuMemUnmap",
    "cuMemPoolImportFromShareableHandle",
    "cuMemPoolImportPointer",
    "cuModuleLoadData",
    "cuLaunchKernel",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
};

// With a descriptor beside it, unless that is -1. False: the other one is gone.
bool Send(int socket, const Message& message, int file) {
  iovec part{const_cast<Message*>(&message), sizeof message};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (file >= 0) {
    head.msg_control = room;
    head.msg_controllen = sizeof room;
    cmsghdr* const header = CMSG_FIRSTHDR(&head);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(socket, &head, MSG_NOSIGNAL) == sizeof message;
}

bool Receive(int socket, Message& message, int& file) {
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = room;
  head.msg_controllen = sizeof room;
  file = -1;
  if (recvmsg(socket, &head, MSG_WAITALL) != sizeof message) return false;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&head)) {
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
  }
  return true;
}

void* AsPointer(int number) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(number));
}

CUresult Import(Message& message, int file) {
  CUmemGenericAllocationHandle handle = 0;
  FirstFailure mapped;
  mapped << CU(cuMemImportFromShareableHandle)(&handle, AsPointer(file),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (mapped.result != CUDA_SUCCESS) return mapped.result;
  CU_AS(cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)
  (&message.address, message.bytes, 0, 0, 0);
  mapped << CU(cuMemMap)(message.address, message.bytes, 0, handle, 0);
  CU(cuMemRelease)(handle);
  return mapped.result;
}

// `file`: the one that came; then the one to answer with.
CUresult Obey(Message& message, int& file) {
  static CUmemoryPool pool = nullptr;
  static CUfunction spin = nullptr;
  constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  constexpr unsigned kWithPeers = 1;
  const auto handle = [&](auto& out) -> auto& {
    std::memcpy(&out, message.data, sizeof out);
    return out;
  };
  CUipcMemHandle ipc{};
  CUmemPoolPtrExportData piece{};
  const int given = file;
  file = -1;
  switch (message.order) {
    case Order::kAllocate:
      return CU(cuMemAlloc_v2)(&message.address, message.bytes);
    case Order::kFree:
      return CU(cuMemFree_v2)(message.address);
    case Order::kOpenIpc:
      return CU(cuIpcOpenMemHandle_v2)(&message.address, handle(ipc), kWithPeers);
    case Order::kOpenIpcOld:
      return CU(cuIpcOpenMemHandle)(&message.address, handle(ipc), kWithPeers);
    case Order::kCloseIpc:
      return CU(cuIpcCloseMemHandle)(message.address);
    case Order::kCreate: {
      CUmemGenericAllocationHandle made = 0;
      const CUresult result = NewShareable(&made, message.bytes);
      if (result == CUDA_SUCCESS) file = Export(made);
      return result;
    }
    case Order::kMap: {
      const CUresult result = Import(message, given);
      close(given);
      return result;
    }
    case Order::kUnmap:
      return Unmap(message.address, message.bytes);
    case Order::kImportPool:
      return CU(cuMemPoolImportFromShareableHandle)(&pool, AsPointer(given), kFile, 0);
    case Order::kImportPiece:
      return CU(cuMemPoolImportPointer)(&message.address, pool, &handle(piece));
    case Order::kLoad:
      spin = SpinKernel();
      Spin(spin, 1'000);
      return CU(cuCtxSynchronize)();
    case Order::kSpin:
      return Spin(spin, message.bytes, 8);
    case Order::kWait:
      return CU(cuCtxSynchronize)();
    case Order::kWaitInVain:
      return CU(cuStreamSynchronize)(NewStream());
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

Peer::Peer(bool is_outside) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  socket_ = ends[0];
  pid_ = fork();
  if (pid_ == 0) {
    if (is_outside) unsetenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): one thread
    close(kWatcher);
    HandOver(ends[1], kOther);
    execl("/proc/self/exe", "memory", "peer", "0", nullptr);
    _exit(127);
  }
  close(ends[1]);
}

Peer::~Peer() {
  close(socket_);  // which ends it
  for (int i = 0; i < 1'000; ++i, usleep(1'000)) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) return;
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

CUresult Peer::Do(Message& message, int* file) const {
  int answered = -1;
  if (!Send(socket_, message, file != nullptr ? *file : -1) ||
      !Receive(socket_, message, answered)) {
    return CUDA_ERROR_UNKNOWN;
  }
  if (file != nullptr) *file = answered;
  Called().insert(kFunctions[static_cast<int>(message.order)]);
  return message.result;
}

void Peer::Tell(const Message& message) const {
  Send(socket_, message, -1);
}
void Peer::Hear(Message& message) const {
  int file = -1;
  Receive(socket_, message, file);
}

int RunPeer() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CUcontext context = nullptr;
  FirstFailure start;
  start << CU(cuInit)(0) << CU(cuDevicePrimaryCtxRetain)(&context, 0)
        << CU(cuCtxSetCurrent)(context);
  Message message{};
  for (int file = -1; Receive(kOther, message, file);) {
    try {
      message.result = start.result != CUDA_SUCCESS ? start.result : Obey(message, file);
    } catch (const Missing&) {
      message.result = CUDA_ERROR_NOT_FOUND;
    }
    if (!Send(kOther, message, file)) break;
    if (file >= 0) close(file);
  }
  CU(cuDevicePrimaryCtxRelease_v2)(0);
  return 0;
}

}  // namespace tessera::card
