// SPDX-License-Identifier: Apache-2.0
#include "http/wire.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

TEST(WriteRequest, GetHasNoBody) {
  Request request{.path = "/inventory", .query = {}, .body = ""};

  EXPECT_EQ(WriteRequest(request, "localhost"),
            "GET /inventory HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

TEST(WriteRequest, QueryIsEncoded) {
  Request request{
      .path = "/explain", .query = {{"device", "a.com/b c/7"}, {"x", "&=%\n"}}, .body = ""};

  EXPECT_EQ(WriteRequest(request, "localhost"),
            "GET /explain?device=a.com%2Fb%20c%2F7&x=%26%3D%25%0A HTTP/1.0\r\n"
            "Host: localhost\r\nConnection: close\r\n\r\n");
}

TEST(WriteRequest, PostSaysHowLongItsBodyIs) {
  Request request{.method = "POST", .path = "/cordon", .query = {}, .body = R"({"device":"7"})"};

  EXPECT_EQ(WriteRequest(request, "localhost"),
            "POST /cordon HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"device\":\"7\"}");
}

TEST(ParseResponse, StatusTypeAndBody) {
  auto response = ParseResponse(
      "HTTP/1.1 200 OK\r\ncontent-TYPE:  text/plain \r\nContent-Length: 5\r\n\r\nhello");

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->content_type, "text/plain");
  EXPECT_EQ(response->body, "hello");
}

TEST(ParseResponse, WithoutLengthTheStreamsEndEndsTheBody) {
  auto response = ParseResponse("HTTP/1.0 404\r\n\r\nnot\nhere");

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "not\nhere");
}

TEST(ParseResponse, WhatFollowsTheBodyIsCutOff) {
  auto response = ParseResponse("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.0 500");

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "ok");
}

TEST(ParseResponse, BareLineFeedsAreTaken) {
  auto response = ParseResponse("HTTP/1.0 200 OK\nContent-Length: 2\n\nok");

  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "ok");
}

struct Bad {
  const char* bytes;
  Reason reason;
  const char* message;
};

TEST(ParseResponse, WhatIsNotAWholeResponseIsAnError) {
  const Bad cases[] = {
      {"", Reason::kUnavailable, "the connection ended before an answer came"},
      {"HTTP/1.0 200", Reason::kUnavailable, "the connection ended before an answer came"},
      {"SSH-2.0-x\r\n\r\n", Reason::kInvalid, "the answer is not HTTP"},
      {"HTTP/1.0 2000 OK\r\n\r\n", Reason::kInvalid, "the answer is not HTTP"},
      {"HTTP/1.0 099 OK\r\n\r\n", Reason::kInvalid, "the answer is not HTTP"},
      {"HTTP/1.0 2x0 OK\r\n\r\n", Reason::kInvalid, "the answer is not HTTP"},
      {"HTTP/2.0 200 OK\r\n\r\n", Reason::kInvalid, "the answer is not HTTP"},
      {"HTTP/1.0 200 OK\r\nA: b\r\n", Reason::kUnavailable,
       "the answer ended early, in its headers"},
      {"HTTP/1.0 200 OK\r\nwords\r\n\r\n", Reason::kInvalid,
       "the answer has a header line without a name"},
      {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok", Reason::kUnavailable,
       "the answer ended early, after 2 of 3 bytes"},
      {"HTTP/1.0 200 OK\r\nContent-Length: -2\r\n\r\nok", Reason::kInvalid,
       "the answer has no sensible length"},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", Reason::kInvalid,
       "the answer has no sensible length"},
      {"HTTP/1.0 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok", Reason::kInvalid,
       "the answer has no sensible length"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
       Reason::kInvalid, "the answer is encoded in a way that was not asked for"},
  };
  for (const Bad& bad : cases) {
    auto response = ParseResponse(bad.bytes);
    ASSERT_FALSE(response.has_value()) << bad.bytes;
    EXPECT_EQ(response.error(), (Error{bad.reason, bad.message})) << bad.bytes;
  }
}

}  // namespace
}  // namespace tessera::http
