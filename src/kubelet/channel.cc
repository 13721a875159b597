// SPDX-License-Identifier: Apache-2.0
#include "kubelet/channel.h"

#include "kubelet/start_grpc.h"

namespace tessera::kubelet {

std::shared_ptr<grpc::Channel> FreshChannel(const std::string& socket_path, int most_bytes) {
  StartGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(most_bytes);
  return grpc::CreateCustomChannel("unix:" + socket_path, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace tessera::kubelet
