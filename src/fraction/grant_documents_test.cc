// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_documents.h"

#include <gtest/gtest.h>

#include "os/files.h"

namespace tessera {
namespace {

class GrantDocumentsTest : public testing::Test {
 protected:
  GrantDocumentsTest() {
    documents_.Renew(path_);
    Write("{}");
  }
  ~GrantDocumentsTest() override { (void)os::RemoveTree(directory_); }

  void Write(const std::string& text) const { ASSERT_TRUE(os::ReplaceFile(path_, text)); }
  bool IsThere() const { return os::Exists(path_); }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "documents");
  const std::string path_ = directory_ + "/tessera-grant-1.json";
  FakeClock clock_;
  GrantDocuments documents_{clock_};
};

TEST_F(GrantDocumentsTest, ADocumentGoesFiveMinutesAfterItWasWritten) {
  clock_.Advance(Duration(299'999));
  documents_.Sweep(path_, false);
  EXPECT_TRUE(IsThere());

  clock_.Advance(Duration(1));
  documents_.Sweep(path_, false);
  EXPECT_FALSE(IsThere());
}

TEST_F(GrantDocumentsTest, OneThatIsUsedOnceMoreStaysAsLongAgain) {
  clock_.Advance(Duration(299'999));
  documents_.Renew(path_);
  clock_.Advance(Duration(299'999));
  documents_.Sweep(path_, false);
  EXPECT_TRUE(IsThere());
}

TEST_F(GrantDocumentsTest, OneThatNobodyNeedsGoesAtOnce) {
  documents_.Sweep(path_, true);
  EXPECT_FALSE(IsThere());
}

TEST_F(GrantDocumentsTest, OneOfAFormerAgentIsAsOldAsItsFirstSight) {
  GrantDocuments later(clock_);
  later.Sweep(path_, false);
  clock_.Advance(Duration(299'999));
  later.Sweep(path_, false);
  EXPECT_TRUE(IsThere());

  clock_.Advance(Duration(1));
  later.Sweep(path_, false);
  EXPECT_FALSE(IsThere());
}

TEST_F(GrantDocumentsTest, WhatAnotherAgentWritesAnewStaysAsLongAgain) {
  documents_.Sweep(path_, false);
  clock_.Advance(Duration(300'000));
  Write("{}");
  documents_.Sweep(path_, false);
  EXPECT_TRUE(IsThere());
}

TEST_F(GrantDocumentsTest, OneThatIsNotThereIsNoTrouble) {
  documents_.Remove(path_);
  EXPECT_FALSE(IsThere());
  documents_.Sweep(path_, true);
  EXPECT_FALSE(IsThere());
}

}  // namespace
}  // namespace tessera
