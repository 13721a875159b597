// SPDX-License-Identifier: Apache-2.0
// What the server takes out of a request: the first line is its target, the rest its body. And what
// our client writes into a query is what the server reads.

#include "http/request.h"

#include <event2/http.h>

#include <memory>

#include "http/wire.h"
#include "test/fuzz/fuzz.h"

using tessera::Result;
using tessera::fuzz::Require;
using tessera::http::Request;

namespace {

struct FreeUri {
  void operator()(evhttp_uri* uri) const { evhttp_uri_free(uri); }
};

// As libevent's server does; one that it does not take reaches nobody.
Result<Request> Read(const std::string& target, std::string body) {
  const std::unique_ptr<evhttp_uri, FreeUri> uri(
      evhttp_uri_parse_with_flags(target.c_str(), EVHTTP_URI_NONCONFORMANT));
  if (uri == nullptr) return tessera::Fail(tessera::Reason::kInvalid, "no target");
  return tessera::http::ReadRequest("POST", evhttp_uri_get_path(uri.get()),
                                    evhttp_uri_get_query(uri.get()), std::move(body));
}

void CheckWhatTheClientWrites(const std::string& value) {
  const Request request{"GET", "/explain", {{"device", value}}, ""};
  const std::string line = tessera::http::WriteRequest(request, "host");
  const size_t begin = line.find(' ') + 1;
  const auto read = Read(line.substr(begin, line.find(' ', begin) - begin), "");
  if (value.find('\0') == value.npos) {
    Require(read.has_value() && read->query == request.query, "the query is the client's");
  } else {
    Require(!read, "what no name can hold is refused");
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
  return 0;
}
