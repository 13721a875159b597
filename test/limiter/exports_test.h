// SPDX-License-Identifier: Apache-2.0
// For tests of memory that processes of a container hand to each other. A test leads its processes
// through their steps one after the other.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "limiter/memory_test.h"

namespace tessera::limiter {

class ExportsTest : public MemoryTest {
 protected:
  // Another process of the container, in step with its parent or sibling: each waits for a message.
  class Peer {
   public:
    Peer() {
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
      // A process that waits for a failed one must fail too.
      const timeval patience{.tv_sec = 30, .tv_usec = 0};
      for (const int end : ends_) {
        EXPECT_EQ(setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
      }
    }
    // Both sides make these calls in the same order, and act between them.
    template <typename T>
    void Send(const T& value, int end) const {
      EXPECT_EQ(write(ends_[end], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    }
    template <typename T>
    T Receive(int end) const {
      T value{};
      EXPECT_EQ(read(ends_[end], &value, sizeof value), static_cast<ssize_t>(sizeof value));
      return value;
    }
    void SendFile(int file, int end) const {
      FileMessage message;
      cmsghdr* const header = CMSG_FIRSTHDR(&message.head);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &file, sizeof file);
      EXPECT_EQ(sendmsg(ends_[end], &message.head, 0), 1);
    }
    int ReceiveFile(int end) const {
      FileMessage message;
      EXPECT_EQ(recvmsg(ends_[end], &message.head, 0), 1);
      int file = -1;
      if (cmsghdr* const header = CMSG_FIRSTHDR(&message.head)) {
        std::memcpy(&file, CMSG_DATA(header), sizeof file);
      }
      return file;
    }

   private:
    // One byte, and room for a descriptor.
    struct FileMessage {
      FileMessage() {
        head.msg_iov = &part;
        head.msg_iovlen = 1;
        head.msg_control = room;
        head.msg_controllen = sizeof room;
      }
      FileMessage(const FileMessage&) = delete;
      FileMessage& operator=(const FileMessage&) = delete;

      char byte = 0;
      iovec part{&byte, 1};
      alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
      msghdr head{};
    };

    int ends_[2] = {-1, -1};
  };
  static constexpr int kHere = 0, kThere = 1;  // the ends of a Peer

  // Starts a process with a context that runs the body; a body that never ends must be killed.
  template <typename Body>
  pid_t StartPeer(Body body) {
    return node_.Start([&](const fake_cuda::Library& cuda) {
      library_ = &cuda;
      Prepare(cuda);
      body();
      if (HasFailure()) _exit(1);
    });
  }
  static void ExpectEnd(pid_t pid, int status = 0) {
    int ended = -1;
    EXPECT_EQ(waitpid(pid, &ended, 0), pid);
    EXPECT_EQ(ended, status);
  }

  using Handle = CUmemGenericAllocationHandle;
  static constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

  CUresult TryCreate(Handle* handle, uint64_t bytes) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = kFile;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return cuMemCreate(handle, bytes, &wanted, 0);
  }
  Handle Create(uint64_t bytes) {
    Handle handle = 0;
    EXPECT_EQ(TryCreate(&handle, bytes), CUDA_SUCCESS);
    return handle;
  }
  int Export(Handle handle) {
    int file = -1;
    EXPECT_EQ(cuMemExportToShareableHandle(&file, handle, kFile, 0), CUDA_SUCCESS);
    return file;
  }
  Handle Import(int file) {
    Handle handle = 0;
    EXPECT_EQ(cuMemImportFromShareableHandle(
                  &handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)), kFile),
              CUDA_SUCCESS);
    return handle;
  }
  // Maps the handle's memory and releases the handle.
  CUdeviceptr Map(Handle handle, uint64_t bytes) {
    const CUdeviceptr address = Addresses(bytes);
    EXPECT_EQ(cuMemMap(address, bytes, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    return address;
  }
  CUdeviceptr Allocate(uint64_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
  CUipcMemHandle HandleOf(CUdeviceptr pointer) {
    CUipcMemHandle handle{};
    EXPECT_EQ(cuIpcGetMemHandle(&handle, pointer), CUDA_SUCCESS);
    return handle;
  }
  CUdeviceptr Open(const CUipcMemHandle& handle) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuIpcOpenMemHandle_v2(&pointer, handle, 1), CUDA_SUCCESS);
    return pointer;
  }
};

}  // namespace tessera::limiter
