// SPDX-License-Identifier: Apache-2.0
#include "config/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "config/load.h"
#include "config/schema.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::config {
namespace {

const std::string kPage = "docs/reference/configuration.md";  // tests run in the root of the tree
constexpr std::string_view kBegin = "<!-- reference begins -->\n";
constexpr std::string_view kEnd = "<!-- reference ends -->\n";

// TESSERA_UPDATE_DOCS=1 writes the reference into the page instead of comparing.
TEST(Reference, ThePageSaysWhatTheTableSays) {
  const std::string page = *os::ReadFile(kPage);
  const size_t begin = page.find(kBegin) + kBegin.size();
  const size_t end = page.find(kEnd);
  ASSERT_NE(end, std::string::npos);
  const std::string made = "\n" + MarkdownReference(FullSchema()) + "\n";
  if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(
        os::WriteFileAtomically(kPage, page.substr(0, begin) + made + page.substr(end), 0644));
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), made)
      << "run this test with TESSERA_UPDATE_DOCS=1 to write the page";
}

TEST(Reference, EveryKeyIsThere) {
  const std::string reference = MarkdownReference(FullSchema());
  for (const PathKey& key : FullSchema().keys()) {
    if (key.key->type == Type::kSection && key.path.find('.') == std::string::npos) {
      EXPECT_NE(reference.find("### `" + key.path + "`\n"), std::string::npos) << key.path;
    } else {
      EXPECT_NE(reference.find("| `" + key.path + "` |"), std::string::npos) << key.path;
    }
  }
}

TEST(Reference, TheExampleOfThePageIsGood) {
  const std::string page = *os::ReadFile(kPage);
  constexpr std::string_view kFence = "```yaml\n";
  const size_t begin = page.find(kFence) + kFence.size();
  const std::string example = page.substr(begin, page.find("```\n", begin) - begin);
  const LoadResult result = Load(FullSchema(), {.file = Document::Parse("example", example)});
  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(Text(result.warnings), "");
  EXPECT_EQ(result.config.resources.size(), 4u);
}

}  // namespace
}  // namespace tessera::config
