// SPDX-License-Identifier: Apache-2.0
// A server's reply, whole and in two parts, and an address from the configuration.

#include "http/http.h"
#include "http/reply_parser.h"
#include "http/target.h"
#include "os/address.h"
#include "test/fuzz/fuzz.h"

using tessera::Status;
using tessera::fuzz::Require;
using tessera::http::ReplyParser;

namespace {

struct Answer {
  bool good = false;
  int status = 0;
  std::string body;
  bool operator==(const Answer&) const = default;
};

Answer Read(std::string_view first, std::string_view rest) {
  ReplyParser parser;
  Answer answer;
  Status read = parser.Add(first, answer.body);
  if (read) read = parser.Add(rest, answer.body);
  if (read) read = parser.End();
  answer.good = read.has_value();
  answer.status = parser.status();
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  const Answer answer = Read(text, "");
  Require(answer.body.size() <= size, "no byte comes from nowhere");
  if (answer.good) {
    Require(answer.status >= 100 && answer.status <= 999, "a status has three digits");
    Require(answer == Read(text.substr(0, size / 2), text.substr(size / 2)), "parts are the whole");
    tessera::http::FailureIn({answer.status, "", answer.body});
  }
  const auto address = tessera::os::ParseAddress(text);
  Require(!address || address->length > 0, "an address has a length");
  for (const char letter : tessera::http::PercentEncode(text)) {
    Require(letter > ' ' && letter <= '~', "encoded text is plain");
  }
  return 0;
}
