// SPDX-License-Identifier: Apache-2.0
// A gRPC server on one of kubelet's own sockets. It can also be killed; then its file stays, as a
// killed process's does. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace tessera::kubelet::embedded {

class SocketServer {
 public:
  // Binds `path` in place of an existing file, as kubelet does, and serves at once.
  static Result<std::unique_ptr<SocketServer>> Start(const std::string& path,
                                                     std::shared_ptr<grpc::Service> service);
  ~SocketServer();

  // Ends all connections and calls, and waits for the handlers. `abruptly`: the socket's file
  // stays.
  void Close(bool abruptly);

 private:
  SocketServer(std::string path, std::shared_ptr<grpc::Service> service,
               std::unique_ptr<grpc::Server> server);

  const std::string path_;
  std::shared_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  bool closed_ = false;
};

}  // namespace tessera::kubelet::embedded
