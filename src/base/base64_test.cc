// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera {
namespace {

const std::vector<std::pair<std::string, std::string>> kPairs = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};

TEST(Base64, EncodesTheVectorsOfTheStandard) {
  for (const auto& [bytes, text] : kPairs) EXPECT_EQ(EncodeBase64(bytes), text);
}

TEST(Base64, DecodesTheVectorsOfTheStandard) {
  for (const auto& [bytes, text] : kPairs) EXPECT_EQ(DecodeBase64(text), bytes);
}

TEST(Base64, EveryByteSurvivesARoundTrip) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
}

TEST(Base64, ForeignLettersAndMissingPaddingAreNothing) {
  for (const char* text : {"Zg", "Zg=", "Z*==", "====", "Zm9v\n", "Zg==Zg=="}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tessera
