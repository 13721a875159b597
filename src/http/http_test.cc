// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

TEST(Failure, CarriesCodeMessageAndAdvice) {
  Response response = Failure({Reason::kNotFound, "no device 99"});

  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/json");
  json::Object details{{"code", "not-found"},
                       {"message", "no device 99"},
                       {"advice", ReasonAdvice(Reason::kNotFound)}};
  EXPECT_EQ(json::Parse(response.body).value(), json::Value(json::Object{{"error", details}}));
}

TEST(Failure, StatusFollowsTheReason) {
  EXPECT_EQ(Failure({Reason::kUnavailable, ""}).status, 503);
  EXPECT_EQ(Failure({Reason::kInvalid, ""}).status, 400);
  EXPECT_EQ(Failure({Reason::kCordoned, ""}).status, 400);
}

TEST(FailureIn, IsWhatFailureWrote) {
  Error error{Reason::kConfigBadValue, "line 3: \"count\" is -1"};

  EXPECT_EQ(FailureIn(Failure(error)), error);
}

TEST(FailureIn, KeepsTheWordsOfAReasonItDoesNotKnow) {
  Response response{400, "application/json",
                    R"({"error":{"code":"too-purple","message":"the device is too purple"}})"};

  EXPECT_EQ(FailureIn(response),
            (Error{Reason::kInvalid, "the device is too purple (too-purple)"}));
}

TEST(FailureIn, OtherBodiesGiveTheStatus) {
  EXPECT_EQ(FailureIn(Text("<html>", 404)),
            (Error{Reason::kNotFound, "the server answered with status 404"}));
  EXPECT_EQ(FailureIn(Text("[]", 501)),
            (Error{Reason::kInternal, "the server answered with status 501"}));
}

}  // namespace
}  // namespace tessera::http
