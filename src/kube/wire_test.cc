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

// The events of a stream that arrives in pieces of this size, up to the first invalid one.
struct Stream {
  Status status;
  std::vector<WatchEvent> events{};
};

Stream ReadStream(std::string_view text, size_t piece = 1) {
  const auto name = json::Shape::Object(
      {{"name", json::Shape::Scalar()}, {"resourceVersion", json::Shape::Scalar()}});
  EventReader reader({json::Shape::Object({{"metadata", name}}), 2048});
  Stream stream;
  for (size_t at = 0; at < text.size() && stream.status; at += piece) {
    stream.status = reader.Add(text.substr(at, piece), stream.events);
  }
  return stream;
}

std::string Line(const std::string& type, const std::string& rest = "") {
  return fmt::format(
             R"({{"type":"{}","object":{{"metadata":{{"resourceVersion":"7","name":"n"}}{}}}}})",
             type, rest) +
         "\n";
}

std::string WhyNot(const std::string& line) {
  const Stream stream = ReadStream(line + "\n");
  return stream.status ? "it was not" : stream.status.error().message;
}

TEST(EventReaderTest, KnowsTheKindsOfAWatchWhereverThePiecesEnd) {
  const std::string text = Line("ADDED") + "\n\r\n" + Line("MODIFIED", R"(,"spec":[{"a":"\n"}])") +
                           Line("DELETED") + Line("BOOKMARK") + Line("ERROR") + R"({"type":"ADD)";
  using Kind = WatchEvent::Kind;
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Stream stream = ReadStream(text, piece);

    ASSERT_TRUE(stream.status) << stream.status.error().message;
    std::vector<Kind> kinds;
    for (const WatchEvent& event : stream.events) {
      kinds.push_back(event.kind);
      EXPECT_EQ(json::Write(event.object), R"({"metadata":{"resourceVersion":"7","name":"n"}})");
      EXPECT_EQ(event.version, event.kind == Kind::kError ? "" : "7");
    }
    EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kChanged, Kind::kChanged, Kind::kDeleted,
                                        Kind::kBookmark, Kind::kError}));
  }
}

TEST(EventReaderTest, AnObjectOfAnySizePassesBy) {
  const Stream stream =
      ReadStream(Line("ADDED", R"(,"spec":")" + std::string(9'000'000, 'x') + R"(")"), 16'384);

  ASSERT_EQ(stream.events.size(), 1U);
  EXPECT_EQ(json::Write(stream.events[0].object),
            R"({"metadata":{"resourceVersion":"7","name":"n"}})");
}

TEST(EventReaderTest, AnEventThatDoesNotEndEndsTheStream) {
  const std::string head = R"({"type":"ADDED","object":{"spec":")";
  const Stream stream = ReadStream(head + std::string(EventReader::kLongest, 'x'), 1 << 20);

  EXPECT_EQ(stream.events.size(), 0U);
  ASSERT_FALSE(stream.status);
  EXPECT_EQ(stream.status.error().message, "an event has more than 16 MiB");
}

TEST(EventReaderTest, AnErrorHasItsStatus) {
  const Stream stream = ReadStream(
      R"({"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","message":"m",)"
      R"("reason":"Expired","code":410,"details":{"retryAfterSeconds":7}}})"
      "\n");

  ASSERT_EQ(stream.events.size(), 1U);
  const json::Object& status = stream.events[0].object.as_object();
  EXPECT_EQ(ErrorIn(status), (Error{Reason::kApiExpired, "m (410 Expired)"}));
  EXPECT_EQ(RetryAfter(status), seconds(7));
}

TEST(EventReaderTest, WhatIsNoEventIsInvalid) {
  EXPECT_EQ(WhyNot("[]"), "an event is not an object");
  EXPECT_EQ(WhyNot(R"({"type":"ADDED"})"), "an event has no object");
  EXPECT_EQ(WhyNot(R"({"type":"ADDED","object":{}})"), "an event's object has no version");
  EXPECT_EQ(WhyNot(R"({"type":"MOVED","object":{}})"), "an event has the unknown type MOVED");
  EXPECT_EQ(WhyNot("{"), "an event: JSON, offset 1: incomplete JSON");
  EXPECT_EQ(WhyNot("<html>"), "an event: JSON, offset 0: syntax error");
}

}  // namespace
}  // namespace tessera::kube
