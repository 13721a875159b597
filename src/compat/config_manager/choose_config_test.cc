// SPDX-License-Identifier: Apache-2.0
#include "compat/config_manager/choose_config.h"

#include <gtest/gtest.h>

namespace tessera::config_manager {
namespace {

using enum Fallback;

const std::vector<std::string> kFiles = {"a100", "default", "l4"};

std::string Chosen(const std::optional<std::string>& label, const ChoiceRules& rules,
                   const std::vector<std::string>& files = kFiles) {
  const auto file = ChooseFile(label, rules, files);
  return file ? "file " + *file : file.error().message;
}

TEST(ChooseFile, TheLabelNamesTheFileWhateverElseIsSaid) {
  EXPECT_EQ(Chosen("l4", {"a100", {kNamed}}), "file l4");
  EXPECT_EQ(Chosen("h100", {"a100", {kNamed}}),
            "the node's label names the configuration 'h100', but there is only a100, default, l4");
}

TEST(ChooseFile, WithoutALabelTheDefaultCounts) {
  EXPECT_EQ(Chosen(std::nullopt, {"a100", {kNamed}}), "file a100");
  EXPECT_EQ(Chosen("", {"a100", {kNamed}}), "file a100");
  EXPECT_EQ(Chosen(std::nullopt, {"h100", {}}, {}),
            "the default names the configuration 'h100', but there is none");
}

TEST(ChooseFile, ThenTheFirstFallbackThatFits) {
  EXPECT_EQ(Chosen(std::nullopt, {"", {kSingle, kNamed}}), "file default");
  EXPECT_EQ(Chosen(std::nullopt, {"", {kNamed, kSingle}}, {"l4"}), "file l4");
  EXPECT_EQ(Chosen(std::nullopt, {"", {kNamed, kSingle, kEmpty}}, {"l4", "a100"}), "file ");
}

TEST(ChooseFile, WhereNothingSaysWhichThereIsNone) {
  EXPECT_EQ(Chosen(std::nullopt, {"", {kNamed, kSingle}}, {"a100", "l4"}),
            "no label of the node, default or fallback names a configuration; there is a100, l4");
}

TEST(ParseFallbacks, TakesWordsInTheirOrder) {
  EXPECT_EQ(ParseFallbacks("named, single"), (std::vector{kNamed, kSingle}));
  EXPECT_EQ(ParseFallbacks("empty"), std::vector{kEmpty});
  EXPECT_EQ(ParseFallbacks(""), std::vector<Fallback>{});
  EXPECT_EQ(ParseFallbacks("named,any").error(),
            (Error{Reason::kInvalid, "the fallback 'any' is not one of named, single, empty"}));
}

}  // namespace
}  // namespace tessera::config_manager
