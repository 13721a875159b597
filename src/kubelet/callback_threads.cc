// SPDX-License-Identifier: Apache-2.0
#include "kubelet/callback_threads.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "kubelet/grpc_log.h"

namespace tessera::kubelet {
namespace {

// A server that listens nowhere: the least that holds the threads.
struct Holder {
  Holder() {
    TakeGrpcLog();
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service);
    server = builder.BuildAndStart();
  }
  grpc::CallbackGenericService service;
  std::unique_ptr<grpc::Server> server;
};

}  // namespace

void KeepCallbackThreads() {
  // Never destroyed: at the process's end it would wait for gRPC's threads. Volatile, so that the
  // pointer itself is kept and what it leads to is no leak.
  static Holder* volatile holder = new Holder;
  (void)holder;
}

}  // namespace tessera::kubelet
