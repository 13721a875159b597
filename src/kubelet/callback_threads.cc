// SPDX-License-Identifier: Apache-2.0
#include "kubelet/callback_threads.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "kubelet/grpc_log.h"

namespace tessera::kubelet {
namespace {

// Listens nowhere; having a callback service is what makes a server need the threads.
struct IdleServer {
  IdleServer() {
    TakeGrpcLog();
    // Debian builds Abseil's mutexes so that each of gRPC's takes part in a search for deadlocks,
    // under one lock for all threads: a twentieth of a server's time.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service);
    server = builder.BuildAndStart();
  }
  grpc::CallbackGenericService service;
  std::unique_ptr<grpc::Server> server;
};

}  // namespace

void KeepCallbackThreads() {
  // Never deleted: that would wait for the threads while the process ends. Volatile, so that the
  // compiler keeps the unread pointer, without which the leak checker takes the server for lost.
  static IdleServer* volatile kept = new IdleServer;
  (void)kept;
}

}  // namespace tessera::kubelet
