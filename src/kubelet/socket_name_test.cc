// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_name.h"

#include <gtest/gtest.h>

#include "os/unix_socket.h"

namespace tessera::kubelet {
namespace {

const std::string kUsual = "/var/lib/kubelet/device-plugins";

TEST(SocketName, TellsWhoseItIs) {
  const std::string path = NewSocketPath(kUsual, "tessera", "dummy.com/npu");
  EXPECT_EQ(path.substr(0, path.size() - 22), kUsual + "/tessera-dummy.com_npu");
  EXPECT_EQ(path.substr(path.size() - 5), ".sock");
}

TEST(SocketName, IsNewEveryTime) {
  EXPECT_NE(NewSocketPath(kUsual, "tessera", "dummy.com/npu"),
            NewSocketPath(kUsual, "tessera", "dummy.com/npu"));
}

TEST(SocketName, KeepsTheEndOfALongResourceNameAsFarAsThereIsRoom) {
  const std::string microk8s = "/var/snap/microk8s/common/var/lib/kubelet/device-plugins";
  const std::string path =
      NewSocketPath(microk8s, "tessera", "accelerators.hardware.example.com/large-npu");
  EXPECT_EQ(path.size(), os::kMaxSocketPath);
  EXPECT_EQ(path.substr(0, path.size() - 22), microk8s + "/tessera-xample.com_large-npu");
}

TEST(SocketName, IsKnownAgain) {
  const std::string path = NewSocketPath(kUsual, "tessera", "dummy.com/npu");
  const std::string name = path.substr(kUsual.size() + 1);
  EXPECT_TRUE(IsSocketName(name, "tessera"));
  EXPECT_FALSE(IsSocketName(name, "tess"));
  EXPECT_FALSE(IsSocketName("tessera-dummy.com_npu.json", "tessera"));
  EXPECT_FALSE(IsSocketName("kubelet.sock", "tessera"));
  EXPECT_FALSE(IsSocketName("tessera-dummy.com_npu.sock", "tessera"));
  EXPECT_FALSE(IsSocketName("tessera-0123456789abcdef.sock", "tessera"));
}

}  // namespace
}  // namespace tessera::kubelet
