// SPDX-License-Identifier: Apache-2.0
// Tells systemd how the service is doing (sd_notify(3): a datagram to $NOTIFY_SOCKET). libsystemd
// has no static library in Debian 12, and the protocol is one write. Any thread.
#pragma once

#include <string_view>

namespace tessera::os {

// "READY=1", "STOPPING=1", "STATUS=...". Without $NOTIFY_SOCKET it does nothing.
void NotifyServiceManager(std::string_view state);

}  // namespace tessera::os
