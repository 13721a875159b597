// SPDX-License-Identifier: Apache-2.0
// Many local clients that connect and send a byte at intervals, or none. Header-only, for tests.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "os/address.h"
#include "os/descriptors.h"
#include "os/fd.h"

namespace tessera::http {

class SlowClients {
 public:
  // Connects all clients. Every second one sends `beginning`.
  SlowClients(int port, size_t count, std::string_view beginning) {
    os::RaiseDescriptorLimit();
    const auto address = os::ParseAddress(fmt::format("127.0.0.1:{}", port)).value();
    for (size_t i = 0; i < count; ++i) {
      os::Fd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(client.get(), address.get(), address.length), 0) << "client " << i;
      clients_.push_back(std::move(client));
    }
    for (size_t i = 0; i < count; i += 2) Send(clients_[i], beginning);
  }
  // Each client that has begun sends another byte. The server has closed many of them.
  void Drip() {
    for (size_t i = 0; i < clients_.size(); i += 2) Send(clients_[i], "x");
  }

 private:
  static void Send(const os::Fd& client, std::string_view bytes) {
    (void)send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  std::vector<os::Fd> clients_;
};

}  // namespace tessera::http
