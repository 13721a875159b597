// SPDX-License-Identifier: Apache-2.0
#include "webhook/review.h"

#include <gtest/gtest.h>

#include "webhook/admission_under_test.h"

namespace tessera::webhook {
namespace {

constexpr char kPod[] = R"({"spec": {"schedulerName": "", "containers": [
    {"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "10"}}}]}})";

std::string AnswerTo(const std::string& body, Stage stage = Stage::kMutating) {
  const auto answer = Admit(body, RulesUnderTest(), {}, stage);
  return answer ? json::Write(*answer) : answer.error().message;
}

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), with);
}

TEST(Review, APodThatIsChangedIsAnsweredWithThePatchAlone) {
  const std::string patch =
      R"([{"op":"add","path":"/spec/schedulerName","value":"hami-scheduler"},)"
      R"({"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu","value":"1"}])";
  EXPECT_EQ(AnswerTo(ReviewOf(kPod)),
            fmt::format(R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                        R"("response":{{"uid":"u1","allowed":true,"patchType":"JSONPatch",)"
                        R"("patch":"{}"}}}})",
                        EncodeBase64(patch)));
}

TEST(Review, AValidatingWebhookAnswersWithoutAPatch) {
  EXPECT_EQ(AnswerTo(ReviewOf(kPod), Stage::kValidating),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
            R"("response":{"uid":"u1","allowed":true}})");
}

TEST(Review, ARefusalHasItsMessage) {
  EXPECT_EQ(
      AnswerTo(ReviewOf(R"({"spec": {"containers": {}}})")),
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1",)"
      R"("allowed":false,"status":{"status":"Failure",)"
      R"("message":"the pod cannot be read: spec: containers is not a list",)"
      R"("reason":"Forbidden","code":403}}})");
}

TEST(Review, WarningsComeAlong) {
  const Review review{.version = "admission.k8s.io/v1", .uid = "u1"};
  EXPECT_EQ(json::Write(AnswerJson(review, {.warnings = {"a", "b"}}, Stage::kMutating)),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
            R"("response":{"uid":"u1","allowed":true,"warnings":["a","b"]}})");
}

TEST(Review, TheAnswerIsOfTheVersionThatWasAsked) {
  const std::string old = Replaced(ReviewOf(kPod), "io/v1\"", "io/v1beta1\"");
  EXPECT_TRUE(AnswerTo(old).starts_with(R"({"apiVersion":"admission.k8s.io/v1beta1",)"));
}

TEST(Review, ChangesAndPartsOfPodsAreAdmitted) {
  const std::string bad = ReviewOf(R"({"spec": {"containers": {}}})");
  const std::string admitted = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                               R"("response":{"uid":"u1","allowed":true}})";
  EXPECT_EQ(AnswerTo(Replaced(bad, "CREATE", "UPDATE")), admitted);
  EXPECT_EQ(AnswerTo(Replaced(bad, "\"namespace\"", "\"subResource\": \"eviction\", \"a\"")),
            admitted);
  EXPECT_EQ(AnswerTo(Replaced(bad, "\"pods\"", "\"nodes\"")), admitted);
}

TEST(Review, WhatIsNoReviewIsNotAnswered) {
  EXPECT_EQ(AnswerTo("[]"), "an AdmissionReview is not an object");
  EXPECT_EQ(AnswerTo(Replaced(ReviewOf(kPod), "io/v1\"", "io/v2\"")),
            "not an AdmissionReview of admission.k8s.io/v1 or v1beta1: admission.k8s.io/v2");
  EXPECT_EQ(AnswerTo(Replaced(ReviewOf(kPod), "u1", "")), "request: uid is missing");
}

TEST(Review, WhatIsLongIsReadPastAndWhatIsDecidedByIsBounded) {
  const std::string filler(size_t{15} << 20, 'x');
  EXPECT_NE(
      AnswerTo(ReviewOf(Replaced(kPod, "\"name\"", "\"args\": [\"" + filler + "\"], \"name\"")))
          .find("\"allowed\":true"),
      std::string::npos);
  std::string many = R"({"name":"a"})";
  for (int i = 0; i < 300'000; ++i) many += R"(,{"name":"a"})";
  const auto review =
      ReadReview(ReviewOf(Replaced(kPod, "\"name\"", "\"env\": [" + many + "], \"name\"")),
                 FieldsOf(RulesUnderTest()));
  ASSERT_TRUE(review.has_value());
  EXPECT_EQ(review->pod.error().message, "its fields that are read have more than 32 MiB");
}

}  // namespace
}  // namespace tessera::webhook
