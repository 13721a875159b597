// SPDX-License-Identifier: Apache-2.0
// Parses an HTTP/1.1 answer as it arrives. Body bytes are passed on at once, whatever the transfer
// encoding. Pure. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::http {

class ReplyParser {
 public:
  static constexpr size_t kMaxHeaders = 64 << 10;  // bytes

  ReplyParser();
  ~ReplyParser();

  // Parses the next bytes and appends body bytes to `body`. kInvalid if this is no HTTP answer.
  Status Add(std::string_view bytes, std::string& body);
  // The connection has ended. kInvalid if the answer is incomplete.
  Status End();

  int status() const;                                         // 0: not received yet
  bool done() const;                                          // the answer is complete
  bool keeps_connection() const;                              // the connection can carry another
  const std::map<std::string, std::string>& headers() const;  // lower-case names

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
