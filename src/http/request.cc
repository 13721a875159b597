// SPDX-License-Identifier: Apache-2.0
#include "http/request.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <map>
#include <utility>

namespace tessera::http {
namespace {

Result<std::map<std::string, std::string>> ReadQuery(const char* text) {
  std::map<std::string, std::string> query;
  if (text == nullptr || *text == 0) return query;
  // libevent's values are C strings: a zero would silently cut one short.
  const bool zero = std::string_view(text).find("%00") != std::string_view::npos;
  evkeyvalq pairs{};
  if (zero || evhttp_parse_query_str(text, &pairs) != 0) {
    return Fail(Reason::kInvalid, "the query cannot be decoded");
  }
  for (const evkeyval* pair = pairs.tqh_first; pair != nullptr; pair = pair->next.tqe_next) {
    query[pair->key] = pair->value;
  }
  evhttp_clear_headers(&pairs);
  return query;
}

}  // namespace

Result<Request> ReadRequest(std::string_view method, const char* path, const char* query,
                            std::string body) {
  return Request{std::string(method), path == nullptr || *path == 0 ? "/" : path,
                 TRY(ReadQuery(query)), std::move(body)};
}

}  // namespace tessera::http
