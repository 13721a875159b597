// SPDX-License-Identifier: Apache-2.0
// HTTP requests to the agent's server. The first line is a request's target, the rest its body. The
// server must read a query as our client writes it. The whole text is also read as raw bytes from a
// connection.

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

std::string Said(const std::optional<tessera::http::Reading>& reading) {
  if (!reading) return "";
  if (const auto* asked = std::get_if<tessera::http::ParsedRequest>(&*reading)) {
    return asked->request.path + asked->request.body;
  }
  return std::to_string(std::get<tessera::http::Response>(*reading).status);
}

// Reads the text whole and in two parts: the result must be the same. More bytes must not change a
// decision that was made.
void CheckWhole(const std::string& text) {
  using tessera::http::Takes;
  constexpr Takes kAll{.posts = true, .header = 512, .body = 256, .chunks = true, .requests = 9};
  for (const Takes& takes : {Takes::kQuestions, Takes::kOrders, kAll}) {
    tessera::http::RequestReader whole(takes);
    tessera::http::RequestReader parts(takes);
    const auto all = whole.Add(text);
    auto some = parts.Add(text.substr(0, text.size() / 2));
    Require(!some || (all && some->index() == all->index()), "what was decided stands");
    Require(parts.size() <= text.size(), "no byte is kept twice");
    if (!some) some = parts.Add(text.substr(text.size() / 2));
    Require(Said(some) == Said(all), "parts are the whole");
    const auto* asked = all ? std::get_if<tessera::http::ParsedRequest>(&*all) : nullptr;
    Require(asked == nullptr || asked->request.body.size() <= takes.body, "a body is bounded");
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
