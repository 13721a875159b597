// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/captured_log_test.h"
#include "grant/cdi_document.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kNpuKind[] = "dummy.com/npu";

// A document of the kind, with one device of this name.
std::string DocumentTextOf(const std::string& name) {
  return cdi::Text(
      {.kind = kNpuKind, .devices = {{.name = name, .edits = {.env = {"A=" + name}}}}});
}

class CdiFileTest : public testing::Test {
 protected:
  ~CdiFileTest() override { (void)os::RemoveTree(dir_); }
  std::vector<std::string> Files() {
    return os::ListDirectory(dir_).value_or(std::vector<std::string>{});
  }
  std::string OnDisk() { return os::ReadFile(path_).value_or("nothing"); }
  void Write(const std::string& document) { file_.Write(document, "dummy.com/npu"); }
  // The metric's series.
  std::string Writes() {
    const std::string text = metrics_.Expose();
    return text.substr(text.find("\ntessera_cdi_writes_total") + 1);
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  const std::string path_ = dir_ + "/cdi/npu.json";
  const std::string document_ = DocumentTextOf("npu0");
  http::Metrics metrics_;
  std::string events_;
  CdiFile file_{path_, kNpuKind, metrics_, [this](const CdiError& trouble) {
                  events_ +=
                      fmt::format("{} {}: {}\n", trouble.reason, trouble.path, trouble.message);
                }};
};

TEST_F(CdiFileTest, TheDocumentIsForEverybodyToRead) {
  Write(document_);
  EXPECT_EQ(OnDisk(), document_);
  EXPECT_TRUE(file_.written());
  EXPECT_EQ(os::Inspect(path_).value().mode, 0644U);
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
)");
}

TEST_F(CdiFileTest, WhatStandsThereAlreadyIsNotWrittenAgain) {
  Write(document_);
  const os::FileInfo before = os::Inspect(path_).value();
  CdiFile after_a_restart(path_, kNpuKind, metrics_);
  after_a_restart.Write(document_, "dummy.com/npu");
  EXPECT_EQ(os::Inspect(path_).value(), before);
}

TEST_F(CdiFileTest, AFailedWriteIsTriedAgain) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/cdi", "a file", 0600));
  Write(document_);
  EXPECT_FALSE(file_.written());
  ASSERT_TRUE(os::RemoveFile(dir_ + "/cdi"));
  Write(document_);
  EXPECT_TRUE(file_.written());
  EXPECT_EQ(OnDisk(), document_);
}

TEST_F(CdiFileTest, ItCanBeRemoved) {
  Write(document_);
  file_.Remove();
  EXPECT_EQ(OnDisk(), "nothing");
}

TEST_F(CdiFileTest, NothingIsWrittenWhereOthersMayWrite) {
  CapturedLog told;
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/cdi", 0757));
  Write(document_);
  file_.Restore(CdiFile::Against::kChange);
  EXPECT_EQ(OnDisk(), "nothing");
  const Error error{
      Reason::kCdiUnsafe,
      fmt::format("{}/cdi is writable for users other than root (user {}, group {}, 0757)", dir_,
                  geteuid(), getegid())};
  EXPECT_EQ(told.text(), fmt::format("ERROR cannot write the CDI document path={} "
                                     "reason=cdi-unsafe error=\"{}\" advice=\"{}\"\n",
                                     path_, error.message, ReasonAdvice(Reason::kCdiUnsafe)));
  EXPECT_EQ(events_, fmt::format("CdiDocumentNotWritten {}: cannot write the CDI document: {}\n",
                                 path_, error.Text()));

  ASSERT_EQ(chmod((dir_ + "/cdi").c_str(), 0755), 0);
  file_.Restore(CdiFile::Against::kChange);
  EXPECT_EQ(OnDisk(), document_);
}

TEST_F(CdiFileTest, ADocumentThatOthersMayWriteIsReplaced) {
  Write(document_);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  CapturedLog told;
  file_.Restore(CdiFile::Against::kLoss);
  EXPECT_EQ(os::Inspect(path_).value().mode, 0644U);
  EXPECT_EQ(told.text(),
            "WARN the CDI document was changed or removed; the agent restores it path=" + path_ +
                " now=\"writable for users other than root\"\n" +
                "INFO wrote the CDI document path=" + path_ + "\n");
}

TEST_F(CdiFileTest, WhatIsNoDocumentAnyMoreIsPutBack) {
  Write(document_);
  ASSERT_TRUE(os::RemoveFile(path_));
  file_.Restore(CdiFile::Against::kLoss);
  EXPECT_EQ(OnDisk(), document_);

  const std::string half = document_.substr(0, document_.size() / 2);
  for (const std::string& broken : {std::string(), std::string("{"), half}) {
    ASSERT_TRUE(os::WriteFileAtomically(path_, broken));
    file_.Restore(CdiFile::Against::kLoss);
    EXPECT_EQ(OnDisk(), document_);
  }
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
tessera_cdi_writes_total{resource="dummy.com/npu",result="put-back"} 4
)");
}

TEST_F(CdiFileTest, WhoChangesItTimeAndAgainIsToldOfOnceAMinute) {
  Write(document_);
  ASSERT_TRUE(os::RemoveFile(path_));
  file_.Restore(CdiFile::Against::kLoss);
  ASSERT_TRUE(os::WriteFileAtomically(path_, "{"));
  file_.Restore(CdiFile::Against::kLoss);
  EXPECT_EQ(events_, fmt::format("CdiDocumentChanged {0}: CDI document {0} was removed by another "
                                 "program; the agent restores it. Find that program\n",
                                 path_));
}

TEST_F(CdiFileTest, ADocumentOfAnotherInstanceStaysUntilThereIsNone) {
  Write(document_);
  const std::string another = DocumentTextOf("npu1");
  ASSERT_TRUE(os::ReplaceFile(path_, another, 0644));

  file_.Restore(CdiFile::Against::kLoss);
  EXPECT_EQ(OnDisk(), another);
  file_.Restore(CdiFile::Against::kChange);
  EXPECT_EQ(OnDisk(), document_);
}

TEST_F(CdiFileTest, WhatStandsIsNotWrittenAgain) {
  Write(document_);
  const os::FileInfo before = os::Inspect(path_).value();
  file_.Restore(CdiFile::Against::kChange);
  EXPECT_EQ(os::Inspect(path_).value(), before);
}

TEST_F(CdiFileTest, WhatCannotBePutBackIsToldOnceAndPutBackOnceItCan) {
  Write(document_);
  CapturedLog told;
  ASSERT_TRUE(os::RemoveFile(path_));
  ASSERT_TRUE(os::MakeDirectories(path_));

  file_.Restore(CdiFile::Against::kLoss);
  file_.Restore(CdiFile::Against::kLoss);
  EXPECT_FALSE(file_.written());
  ASSERT_TRUE(os::RemoveTree(path_));
  file_.Restore(CdiFile::Against::kLoss);

  EXPECT_EQ(OnDisk(), document_);
  EXPECT_EQ(told.text(),
            "WARN the CDI document was changed or removed; the agent restores it path=" + path_ +
                " now=\"" + path_ + " is not a regular file\"\n" +
                "ERROR cannot write the CDI document path=" + path_ +
                " reason=socket-planted error=\"" + path_ +
                " is not a regular file and is not replaced\" advice=\"" +
                std::string(ReasonAdvice(Reason::kSocketPlanted)) + "\"\n" +
                "INFO wrote the CDI document path=" + path_ + "\n");
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="failed"} 2
tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
tessera_cdi_writes_total{resource="dummy.com/npu",result="put-back"} 1
)");
}

}  // namespace
}  // namespace tessera
