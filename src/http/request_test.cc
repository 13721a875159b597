// SPDX-License-Identifier: Apache-2.0
#include "http/request.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

using Query = std::map<std::string, std::string>;

const Error kRefusal{Reason::kInvalid, "the query cannot be decoded"};

Result<Request> Read(const std::string& target) {
  return ReadTarget("GET", target, "");
}

TEST(RequestTest, WithoutAPathItIsTheRoot) {
  EXPECT_EQ(Read("")->path, "/");
  EXPECT_EQ(Read("http://node:9440")->path, "/");
}

TEST(RequestTest, AQueryIsDecoded) {
  EXPECT_EQ(Read("/explain?device=a.com%2Fnpu/7+%26%2B&x=")->query,
            (Query{{"device", "a.com/npu/7 &+"}, {"x", ""}}));
}

TEST(RequestTest, OfTwoValuesWithOneNameTheLastCounts) {
  EXPECT_EQ(Read("/explain?device=1&device=2")->query, (Query{{"device", "2"}}));
}

TEST(RequestTest, AQueryWithoutNamesAndValuesIsRefused) {
  for (const char* query : {"device", "=1", "&a=1"}) {
    const auto request = Read(std::string("/explain?") + query);
    ASSERT_FALSE(request) << query;
    EXPECT_EQ(request.error(), kRefusal) << query;
  }
}

TEST(RequestTest, AValueIsNotCutShortAtAZero) {
  const auto request = Read("/explain?device=0%00x");

  ASSERT_FALSE(request);
  EXPECT_EQ(request.error(), kRefusal);
  EXPECT_EQ(Read("/explain?device=%2500")->query, (Query{{"device", "%00"}}));
}

// "METHOD PATH BODY", or "STATUS MESSAGE" for a refusal. Empty while incomplete.
std::string Outcome(std::string_view bytes, const Takes& takes) {
  const auto reading = RequestReader(takes).Add(bytes);
  if (!reading) return "";
  if (const auto* asked = std::get_if<ParsedRequest>(&*reading)) {
    const Request& request = asked->request;
    return (asked->head ? "HEAD " : request.method + " ") + request.path + " " + request.body;
  }
  const auto& response = std::get<Response>(*reading);
  return std::to_string(response.status) + " " + FailureIn(response).message;
}
std::string Question(std::string_view bytes) {
  return Outcome(bytes, Takes::kQuestions);
}
std::string Order(std::string_view bytes) {
  return Outcome(bytes, Takes::kOrders);
}

TEST(RequestTest, AQuestionIsReadOnceItsHeadersHaveCome) {
  const std::string whole = "GET /healthz HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_EQ(Question(whole.substr(0, n)), "") << n;

  EXPECT_EQ(Question(whole), "GET /healthz ");
  EXPECT_EQ(Question("GET / HTTP/1.0\r\n\r\n"), "GET / ");
  EXPECT_EQ(Question("HEAD /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), "HEAD /metrics ");
}

TEST(RequestTest, AnOrderWhereNoneIsTakenIsRefusedAtItsFirstLine) {
  EXPECT_EQ(Question("POST /cordon HTTP/1.1\r\n"),
            "405 orders are accepted on the control socket only");
  EXPECT_EQ(Question("PUT /cordon HTTP/1.1\r\n"), "405 only GET, HEAD and POST are accepted");
  EXPECT_EQ(Order("DELETE /cordon HTTP/1.1\r\n"), "405 only GET, HEAD and POST are accepted");
}

TEST(RequestTest, ABodyIsRefusedAsSoonAsAQuestionAnnouncesIt) {
  const std::string line = "GET / HTTP/1.1\r\n";

  EXPECT_EQ(Question(line + "content-LENGTH:1048576\r\n\r\n"), "413 only POST may have a body");
  EXPECT_EQ(Order(line + "Content-Length: 1\r\n\r\n"), "413 only POST may have a body");
  EXPECT_EQ(Question(line + "Transfer-Encoding: chunked\r\n\r\n"),
            "411 a chunked body is not accepted: send a Content-Length");
}

TEST(RequestTest, AnOrderIsReadOnceItsBodyHasCome) {
  const std::string head = "POST /cordon HTTP/1.1\r\nContent-Length: 4\r\n\r\n";

  EXPECT_EQ(Order(head + "bod"), "");
  EXPECT_EQ(Order(head + "body"), "POST /cordon body");
  EXPECT_EQ(Order(head + "body and more"), "POST /cordon body");
  EXPECT_EQ(Order("POST /uncordon HTTP/1.1\r\n\r\n"), "POST /uncordon ");
  EXPECT_EQ(Order("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n"),
            "413 the body is over 1 MiB");
}

TEST(RequestTest, HeadersEndAtEightKibibytes) {
  const std::string head = "GET / HTTP/1.1\r\nX: ";
  const std::string end = "\r\n\r\n";
  const std::string fits(kMaxHeader - head.size() - end.size(), 'x');
  const std::string refusal = "431 the request's headers are over 8 KiB";

  EXPECT_EQ(Question(head + fits + end), "GET / ");
  EXPECT_EQ(Question(head + fits + "x" + end), refusal);
  EXPECT_EQ(Question(head + fits + "xxxxx"), refusal);
  EXPECT_EQ(Question(std::string(kMaxHeader, 'x')), "");
  EXPECT_EQ(Question(std::string(kMaxHeader + 1, 'x')), refusal);
}

TEST(RequestTest, OtherThanHttp1IsRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view line :
       {""sv, "GET /"sv, "GET / HTTP/2.0"sv, " / HTTP/1.1"sv, "GET  HTTP/1.1 x"sv,
        "GET / x HTTP/1.1"sv, "GET /\0 HTTP/1.1"sv, "GET / HTTP/1.1xyz"sv, "GET / HTTP/1."sv,
        "GET /\n HTTP/1.1"sv, "\x16\x03\x01"sv}) {
    EXPECT_EQ(Question(std::string(line) + "\r\n\r\n"), "400 the request is not HTTP/1") << line;
  }
}

TEST(RequestTest, HeadersThatCanBeReadInTwoWaysAreRefused) {
  for (const char* header :
       {"Content-Length: 1\r\nContent-Length: 1", "Content-Length : 1", "Content-Length: -1",
        "Content-Length: 1x", "Content-Length:", "Content-Length: 99999999999999999999", "no colon",
        ": x", "A: b\r\n folded", "A: b\nContent-Length: 1", "Content-Length\x0b: 1",
        "Content-Length: 1\x0c", "A(b): c"}) {
    EXPECT_EQ(Order(std::string("POST / HTTP/1.1\r\n") + header + "\r\n\r\n"),
              "400 the request's headers cannot be read")
        << header;
  }
}

}  // namespace
}  // namespace tessera::http
