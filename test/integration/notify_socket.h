// SPDX-License-Identifier: Apache-2.0
// The service manager's end of NOTIFY_SOCKET. One thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "agent_fixture.h"
#include "os/fd.h"

namespace tessera {

class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    timeval limit{.tv_sec = kLimit.count() / 1'000, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  // Waits for the next message. With MSG_DONTWAIT in `flags`, "" if there is none.
  std::string Next(int flags = 0) {
    char text[256];
    ssize_t n = recv(fd_.get(), text, sizeof text, flags);
    return n < 0 ? "" : std::string(text, static_cast<size_t>(n));
  }

 private:
  os::Fd fd_;
};

}  // namespace tessera
