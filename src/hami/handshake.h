// SPDX-License-Identifier: Apache-2.0
// The handshake of HAMi's scheduler and a node's plugin, the value of Vendor::node_handshake.
// From 2.8 on plugins write none; a scheduler up to 2.7 wants "Reported ..." every 30 seconds.
// Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::hami {

enum class HandshakeState : uint8_t {
  kNone,        // missing, or something else
  kRequesting,  // the scheduler wants to hear of the plugin
  kReported,    // the plugin was there
  kDeleted,     // the scheduler has given the node up
};

struct Handshake {
  HandshakeState state = HandshakeState::kNone;
  // As it is written, taken for UTC: the scheduler writes its local time without its zone. Nothing
  // where none can be read, which says nothing else.
  std::optional<Wall> time{};
  bool operator==(const Handshake&) const = default;
};

// "Requesting_2026-08-21 09:30:00", "Deleted_...", "Reported 2026-08-21 09:30:00.1 +0000 UTC ...".
Handshake ReadHandshake(std::string_view value);

// `running`: for how long the program has.
std::string WriteReported(Wall now, Duration running);

}  // namespace tessera::hami
