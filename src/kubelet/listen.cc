// SPDX-License-Identifier: Apache-2.0
#include "kubelet/listen.h"

#include <sys/stat.h>

#include <cerrno>

#include "kubelet/start_grpc.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::kubelet {

Result<std::unique_ptr<grpc::Server>> ServeUnix(grpc::ServerBuilder& builder,
                                                const std::string& path) {
  // gRPC reports the cause of a failed bind only in its own log, and replaces an existing socket.
  // So this binds the path first, which gives the cause and refuses an existing file.
  {
    os::Fd probe = TRY(os::ListenUnix(path));
  }
  TRY(os::RemoveFile(path));
  StartGrpc();
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return Fail(Reason::kIo, "gRPC cannot listen on {}", path);
  return server;
}

Status MakePrivate(const std::string& path) {
  if (chmod(path.c_str(), 0600) != 0) return Fail(SystemError("cannot set mode of " + path, errno));
  return {};
}

}  // namespace tessera::kubelet
