// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_conflicts.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/captured_log_test.h"

namespace tessera {
namespace {

class CdiConflictsTest : public testing::Test {
 protected:
  ~CdiConflictsTest() override { (void)os::RemoveTree(dir_); }
  static cdi::Document DocumentOf(const std::string& kind, const std::string& device) {
    return {.kind = kind, .devices = {{.name = device, .edits = {.env = {"A=1"}}}}};
  }
  void WriteOther(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(cdi_ + "/" + name, text, 0644));
  }
  std::vector<std::string> Files() { return os::ListDirectory(cdi_).value(); }
  CdiConflicts Make() { return {documents_, metrics_, dir_ + "/record"}; }
  static std::set<std::string> Nobody() { return {}; }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  const std::string cdi_ = dir_ + "/cdi";
  const std::string own_ = cdi_ + "/tessera-ab.com_gpu.json";
  http::Metrics metrics_;
  std::vector<std::string> events_;
  CdiDocuments documents_{
      metrics_, os::Root(), [this](const CdiError& trouble) {
        events_.push_back(fmt::format("{} {}: {}", trouble.reason, trouble.path, trouble.message));
      }};
};

TEST_F(CdiConflictsTest, ADeviceThatAnotherDocumentNamesIsToldOfOnceAsLongAsItLasts) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  CdiConflicts conflicts = Make();
  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "y")));
  WriteOther("broken.json", "{");
  CapturedLog told;
  conflicts.LookForConflicts();
  EXPECT_EQ(told.Take(), "");

  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "x")));
  conflicts.LookForConflicts();
  conflicts.LookForConflicts();
  const std::string line = fmt::format(
      "ERROR two CDI documents name one device, and no runtime injects it reason=cdi-conflict "
      "error=\"{} and {}/foreign.json both name ab.com/gpu=x\" advice=\"{}\"\n",
      own_, cdi_, ReasonAdvice(Reason::kCdiConflict));
  EXPECT_EQ(told.Take(), line);
  const Error error{Reason::kCdiConflict,
                    fmt::format("{} and {}/foreign.json both name ab.com/gpu=x", own_, cdi_)};
  EXPECT_EQ(events_,
            std::vector<std::string>{fmt::format(
                "CdiConflict {}: two CDI documents name one device, and no runtime injects "
                "it: {}",
                own_, error.Text())});
  EXPECT_NE(metrics_.Expose().find("tessera_unusable_files_total{reason=\"cdi-conflict\"} 1\n"),
            std::string::npos);

  ASSERT_TRUE(os::RemoveFile(cdi_ + "/foreign.json"));
  conflicts.LookForConflicts();
  EXPECT_EQ(told.Take(), "");
  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "x")));
  conflicts.LookForConflicts();
  EXPECT_EQ(told.Take(), line);
}

TEST_F(CdiConflictsTest, ADocumentInYamlCountsAsOneInJson) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "0")}, false);
  CdiConflicts conflicts = Make();
  const std::string yaml =
      "---\ncdiVersion: 0.5.0\nkind: ab.com/gpu\ndevices:\n- name: 0\n  containerEdits: {env: "
      "[A=1]}\n";
  WriteOther("unread.yml", yaml);  // nor do runtimes read it
  WriteOther("broken.yaml", yaml + "{");
  conflicts.LookForConflicts();
  EXPECT_EQ(events_, std::vector<std::string>());

  WriteOther("foreign.yaml", yaml);
  conflicts.LookForConflicts();
  const Error error{Reason::kCdiConflict,
                    fmt::format("{} and {}/foreign.yaml both name ab.com/gpu=0", own_, cdi_)};
  EXPECT_EQ(events_,
            std::vector<std::string>{fmt::format(
                "CdiConflict {}: two CDI documents name one device, and no runtime injects "
                "it: {}",
                own_, error.Text())});
}

TEST_F(CdiConflictsTest, WhatAnEarlierProcessWroteAndNobodyNeedsGoes) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  documents_.Write("a.com/c", cdi_, {DocumentOf("ab.com/npu", "y")}, false);
  WriteOther("tessera-foreign.com_gpu.json", cdi::Text(DocumentOf("foreign.com/gpu", "x")));
  EXPECT_TRUE(Make().RemoveStale(Nobody));

  CdiDocuments next(metrics_, os::Root());
  next.Write("a.com/c", cdi_, {DocumentOf("ab.com/npu", "y")}, false);
  CdiConflicts conflicts(next, metrics_, dir_ + "/record");
  EXPECT_TRUE(conflicts.RemoveStale([] { return std::set<std::string>{"x"}; }));
  EXPECT_EQ(Files().size(), 3U);
  EXPECT_TRUE(conflicts.RemoveStale(Nobody));
  EXPECT_EQ(Files(),
            (std::vector<std::string>{"tessera-ab.com_npu.json", "tessera-foreign.com_gpu.json"}));
}

TEST_F(CdiConflictsTest, ARecordThatCannotBeReadIsToldAndReadOnceItCan) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  ASSERT_TRUE(Make().RemoveStale(Nobody));
  const std::string record = os::ReadFile(dir_ + "/record").value();
  ASSERT_TRUE(os::RemoveFile(dir_ + "/record"));
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/record"));

  const CdiDocuments none(metrics_, os::Root());
  CdiConflicts conflicts(none, metrics_, dir_ + "/record");
  EXPECT_FALSE(conflicts.RemoveStale(Nobody));
  EXPECT_EQ(Files().size(), 1U);

  ASSERT_TRUE(os::RemoveTree(dir_ + "/record"));
  ASSERT_TRUE(os::ReplaceFile(dir_ + "/record", record));
  EXPECT_TRUE(conflicts.RemoveStale(Nobody));
  EXPECT_EQ(Files(), std::vector<std::string>());
}

TEST_F(CdiConflictsTest, WhatSomebodyElsePutInItsPlaceStays) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  EXPECT_TRUE(Make().RemoveStale(Nobody));
  ASSERT_TRUE(os::ReplaceFile(own_, "theirs", 0644));

  CdiDocuments next(metrics_, os::Root());
  EXPECT_TRUE(CdiConflicts(next, metrics_, dir_ + "/record").RemoveStale(Nobody));
  EXPECT_EQ(os::ReadFile(own_).value(), "theirs");
}

}  // namespace
}  // namespace tessera
