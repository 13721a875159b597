// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/callback_threads.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "kubelet/start_grpc.h"

namespace tessera::kubelet::embedded {
namespace {

// Has no port; its callback service makes it need the threads.
struct IdleServer {
  IdleServer() {
    StartGrpc();
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service);
    server = builder.BuildAndStart();
  }
  grpc::CallbackGenericService service;
  std::unique_ptr<grpc::Server> server;
};

}  // namespace

void KeepCallbackThreads() {
  // Never deleted: that would wait for the threads at the process's end. Volatile, so that the
  // compiler keeps the unread pointer. Without it the leak checker reports the server.
  static IdleServer* volatile kept = new IdleServer;
  (void)kept;
}

}  // namespace tessera::kubelet::embedded
