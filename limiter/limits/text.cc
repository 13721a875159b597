// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/text.h"

#include <cstdio>

namespace tessera::limiter {

Text Cut(Text* rest, char separator) {
  const size_t end = rest->Find(separator);
  const Text head = rest->Until(end);
  *rest = rest->From(end + 1);
  return head;
}

Text Trim(Text text) {
  while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) text = text.From(1);
  while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
    --text.size;
  }
  return text;
}

void Copy(Text text, char* out, size_t size) {
  const Text fits = text.Until(size - 1);
  if (fits.size > 0) std::memcpy(out, fits.data, fits.size);
  out[fits.size] = '\0';
}

void Explain(char* out, size_t size, const char* where, const char* what, Text text) {
  char shown[49];
  Copy(text, shown, sizeof(shown));
  for (char* at = shown; *at != '\0'; ++at) {
    if (*at < ' ' || *at > '~') *at = '?';
  }
  const char* quote = text.size > 0 ? "'" : "";
  std::snprintf(out, size, "%s: %s%s%s%s%s", where, what, *quote != '\0' ? " " : "", quote, shown,
                quote);
}

bool ParseDecimal(Text text, uint64_t most, uint64_t* value) {
  if (text.size == 0) return false;
  uint64_t sum = 0;
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    const uint64_t digit = static_cast<uint64_t>(text.data[i] - '0');
    if (sum > (most - digit) / 10 || digit > most) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  return true;
}

}  // namespace tessera::limiter
