// SPDX-License-Identifier: Apache-2.0
#include "http/target.h"

#include <fmt/core.h>

namespace tessera::http {

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string WriteTarget(const std::string& path, const std::map<std::string, std::string>& query) {
  std::string target = path;
  char separator = '?';
  for (const auto& [name, value] : query) {
    target += fmt::format("{}{}={}", separator, PercentEncode(name), PercentEncode(value));
    separator = '&';
  }
  return target;
}

}  // namespace tessera::http
