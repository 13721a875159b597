// SPDX-License-Identifier: Apache-2.0
// An answer of HTTP/1.1, read as it comes: nothing of a body waits here, however it is sent. Pure;
// one thread.
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

  // The next bytes; what of them is of the body is added to `body`. kInvalid where this is no
  // answer.
  Status Add(std::string_view bytes, std::string& body);
  // The connection has ended: kInvalid where the answer is not whole.
  Status End();

  int status() const;                                         // 0: it has not come yet
  bool done() const;                                          // it is whole
  bool keeps_connection() const;                              // another may follow it
  const std::map<std::string, std::string>& headers() const;  // names in small letters

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
