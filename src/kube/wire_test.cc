// SPDX-License-Identifier: Apache-2.0
#include "kube/wire.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

using std::chrono::seconds;

http::Reply WithRetryAfter(const std::string& value) {
  return {.status = 429, .headers = {{"retry-after", value}}};
}

TEST(RetryAfter, IsANumberOfSecondsOrADate) {
  // Sun, 06 Nov 1994 08:49:00 GMT.
  const Wall now{seconds(784'111'740)};

  EXPECT_EQ(RetryAfter(WithRetryAfter("7"), now), seconds(7));
  EXPECT_EQ(RetryAfter(WithRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT"), now), seconds(37));
  EXPECT_EQ(RetryAfter(WithRetryAfter("Sun, 06 Nov 1994 08:48:37 GMT"), now), seconds(0));
  EXPECT_EQ(RetryAfter(WithRetryAfter("4000000000"), now), seconds(3'600));
}

TEST(RetryAfter, OtherWordsSayNothing) {
  for (const char* text :
       {"", "-1", "7s", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "99999999999"}) {
    EXPECT_EQ(RetryAfter(WithRetryAfter(text), Wall{}), std::nullopt) << text;
  }
  EXPECT_EQ(RetryAfter({.status = 429}, Wall{}), std::nullopt);
}

TEST(RetryAfter, OfAStatusIsInItsDetails) {
  const auto of = [](const json::Value& details) {
    return RetryAfter(json::Object{{"kind", "Status"}, {"details", details}});
  };

  EXPECT_EQ(of(json::Object{{"retryAfterSeconds", 7}}), seconds(7));
  EXPECT_EQ(of(json::Object{{"retryAfterSeconds", INT64_MAX}}), seconds(3'600));
  EXPECT_EQ(of(json::Object{{"retryAfterSeconds", 0}}), std::nullopt);
  EXPECT_EQ(of(json::Object{{"retryAfterSeconds", -1}}), std::nullopt);
  EXPECT_EQ(of(json::Object{{"retryAfterSeconds", "7"}}), std::nullopt);
  EXPECT_EQ(of("7"), std::nullopt);
  EXPECT_EQ(RetryAfter(json::Object()), std::nullopt);
}

TEST(ErrorIn, AGoodAnswerIsNone) {
  EXPECT_EQ(ErrorIn(http::Reply{.status = 201}), std::nullopt);
}

TEST(ErrorIn, LongWordsAreCut) {
  const std::string body =
      json::Write(json::Object{{"kind", "Status"}, {"message", std::string(5'000, 'x')}});

  EXPECT_EQ(ErrorIn(http::Reply{.status = 422, .body = body}),
            (Error{Reason::kApiRejected, std::string(1'024, 'x') + " (422)"}));
}

TEST(ReadEvent, KnowsTheKindsOfAWatch) {
  const auto event = [](const std::string& type) {
    return ReadEvent(
        fmt::format(R"({{"type":"{}","object":{{"metadata":{{"resourceVersion":"7"}}}}}})", type));
  };
  EXPECT_EQ(event("ADDED").value().kind, WatchEvent::Kind::kChanged);
  EXPECT_EQ(event("MODIFIED").value().kind, WatchEvent::Kind::kChanged);
  EXPECT_EQ(event("DELETED").value().kind, WatchEvent::Kind::kDeleted);
  EXPECT_EQ(event("BOOKMARK").value().kind, WatchEvent::Kind::kBookmark);
  EXPECT_EQ(event("ERROR").value().kind, WatchEvent::Kind::kError);
  EXPECT_EQ(event("ADDED").value().version, "7");
  EXPECT_EQ(event("MOVED").error(),
            (Error{Reason::kInvalid, "an event is of the unknown type MOVED"}));
}

TEST(ReadEvent, WhatIsNoEventIsInvalid) {
  EXPECT_EQ(ReadEvent("[]").error().message, "an event is not an object");
  EXPECT_EQ(ReadEvent(R"({"type":"ADDED"})").error().message, "an event has no object");
  EXPECT_EQ(ReadEvent(R"({"type":"ADDED","object":{}})").error().message,
            "an event's object has no version");
  EXPECT_EQ(ReadEvent("{").error().reason, Reason::kInvalid);
}

TEST(Lines, AreCutWhereverThePiecesEnd) {
  Lines lines(100);
  std::vector<std::string> found;
  for (const char* piece : {"on", "e\ntwo", "\n\n\r\nthree\nfo", "ur"}) {
    ASSERT_TRUE(lines.Add(piece));
    while (auto line = lines.Next()) found.push_back(*line);
  }

  EXPECT_EQ(found, (std::vector<std::string>{"one", "two", "three"}));
}

TEST(Lines, ALineThatDoesNotEndIsTooLong) {
  Lines lines(10);

  EXPECT_TRUE(lines.Add("0123456789\n0123456789"));
  EXPECT_FALSE(lines.Add("0"));
}

}  // namespace
}  // namespace tessera::kube
