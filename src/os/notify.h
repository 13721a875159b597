// SPDX-License-Identifier: Apache-2.0
// Reports the service's state to systemd: sd_notify(3), one datagram to $NOTIFY_SOCKET. Written
// here because Debian 12 has no static libsystemd. Any thread.
#pragma once

#include <string_view>

namespace tessera::os {

// `state` is "READY=1", "STOPPING=1" or "STATUS=...". Without $NOTIFY_SOCKET it does nothing.
void NotifyServiceManager(std::string_view state);

}  // namespace tessera::os
