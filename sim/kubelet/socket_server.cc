// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/socket_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <cstdio>

#include "kubelet/listen.h"
#include "os/files.h"
#include "sim/kubelet/callback_threads.h"

namespace tessera::kubelet::embedded {

Result<std::unique_ptr<SocketServer>> SocketServer::Start(const std::string& path,
                                                          std::shared_ptr<grpc::Service> service) {
  TRY(os::RemoveFile(path));
  KeepCallbackThreads();
  grpc::ServerBuilder builder;
  builder.RegisterService(service.get());
  std::unique_ptr<grpc::Server> server = TRY(ServeUnix(builder, path));
  TRY(MakePrivate(path));
  return std::unique_ptr<SocketServer>(
      new SocketServer(path, std::move(service), std::move(server)));
}

SocketServer::SocketServer(std::string path, std::shared_ptr<grpc::Service> service,
                           std::unique_ptr<grpc::Server> server)
    : path_(std::move(path)), service_(std::move(service)), server_(std::move(server)) {}

SocketServer::~SocketServer() {
  Close(false);
}

void SocketServer::Close(bool abruptly) {
  if (closed_) return;
  closed_ = true;
  // gRPC removes the path when it stops. The file of a killed server is moved away for that time.
  std::string aside = path_ + ".killed";
  if (abruptly) rename(path_.c_str(), aside.c_str());
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  if (abruptly) rename(aside.c_str(), path_.c_str());
}

}  // namespace tessera::kubelet::embedded
