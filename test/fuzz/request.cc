// SPDX-License-Identifier: Apache-2.0
// What the server takes out of a request: the first line is its target, the rest its body. And what
// our client writes into a query is what the server reads. All of it is a request as it comes, too.

#include "http/request.h"

#include "http/target.h"
#include "test/fuzz/fuzz.h"

using tessera::Result;
using tessera::fuzz::Require;
using tessera::http::Request;

namespace {

Result<Request> Read(const std::string& target, std::string body) {
  return tessera::http::ReadTarget("POST", target, std::move(body));
}

void CheckWhatTheClientWrites(const std::string& value) {
  const std::map<std::string, std::string> query{{"device", value}};
  const auto read = Read(tessera::http::WriteTarget("/explain", query), "");
  if (value.find('\0') == value.npos) {
    Require(read.has_value() && read->query == query, "the query is the client's");
  } else {
    Require(!read, "what no name can hold is refused");
  }
}

// However much of a request has come, more of it changes nothing that was decided.
void CheckWhole(const std::string& text) {
  using tessera::http::Takes;
  for (const Takes takes : {Takes::kQuestions, Takes::kOrders}) {
    const auto some = tessera::http::ReadRequest(text.substr(0, text.size() / 2), takes);
    const auto all = tessera::http::ReadRequest(text, takes);
    Require(!some || (all && some->index() == all->index()), "what was decided stands");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(tessera::fuzz::Text(data, size));
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string body = text.substr(std::min(end + 1, text.size()));
  if (const auto request = Read(text.substr(0, end), body)) {
    Require(!request->path.empty(), "a path is never empty");
    Require(request->path.find('?') == std::string::npos, "the path ends before the query");
    Require(request->body == body, "the body is what was sent");
    for (const auto& [name, value] : request->query) {
      Require(!name.empty(), "a value has a name");
      Require(name.size() + value.size() < end, "no byte comes from nowhere");
    }
  } else {
    Require(!request.error().message.empty(), "a refusal says why");
  }
  CheckWhatTheClientWrites(body);
  CheckWhole(text);
  return 0;
}
