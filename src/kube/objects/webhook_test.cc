// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/webhook.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace tessera::kube {
namespace {

// As an API server sends it.
Result<std::optional<json::Value>> PatchFor(const std::string& text, std::string_view ca) {
  const Form form = WebhookForm();
  json::Reader reader(form.shape, form.most);
  TRY(reader.Add(text));
  return CaBundlePatch(TRY(reader.End()), ca);
}

constexpr char kTwoWebhooks[] =
    R"({"metadata":{"name":"x","resourceVersion":"7","managedFields":[{}]},"webhooks":[)"
    R"({"name":"a.x","clientConfig":{"caBundle":"bmV3","service":{"name":"s"}},"rules":[{}]},)"
    R"({"name":"b.x","clientConfig":{"caBundle":"b2xk"}},{"name":"c.x","clientConfig":{}}]})";

TEST(WebhookTest, WebhooksOfAnotherCaGetOursByTheirNames) {
  const auto patch = PatchFor(kTwoWebhooks, "new");

  ASSERT_TRUE(patch.has_value()) << patch.error().message;
  ASSERT_TRUE(patch->has_value());
  EXPECT_EQ(json::Write(**patch), R"({"metadata":{"resourceVersion":"7"},"webhooks":[)"
                                  R"({"name":"b.x","clientConfig":{"caBundle":"bmV3"}},)"
                                  R"({"name":"c.x","clientConfig":{"caBundle":"bmV3"}}]})");
}

TEST(WebhookTest, WhereAllHaveItNothingIsWritten) {
  const auto patch = PatchFor(R"({"metadata":{"resourceVersion":"7"},)"
                              R"("webhooks":[{"name":"a.x","clientConfig":{"caBundle":"bmV3"}}]})",
                              "new");

  ASSERT_TRUE(patch.has_value()) << patch.error().message;
  EXPECT_FALSE(patch->has_value());
  EXPECT_FALSE(PatchFor(R"({"metadata":{"resourceVersion":"7"}})", "new").value().has_value());
}

TEST(WebhookTest, ABundleThatIsTooLongIsNoneOfOurs) {
  const auto patch =
      PatchFor(fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},)"
                           R"("webhooks":[{{"name":"a.x","clientConfig":{{"caBundle":"{}"}}}}]}})",
                           std::string(70'000, 'A')),
               "new");

  EXPECT_EQ(json::Write(patch.value().value()),
            R"({"metadata":{"resourceVersion":"7"},)"
            R"("webhooks":[{"name":"a.x","clientConfig":{"caBundle":"bmV3"}}]})");
}

TEST(WebhookTest, AConfigurationThatCannotBeReadGetsNoPatch) {
  const auto error = [](const std::string& text) { return PatchFor(text, "new").error().message; };

  EXPECT_EQ(error("7"), "a webhook configuration is not an object");
  EXPECT_EQ(error("{}"), "metadata: resourceVersion is missing");
  EXPECT_EQ(error(R"({"metadata":{"resourceVersion":"7"},"webhooks":[{}]})"),
            "webhooks: name is missing");
  std::string many;
  for (int i = 0; i < 20; ++i) {
    many += fmt::format(R"({}{{"name":"{}","clientConfig":{{"caBundle":"{}"}}}})",
                        i == 0 ? "" : ",", i, std::string(60'000, 'A'));
  }
  EXPECT_EQ(error(fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"webhooks":[{}]}})", many)),
            "a webhook configuration's fields that are read have more than 1 MiB");
}

}  // namespace
}  // namespace tessera::kube
