// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/secret.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace tessera::kube {
namespace {

// As an API server sends it.
Result<Secret> ReadSecretText(const std::string& text) {
  const Form form = SecretForm();
  json::Reader reader(form.shape, form.most);
  TRY(reader.Add(text));
  return ReadSecret(TRY(reader.End()));
}

std::string WithData(const std::string& data) {
  return R"({"metadata":{"namespace":"team","name":"tls","resourceVersion":"7"},"data":)" + data +
         "}";
}

TEST(SecretTest, ItsDataIsDecoded) {
  const auto secret =
      ReadSecretText(R"({"metadata":{"namespace":"team","name":"tls","resourceVersion":"7"},)"
                     R"("type":"kubernetes.io/tls","data":{"tls.crt":"eHg=","tls.key":"AAE="}})");

  ASSERT_TRUE(secret.has_value()) << secret.error().message;
  EXPECT_EQ(secret->secret_namespace, "team");
  EXPECT_EQ(secret->name, "tls");
  EXPECT_EQ(secret->type, "kubernetes.io/tls");
  EXPECT_EQ(secret->data, (Texts{{"tls.crt", "xx"}, {"tls.key", std::string("\0\1", 2)}}));
}

TEST(SecretTest, ANewOneNamesNoVersion) {
  const Secret secret{.secret_namespace = "team", .name = "tls", .data = {{"a", "xx"}}};

  EXPECT_EQ(json::Write(SecretJson(secret)),
            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"tls","namespace":"team"},)"
            R"("type":"Opaque","data":{"a":"eHg="}})");
}

TEST(SecretTest, AnUpdateGivesBackWhatOthersHavePutThere) {
  const std::string metadata =
      R"("metadata":{"namespace":"team","name":"tls","uid":"u1","resourceVersion":"7",)"
      R"("labels":{"app":"x"},"annotations":{"a":"b"},)"
      R"("ownerReferences":[{"kind":"Deployment","name":"d","uid":"u2","controller":true}],)"
      R"("finalizers":["f"]})";
  auto secret = ReadSecretText("{" + metadata + R"(,"type":"Opaque","data":{"other":"eHg="}})");
  ASSERT_TRUE(secret.has_value()) << secret.error().message;

  secret->data["tls.key"] = "k";

  EXPECT_EQ(json::Write(SecretJson(*secret)),
            R"({"apiVersion":"v1","kind":"Secret",)" + metadata +
                R"(,"type":"Opaque","data":{"other":"eHg=","tls.key":"aw=="}})");
}

TEST(SecretTest, OneThatIsNotWholeIsNotRead) {
  const auto error = [](const std::string& text) { return ReadSecretText(text).error().message; };

  EXPECT_EQ(error("7"), "a Secret is not an object");
  EXPECT_EQ(error(R"({"metadata":{"namespace":"team","name":"tls"}})"),
            "Secret team/tls: metadata: resourceVersion is missing");
  EXPECT_EQ(
      error(
          R"({"metadata":{"namespace":"team","name":"tls","resourceVersion":"7"},"immutable":true})"),
      "Secret team/tls: it is immutable");
  EXPECT_EQ(error(WithData("7")), "Secret team/tls: data is not an object");
  EXPECT_EQ(error(WithData(R"({"a":"secret"})")), "Secret team/tls: data: a is not base64");
  EXPECT_EQ(error(WithData(fmt::format(R"({{"a":"{}"}})", std::string(300'000, 'A')))),
            "Secret team/tls: data: a is not a string, or too long");
  std::string many;
  for (int i = 0; i < 13; ++i) {
    many += fmt::format(R"({}"{}":"{}")", i == 0 ? "" : ",", i, std::string(256'000, 'A'));
  }
  EXPECT_EQ(error(WithData("{" + many + "}")),
            "Secret team/tls: its fields that are read have more than 3 MiB");
}

}  // namespace
}  // namespace tessera::kube
