// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/fields.h"

#include <gtest/gtest.h>

namespace tessera::config::rdma_shared {
namespace {

TEST(Fields, OfTwoSpellingsTheLastCountsAsInGo) {
  Document document = Document::Parse("t.json", R"({"Name": "a", "name": "b", "NAME": null})");
  File file{.document = document};
  const Fields fields(file, document.root(), "", {"name"});
  EXPECT_EQ(fields.Text("name"), "b");
  EXPECT_EQ(Text(document.problems()), "");
}

TEST(Fields, AnUnknownKeyNamesTheClosest) {
  Document document = Document::Parse("t.json", R"({"vendor": []})");
  File file{.document = document};
  const Fields fields(file, document.root(), "a[0]", {"vendors"});
  ASSERT_EQ(file.warnings.size(), 1U);
  EXPECT_EQ(file.warnings[0].message, "unknown key a[0].vendor has no effect, as in the plugin");
  EXPECT_EQ(file.warnings[0].suggestion, "vendors");
}

TEST(SelectOf, CombinesTheValuesOfAllKeys) {
  Document document = Document::Parse("t.json", "{}");
  File file{.document = document};
  EXPECT_EQ(json::Write(*SelectOf({{"a", {"1", "2"}}, {"b", {}}, {"c", {"3"}}}, file)),
            R"([{"a":"1","c":"3"},{"a":"2","c":"3"}])");
  EXPECT_EQ(json::Write(*SelectOf({{"a", {}}}, file)), "[]");
}

}  // namespace
}  // namespace tessera::config::rdma_shared
