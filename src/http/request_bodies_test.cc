// SPDX-License-Identifier: Apache-2.0
// Consecutive requests at a listener that accepts bodies of any kind.
#include <gtest/gtest.h>

#include "http/request.h"

namespace tessera::http {
namespace {

constexpr Takes kAll{.posts = true, .header = 200, .body = 8, .chunks = true, .requests = 9};
constexpr char kInChunks[] = "POST /filter HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";

// "PATH BODY", or "STATUS MESSAGE" for a refusal. Empty while incomplete.
std::string Said(std::optional<Reading> reading) {
  if (!reading) return "";
  if (const auto* asked = std::get_if<ParsedRequest>(&*reading)) {
    return asked->request.path + " " + asked->request.body;
  }
  const auto& response = std::get<Response>(*reading);
  return std::to_string(response.status) + " " + FailureIn(response).message;
}
std::string Whole(const std::string& bytes) {
  return Said(RequestReader(kAll).Add(bytes));
}
bool Keeps(const std::string& bytes) {
  return std::get<ParsedRequest>(*RequestReader(kAll).Add(bytes)).keeps;
}

TEST(RequestBodiesTest, ABodyInChunksIsPutTogether) {
  const std::string body = "3\r\nabc\r\n00005;x=\"y\"\r\ndefgh\r\n0\r\nTrailer: z\r\n\r\n";

  EXPECT_EQ(Whole(kInChunks + body), "/filter abcdefgh");
  EXPECT_EQ(Whole(kInChunks + std::string("0\r\n\r\n")), "/filter ");
}

TEST(RequestBodiesTest, AnyRequestMayComeByteByByte) {
  for (const std::string& bytes :
       {kInChunks + std::string("3\r\nabc\r\n2 \r\nde\r\n0\r\nA: b\r\n\r\n"),
        std::string("POST /filter HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde")}) {
    RequestReader reader(kAll);
    for (const char each : bytes.substr(0, bytes.size() - 1)) {
      EXPECT_EQ(Said(reader.Add({&each, 1})), "");
    }
    EXPECT_EQ(Said(reader.Add(bytes.substr(bytes.size() - 1))), "/filter abcde");
    EXPECT_FALSE(reader.begun());
  }
}

TEST(RequestBodiesTest, AChunkThatWouldBeTooMuchIsRefusedWhenItIsAnnounced) {
  EXPECT_EQ(Whole(kInChunks + std::string("9\r\n")), "413 the body is over 8 bytes");
  EXPECT_EQ(Whole(kInChunks + std::string("8\r\nabcdefgh\r\n1\r\n")),
            "413 the body is over 8 bytes");
  EXPECT_EQ(Whole(kInChunks + std::string("ffffffffffffffff\r\n")), "413 the body is over 8 bytes");
}

TEST(RequestBodiesTest, ChunksThatAreNoneAreRefused) {
  for (const std::string& body : {std::string("\r\n"), std::string("x\r\n"), std::string("-1\r\n"),
                                  std::string("0x1\r\n"), std::string("10000000000000000\r\n"),
                                  std::string("1\r\nab\r\n"), std::string("\n1\r\na\r\n"),
                                  std::string("1;\n\r\na\r\n"), "1;" + std::string(1'025, 'x')}) {
    EXPECT_EQ(Whole(kInChunks + body), "400 the body's chunks cannot be read") << body;
  }
}

TEST(RequestBodiesTest, TrailersAreBounded) {
  std::string trailers;
  for (int i = 0; i < 9; ++i) trailers += "A: " + std::string(1'000, 'x') + "\r\n";

  EXPECT_EQ(Whole(kInChunks + ("0\r\n" + trailers)), "400 the body's chunks cannot be read");
}

TEST(RequestBodiesTest, WhatStandsBehindTheSizesOfChunksIsBounded) {
  constexpr Takes kLong{.posts = true, .body = 100, .chunks = true};
  RequestReader reader(kLong);
  std::string bytes = kInChunks;
  for (int i = 0; i < 9; ++i) bytes += "1;" + std::string(1'000, 'x') + "\r\na\r\n";

  EXPECT_EQ(Said(reader.Add(bytes)), "400 the body's chunks cannot be read");
}

TEST(RequestBodiesTest, ALengthThatIsTooMuchIsRefusedBeforeTheBodyComes) {
  EXPECT_EQ(Whole("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"), "413 the body is over 8 bytes");
}

TEST(RequestBodiesTest, TwoWaysToSayALengthAreRefused) {
  const std::string both = "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";

  EXPECT_EQ(Whole("POST / HTTP/1.1\r\n" + both),
            "400 a chunked body must not have a Content-Length");
  EXPECT_EQ(Whole("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n"),
            "400 the request's headers cannot be read");
}

TEST(RequestBodiesTest, OtherEncodingsAreRefused) {
  EXPECT_EQ(Whole("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            "501 the only accepted Transfer-Encoding is chunked");
}

TEST(RequestBodiesTest, AQuestionHasNoChunksEither) {
  EXPECT_EQ(Whole("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "413 only POST may have a body");
}

TEST(RequestBodiesTest, HeadersEndWhereTheListenerSays) {
  EXPECT_EQ(Whole("GET / HTTP/1.1\r\nX: " + std::string(200, 'x')),
            "431 the request's headers are over 200 bytes");
}

TEST(RequestBodiesTest, WhatComesBehindARequestIsTheNext) {
  RequestReader reader(kAll);

  EXPECT_EQ(Said(reader.Add("POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /b HTTP/1.1\r\n"
                            "\r\nGET /c")),
            "/a ab");
  EXPECT_TRUE(reader.begun());
  EXPECT_EQ(Said(reader.Add("")), "/b ");
  EXPECT_EQ(Said(reader.Add("")), "");
  EXPECT_EQ(reader.size(), 6U);
  EXPECT_EQ(Said(reader.Add(" HTTP/1.1\r\n\r\n")), "/c ");
  EXPECT_FALSE(reader.begun());
}

TEST(RequestBodiesTest, ThePeerSaysWhetherItMayAskMore) {
  EXPECT_TRUE(Keeps("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(Keeps("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(Keeps("GET / HTTP/1.1\r\nConnection: x , Close\r\n\r\n"));
  EXPECT_FALSE(Keeps("GET / HTTP/1.0\r\n\r\n"));
}

}  // namespace
}  // namespace tessera::http
