// SPDX-License-Identifier: Apache-2.0
#include "http/reply_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::http {
namespace {

// The result of an answer that arrives in pieces of this size.
struct Read {
  Status status;
  std::string body{};
  int code = 0;
  bool done = false;
  bool keeps = false;
  std::map<std::string, std::string> headers{};
};

Read ReadBy(std::string_view text, size_t piece, bool ends = false) {
  ReplyParser parser;
  Read read;
  while (!text.empty() && read.status) {
    read.status = parser.Add(text.substr(0, piece), read.body);
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (read.status && ends) read.status = parser.End();
  read.code = parser.status();
  read.done = parser.done();
  read.keeps = parser.keeps_connection();
  read.headers = parser.headers();
  return read;
}

// The reason of the refusal.
std::string WhyNot(std::string_view text, size_t piece, bool ends = false) {
  const Read read = ReadBy(text, piece, ends);
  return read.status ? "it was not" : read.status.error().message;
}

TEST(ReplyParserTest, PiecesMakeNoDifference) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Some: a b\r\n\r\n"
      "5;some=ext\r\nabcde\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  const std::string counted = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nabcde";
  for (size_t piece = 1; piece <= chunked.size(); ++piece) {
    const Read read = ReadBy(chunked, piece);
    EXPECT_TRUE(read.status && read.done && read.keeps) << piece;
    EXPECT_EQ(read.code, 200);
    EXPECT_EQ(read.body, "abcde0123456789") << piece;
    EXPECT_EQ(read.headers, (std::map<std::string, std::string>{{"transfer-encoding", "chunked"},
                                                                {"x-some", "a b"}}));

    const Read other = ReadBy(counted, piece);
    EXPECT_TRUE(other.status && other.done && other.keeps) << piece;
    EXPECT_EQ(other.code, 404);
    EXPECT_EQ(other.body, "abcde") << piece;
  }
}

TEST(ReplyParserTest, OfAChunkThatHasNotEndedIsReadWhatHasCome) {
  const Read read =
      ReadBy("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\nabc", 1000);

  EXPECT_TRUE(read.status);
  EXPECT_EQ(read.body, "abc");
  EXPECT_FALSE(read.done);
}

TEST(ReplyParserTest, WhatComesBeforeTheAnswerIsReadPast) {
  const std::string text =
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Read read = ReadBy(text, piece);
    EXPECT_TRUE(read.status && read.done) << piece;
    EXPECT_EQ(read.code, 200);
    EXPECT_EQ(read.body, "a");
  }
}

TEST(ReplyParserTest, AnAnswerMayEndWithItsConnectionWhichServesNobodyElse) {
  const Read open = ReadBy("HTTP/1.1 200 OK\r\n\r\nabc", 1);
  EXPECT_FALSE(open.done);

  const Read ended = ReadBy("HTTP/1.1 200 OK\r\n\r\nabc", 1, true);
  EXPECT_TRUE(ended.status && ended.done);
  EXPECT_EQ(ended.body, "abc");
  EXPECT_FALSE(ended.keeps);

  EXPECT_FALSE(
      ReadBy("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 9).keeps);
  EXPECT_FALSE(ReadBy("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", 99).keeps);
}

TEST(ReplyParserTest, WhatIsNotWholeIsSaid) {
  EXPECT_EQ(WhyNot("", 1, true), "the connection closed before an answer came");
  EXPECT_EQ(WhyNot("HTTP/1.1 200", 1, true), "the connection closed before an answer came");
  EXPECT_EQ(WhyNot("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", 1, true),
            "the connection closed in the middle of the answer");
}

TEST(ReplyParserTest, WhatIsNoAnswerIsRefused) {
  const std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& text :
       {std::string("220 smtp.test ready\r\n\r\n"), std::string("HTTP/1.1 000 OK\r\n\r\n"),
        std::string("HTTP/1.1 099 OK\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'),
        "HTTP/1.1 200 OK\r\n" + std::string(100'000, 'x'),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")}) {
    EXPECT_EQ(WhyNot(text, 4096), "the answer is not HTTP");
  }
  for (const std::string& text : {chunks + "zz\r\n", chunks + "1\r\nab\r\n1\r\n",
                                  chunks + "1;" + std::string(200'000, 'x')}) {
    EXPECT_EQ(WhyNot(text, 4096), "the answer is malformed");
  }
}

}  // namespace
}  // namespace tessera::http
