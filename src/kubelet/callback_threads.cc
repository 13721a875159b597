// SPDX-License-Identifier: Apache-2.0
#include "kubelet/callback_threads.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

namespace tessera::kubelet {

// A server that listens nowhere: the least that holds the threads.
struct CallbackThreads::Impl {
  grpc::CallbackGenericService service;
  std::unique_ptr<grpc::Server> server;
};

CallbackThreads::CallbackThreads() : impl_(std::make_unique<Impl>()) {
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&impl_->service);
  impl_->server = builder.BuildAndStart();
}

CallbackThreads::~CallbackThreads() = default;

}  // namespace tessera::kubelet
