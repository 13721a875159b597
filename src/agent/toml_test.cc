// SPDX-License-Identifier: Apache-2.0
#include "agent/toml.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

TEST(TomlEntries, StandBelowTheirTables) {
  EXPECT_EQ(TomlEntries("version = 3 # ours\r\n"
                        "\n"
                        "[plugins.'a.b'] # of CRI\n"
                        "  enable_cdi=true\n"
                        "[[ many ]]\n"
                        "x = \"a#b\" # c\n"),
            (std::vector<TomlEntry>{{"", "version", "3"},
                                    {"plugins.'a.b'", "enable_cdi", "true"},
                                    {"[ many", "x", "\"a#b\""}}));
}

TEST(TomlEntries, AnArrayMayHaveSeveralLines) {
  EXPECT_EQ(TomlEntries("imports = [ # first\n"
                        "  \"/a\", # = one\n"
                        "  '/b',\n"
                        "]\n"
                        "version = 2\n"),
            (std::vector<TomlEntry>{{"", "imports", "[\"/a\",'/b',]"}, {"", "version", "2"}}));
}

TEST(TomlEntries, WhatIsNoneIsLeftOut) {
  EXPECT_EQ(TomlEntries(""), std::vector<TomlEntry>{});
  EXPECT_EQ(TomlEntries("# x = 1\n[\nwords\n[]"), std::vector<TomlEntry>{});
  EXPECT_EQ(TomlEntries("x = \"\\\" # y\nz = [\n"),
            (std::vector<TomlEntry>{{"", "x", "\"\\\" # y"}, {"", "z", "["}}));
}

TEST(TomlStrings, AreThoseInQuotesOfEitherKind) {
  EXPECT_EQ(TomlStrings("[\"/a\", 'it\"s', \"\"]"), (std::vector<std::string>{"/a", "it\"s", ""}));
  EXPECT_EQ(TomlStrings("[\"/a\", \"/b]"), std::vector<std::string>{"/a"});
  EXPECT_EQ(TomlStrings("[]"), std::vector<std::string>{});
}

}  // namespace
}  // namespace tessera::agent
