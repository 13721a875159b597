// SPDX-License-Identifier: Apache-2.0
// ASCII character classes, independent of the locale. Pure. Any thread.
#pragma once

namespace tessera {

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool IsLetter(char c) {
  return IsLower(c) || (c >= 'A' && c <= 'Z');
}
constexpr bool IsAlphanumeric(char c) {
  return IsLetter(c) || IsDigit(c);
}
constexpr char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace tessera
