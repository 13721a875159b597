// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_neighbours.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "agent/told_test.h"

namespace tessera::agent {
namespace {

class CdiNeighboursTest : public testing::Test {
 protected:
  ~CdiNeighboursTest() override { (void)os::RemoveTree(dir_); }
  static cdi::Document DocumentOf(const std::string& kind, const std::string& device) {
    return {.kind = kind, .devices = {{.name = device, .edits = {.env = {"A=1"}}}}};
  }
  void WriteOther(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(cdi_ + "/" + name, text, 0644));
  }
  std::vector<std::string> Files() { return os::ListDirectory(cdi_).value(); }
  CdiNeighbours Make() { return {documents_, metrics_, dir_ + "/record"}; }
  static std::set<std::string> Nobody() { return {}; }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  const std::string cdi_ = dir_ + "/cdi";
  const std::string own_ = cdi_ + "/tessera-ab.com_gpu.json";
  http::Metrics metrics_;
  CdiDocuments documents_{metrics_, os::Root()};
};

TEST_F(CdiNeighboursTest, ADeviceThatAnotherDocumentNamesIsToldOfOnceAsLongAsItLasts) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  CdiNeighbours neighbours = Make();
  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "y")));
  WriteOther("broken.json", "{");
  Told told;
  neighbours.LookForConflicts();
  EXPECT_EQ(told.Take(), "");

  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "x")));
  neighbours.LookForConflicts();
  neighbours.LookForConflicts();
  const std::string line = fmt::format(
      "ERROR two CDI documents name one device, and no runtime injects it reason=cdi-conflict "
      "error=\"{} and {}/foreign.json both name ab.com/gpu=x\" advice=\"{}\"\n",
      own_, cdi_, ReasonAdvice(Reason::kCdiConflict));
  EXPECT_EQ(told.Take(), line);
  EXPECT_NE(metrics_.Expose().find("tessera_unusable_files_total{reason=\"cdi-conflict\"} 1\n"),
            std::string::npos);

  ASSERT_TRUE(os::RemoveFile(cdi_ + "/foreign.json"));
  neighbours.LookForConflicts();
  EXPECT_EQ(told.Take(), "");
  WriteOther("foreign.json", cdi::Text(DocumentOf("ab.com/gpu", "x")));
  neighbours.LookForConflicts();
  EXPECT_EQ(told.Take(), line);
}

TEST_F(CdiNeighboursTest, WhatAnEarlierProcessWroteAndNobodyNeedsGoes) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  documents_.Write("a.com/c", cdi_, {DocumentOf("ab.com/npu", "y")}, false);
  WriteOther("tessera-foreign.com_gpu.json", cdi::Text(DocumentOf("foreign.com/gpu", "x")));
  Make().RemoveStale(Nobody);

  CdiDocuments next(metrics_, os::Root());
  next.Write("a.com/c", cdi_, {DocumentOf("ab.com/npu", "y")}, false);
  CdiNeighbours neighbours(next, metrics_, dir_ + "/record");
  neighbours.RemoveStale([] { return std::set<std::string>{"x"}; });
  EXPECT_EQ(Files().size(), 3U);
  neighbours.RemoveStale(Nobody);
  EXPECT_EQ(Files(),
            (std::vector<std::string>{"tessera-ab.com_npu.json", "tessera-foreign.com_gpu.json"}));
}

TEST_F(CdiNeighboursTest, WhatSomebodyElsePutInItsPlaceStays) {
  documents_.Write("a.com/b", cdi_, {DocumentOf("ab.com/gpu", "x")}, false);
  Make().RemoveStale(Nobody);
  ASSERT_TRUE(os::ReplaceFile(own_, "theirs", 0644));

  CdiDocuments next(metrics_, os::Root());
  CdiNeighbours(next, metrics_, dir_ + "/record").RemoveStale(Nobody);
  EXPECT_EQ(os::ReadFile(own_).value(), "theirs");
}

}  // namespace
}  // namespace tessera::agent
