// SPDX-License-Identifier: Apache-2.0
#include "hami/handshake.h"

#include <algorithm>

#include "hami/go_time.h"

namespace tessera::hami {
namespace {

constexpr std::string_view kReportedWord = "Reported ";
constexpr size_t kDateTimeSize = 19;

// The time after the first '_'.
std::optional<Wall> StampOf(std::string_view value) {
  const size_t line = value.find('_');
  if (line == std::string_view::npos) return std::nullopt;
  return ParseDateTime(value.substr(line + 1));
}

}  // namespace

Handshake ReadHandshake(std::string_view value) {
  // The word may be anywhere in the value, as for HAMi.
  if (value.find("Requesting") != std::string_view::npos) {
    return {HandshakeState::kRequesting, StampOf(value)};
  }
  if (value.starts_with("Deleted")) return {HandshakeState::kDeleted, StampOf(value)};
  if (!value.starts_with("Reported")) return {};
  if (!value.starts_with(kReportedWord)) return {HandshakeState::kReported, StampOf(value)};
  return {HandshakeState::kReported,
          ParseDateTime(value.substr(kReportedWord.size(), kDateTimeSize))};
}

std::string WriteReported(Wall now, Duration running) {
  return std::string(kReportedWord) + FormatNow(now, running);
}

std::string WriteAscendReported(Wall now) {
  std::string time = FormatDateTime(now);
  std::ranges::replace(time, '-', '.');
  return "Reported_" + time;
}

}  // namespace tessera::hami
