// SPDX-License-Identifier: Apache-2.0
// The handshake of HAMi's scheduler and a node's plugin, the value of Vendor::node_handshake.
// From 2.8 on NVIDIA's plugin writes none; a scheduler up to 2.7 wants "Reported ..." every 30
// seconds. Ascend's plugin always writes it.
// Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::hami {

enum class HandshakeState : uint8_t {
  kNone,        // missing or unknown
  kRequesting,  // the scheduler asks the plugin to report
  kReported,    // the plugin has reported
  kDeleted,     // the scheduler has dropped the node
};

struct Handshake {
  HandshakeState state = HandshakeState::kNone;
  // The written time, read as UTC: the scheduler writes its local time without a zone. Nothing if
  // it cannot be read; `state` is valid even then.
  std::optional<Wall> time{};
  bool operator==(const Handshake&) const = default;
};

// "Requesting_2026-08-21 09:30:00", "Deleted_...", "Reported 2026-08-21 09:30:00.1 +0000 UTC ...".
Handshake ReadHandshake(std::string_view value);

// `running`: how long the program has run.
std::string WriteReported(Wall now, Duration running);
// "Reported_2026.08.21 09:30:00", as Ascend's plugin writes it.
std::string WriteAscendReported(Wall now);

}  // namespace tessera::hami
