// SPDX-License-Identifier: Apache-2.0
#include "kubelet/channel.h"

#include "kubelet/callback_threads.h"

namespace tessera::kubelet {

std::shared_ptr<grpc::Channel> FreshChannel(const std::string& socket_path) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("unix:" + socket_path, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace tessera::kubelet
