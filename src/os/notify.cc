// SPDX-License-Identifier: Apache-2.0
#include "os/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "os/fd.h"

namespace tessera::os {

void NotifyServiceManager(std::string_view state) {
  const char* target = getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): never set by us
  if (target == nullptr || (target[0] != '/' && target[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t size = std::strlen(target);
  if (size >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, target, size);
  if (target[0] == '@') address.sun_path[0] = '\0';  // an abstract socket's name
  Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace tessera::os
