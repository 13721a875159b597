// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_reconciler.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/captured_log_test.h"
#include "os/files.h"

namespace tessera {
namespace {

class CdiReconcilerTest : public testing::Test {
 protected:
  ~CdiReconcilerTest() override { (void)os::RemoveTree(dir_); }

  static cdi::Document DocumentOf(const std::string& kind, const std::string& device) {
    return {.kind = kind, .devices = {{.name = device, .edits = {.env = {"A=1"}}}}};
  }
  static std::string PathIn(const std::string& directory, const std::string& name) {
    return directory + "/tessera-ab.com_" + name + ".json";
  }
  void Serve(const std::string& name = "gpu") {
    documents_.Write("a.com/" + name, cdi_, {DocumentOf("ab.com/" + name, "x")}, false);
  }
  // An earlier agent has left a document of a resource that is no longer configured.
  void LeaveStale() {
    CdiDocuments documents(metrics_, os::Root());
    documents.Write("a.com/old", cdi_, {DocumentOf("ab.com/old", "x")}, false);
    CdiConflicts former(documents, metrics_, record_);
    ASSERT_TRUE(former.RemoveStale([] { return std::set<std::string>(); }));
  }
  CdiReconciler& Documents() {
    return reconciler_.emplace(
        loop_, Duration(10), documents_, CdiConflicts(documents_, metrics_, record_),
        CdiReconciler::Situation{.another_writes = [this] { return another_writes_; },
                                 .alone = [this] { return alone_; },
                                 .described = [this] { return described_; },
                                 .held = [this] { return held_; }});
  }
  // Writes another document of the same kind, as a newer instance may.
  void Change() {
    ASSERT_TRUE(os::ReplaceFile(own_, cdi::Text(DocumentOf("ab.com/gpu", "y")), 0644));
  }
  std::string OnDisk() const { return os::ReadFile(own_).value_or("nothing"); }
  bool IsStaleThere() const { return os::Exists(PathIn(cdi_, "old")); }
  void Await(const std::function<bool()>& holds) {
    const os::Loop::Handle limit = loop_.After(Duration(20'000), [this] {
      ADD_FAILURE() << "has not come: " << OnDisk();
      loop_.Stop();
    });
    const os::Loop::Handle look = loop_.Every(Duration(2), [&] {
      if (holds()) loop_.Stop();
    });
    loop_.Run();
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "guard");
  const std::string cdi_ = dir_ + "/cdi";
  const std::string own_ = PathIn(cdi_, "gpu");
  const std::string record_ = dir_ + "/record";
  const std::string good_ = cdi::Text(DocumentOf("ab.com/gpu", "x"));
  bool another_writes_ = false;
  bool alone_ = true;
  bool described_ = true;
  std::set<std::string> held_;
  http::Metrics metrics_;
  os::Loop loop_;
  CdiDocuments documents_{metrics_, os::Root()};
  std::optional<CdiReconciler> reconciler_;
};

TEST_F(CdiReconcilerTest, ADocumentThatIsRemovedIsPutBackSoon) {
  Serve();
  Documents().Poll();
  ASSERT_EQ(OnDisk(), good_);

  ASSERT_TRUE(os::RemoveFile(own_));
  Await([&] { return OnDisk() == good_; });
}

TEST_F(CdiReconcilerTest, SoItIsWhenItsDirectoryIsRemoved) {
  Serve();
  Documents().Poll();

  ASSERT_TRUE(os::RemoveTree(cdi_));
  Await([&] { return OnDisk() == good_; });
}

TEST_F(CdiReconcilerTest, DocumentsThatComeLaterAreWatchedFromTheNextLookOn) {
  Documents().Poll();
  Serve();
  reconciler_->Poll();

  ASSERT_TRUE(os::RemoveFile(own_));
  Await([&] { return OnDisk() == good_; });
}

TEST_F(CdiReconcilerTest, AnotherDocumentStaysWhereAnotherInstanceMayGrantByIt) {
  Serve();
  alone_ = false;
  Documents().Poll();
  Change();
  const std::string changed = OnDisk();
  reconciler_->Poll();
  EXPECT_EQ(OnDisk(), changed);

  alone_ = true;
  reconciler_->Poll();
  EXPECT_EQ(OnDisk(), good_);
}

TEST_F(CdiReconcilerTest, WhoBecomesTheWriterHasItsOwnDocuments) {
  Serve();
  alone_ = false;
  Documents().Poll();
  Change();

  reconciler_->TakeOver();
  EXPECT_EQ(OnDisk(), good_);
}

TEST_F(CdiReconcilerTest, WhoIsNotTheWriterPutsNothingBack) {
  Serve();
  another_writes_ = true;
  Documents().Poll();
  ASSERT_TRUE(os::RemoveFile(own_));
  reconciler_->Poll();
  reconciler_->TakeOver();
  EXPECT_EQ(OnDisk(), "nothing");
}

TEST_F(CdiReconcilerTest, WhoIsNotTheWriterTellsOfConflictsAllTheSame) {
  Serve();
  another_writes_ = true;
  ASSERT_TRUE(os::ReplaceFile(cdi_ + "/foreign.json", good_, 0644));
  CapturedLog told;
  Documents().Poll();
  const std::string line = told.Take();
  EXPECT_NE(line.find("two CDI documents name one device"), std::string::npos) << line;
}

TEST_F(CdiReconcilerTest, WhatCannotBeWrittenIsTriedAgainByItself) {
  ASSERT_TRUE(os::ReplaceFile(cdi_, "in the way"));
  CapturedLog told;
  Serve();
  Documents().Poll();
  EXPECT_FALSE(documents_.AllWritten());

  ASSERT_TRUE(os::RemoveFile(cdi_));
  Await([&] { return OnDisk() == good_; });
}

TEST_F(CdiReconcilerTest, AStaleDocumentGoesOnceItIsSureThatNobodyNeedsIt) {
  LeaveStale();
  Serve();
  alone_ = false;
  Documents().Poll();
  EXPECT_TRUE(IsStaleThere());

  alone_ = true;
  described_ = false;  // a driver is slow: the document may be its devices'
  reconciler_->Poll();
  EXPECT_TRUE(IsStaleThere());

  described_ = true;
  another_writes_ = true;
  reconciler_->Poll();
  EXPECT_TRUE(IsStaleThere());

  another_writes_ = false;
  held_ = {"x"};
  reconciler_->Poll();
  EXPECT_TRUE(IsStaleThere());

  held_.clear();
  reconciler_->Poll();
  EXPECT_FALSE(IsStaleThere());
  EXPECT_EQ(OnDisk(), good_);
}

TEST_F(CdiReconcilerTest, WhyStaleDocumentsStayIsToldOnce) {
  ASSERT_TRUE(os::MakeDirectories(record_));  // no file that could be read
  CapturedLog told;
  Documents().Poll();
  reconciler_->Poll();
  const std::string line = told.Take();
  const std::string begin = "ERROR cannot remove CDI documents that no resource uses";
  EXPECT_EQ(line.find(begin), 0U) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;

  ASSERT_TRUE(os::RemoveTree(record_));
  reconciler_->Poll();
  EXPECT_EQ(told.Take(), "");
}

}  // namespace
}  // namespace tessera
