// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

class CdiFileTest : public testing::Test {
 protected:
  CdiFileTest() {
    Device npu;
    npu.key = {"dummy.com/npu", "0"};
    npu.visible_as = "0";
    offer_.devices.push_back(npu);
    rendering_.cdi_kind = "dummy.com/npu";
    rendering_.strategies = {Strategy::kCdiCri};
  }
  ~CdiFileTest() override { (void)os::RemoveTree(dir_); }
  std::vector<std::string> Files() {
    return os::ListDirectory(dir_).value_or(std::vector<std::string>{});
  }
  std::string OnDisk() { return os::ReadFile(file_.path()).value_or("nothing"); }
  // The metric's series.
  std::string Writes() {
    const std::string text = metrics_.Expose();
    return text.substr(text.find("\ntessera_cdi_writes_total") + 1);
  }

  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  Offer offer_;
  Rendering rendering_;
  http::Metrics metrics_;
  CdiFile file_{"dummy.com/npu", metrics_};
};

TEST_F(CdiFileTest, TheDocumentStandsUnderTheNameOfItsKind) {
  file_.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(file_.path(), dir_ + "/" + CdiFileName("dummy.com/npu"));
  EXPECT_EQ(os::ReadFile(file_.path()).value_or(""), CdiDocument(offer_, rendering_));
  EXPECT_EQ(file_.document(), CdiDocument(offer_, rendering_));
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
)");
}

TEST_F(CdiFileTest, WhatStandsThereAlreadyIsNotWrittenAgain) {
  file_.Write(dir_, offer_, rendering_, false);
  os::FileInfo before = os::Inspect(file_.path()).value_or(os::FileInfo{});
  CdiFile after_a_restart("dummy.com/npu", metrics_);
  after_a_restart.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(os::Inspect(file_.path()).value_or(os::FileInfo{}), before);
  EXPECT_EQ(after_a_restart.path(), file_.path());
}

TEST_F(CdiFileTest, AnotherKindTakesThePlaceOfTheFormer) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.cdi_kind = "other.com/npu";
  file_.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(Files(), std::vector<std::string>{CdiFileName("other.com/npu")});
}

TEST_F(CdiFileTest, ADocumentThatContainersAreMadeFromStays) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.strategies = {Strategy::kEnvvar};
  file_.Write(dir_, offer_, rendering_, true);
  EXPECT_EQ(Files(), std::vector<std::string>{CdiFileName("dummy.com/npu")});
  EXPECT_EQ(file_.path(), "");
}

TEST_F(CdiFileTest, AFailedWriteIsTriedAgain) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/cdi", "a file", 0600));
  file_.Write(dir_ + "/cdi", offer_, rendering_, false);
  EXPECT_FALSE(file_.written());
  ASSERT_TRUE(os::RemoveFile(dir_ + "/cdi"));
  file_.Write(dir_ + "/cdi", offer_, rendering_, false);
  EXPECT_TRUE(file_.written());
  EXPECT_EQ(OnDisk(), CdiDocument(offer_, rendering_));
}

TEST_F(CdiFileTest, WithTheLastDeviceTheDocumentGoes) {
  file_.Write(dir_, offer_, rendering_, false);
  offer_.devices = {};
  file_.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

TEST_F(CdiFileTest, WhatIsNoDocumentAnyMoreIsPutBack) {
  file_.Write(dir_, offer_, rendering_, false);
  ASSERT_TRUE(os::RemoveFile(file_.path()));
  file_.Keep(CdiFile::Against::kLoss);
  EXPECT_EQ(OnDisk(), file_.document());

  const std::string half = file_.document().substr(0, file_.document().size() / 2);
  for (const std::string& broken : {std::string(), std::string("{"), half}) {
    ASSERT_TRUE(os::WriteFileAtomically(file_.path(), broken));
    file_.Keep(CdiFile::Against::kLoss);
    EXPECT_EQ(OnDisk(), file_.document());
  }
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
tessera_cdi_writes_total{resource="dummy.com/npu",result="put-back"} 4
)");
}

TEST_F(CdiFileTest, ADocumentOfAnotherInstanceStaysUntilThereIsNone) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.env = "ANOTHER_VARIABLE";
  const std::string another = CdiDocument(offer_, rendering_);
  ASSERT_TRUE(os::WriteFileAtomically(file_.path(), another));

  file_.Keep(CdiFile::Against::kLoss);
  EXPECT_EQ(OnDisk(), another);
  file_.Keep(CdiFile::Against::kChange);
  EXPECT_EQ(OnDisk(), file_.document());
}

TEST_F(CdiFileTest, WhatStandsIsNotWrittenAgain) {
  file_.Write(dir_, offer_, rendering_, false);
  const os::FileInfo before = os::Inspect(file_.path()).value_or(os::FileInfo{});
  file_.Keep(CdiFile::Against::kChange);
  EXPECT_EQ(os::Inspect(file_.path()).value_or(os::FileInfo{}), before);
}

TEST_F(CdiFileTest, WhereThereIsToBeNoneNoneIsPutBack) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.strategies = {Strategy::kEnvvar};
  file_.Write(dir_, offer_, rendering_, false);
  file_.Keep(CdiFile::Against::kChange);
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

TEST_F(CdiFileTest, WhatCannotBePutBackIsToldOnceAndPutBackOnceItCan) {
  std::string told;
  log::SetSink(
      [&](std::string_view line) { told += std::string(line.substr(line.find(' ') + 1)) + "\n"; });
  file_.Write(dir_, offer_, rendering_, false);
  told.clear();
  ASSERT_TRUE(os::RemoveFile(file_.path()));
  ASSERT_TRUE(os::MakeDirectories(file_.path()));

  file_.Keep(CdiFile::Against::kLoss);
  file_.Keep(CdiFile::Against::kLoss);
  EXPECT_FALSE(file_.written());
  ASSERT_TRUE(os::RemoveTree(file_.path()));
  file_.Keep(CdiFile::Against::kLoss);
  log::SetSink(nullptr);

  EXPECT_EQ(OnDisk(), file_.document());
  EXPECT_EQ(told, "WARN the CDI document is not as it was written path=" + file_.path() +
                      " now=\"" + file_.path() + " is not a regular file\"\n" +
                      "ERROR cannot write the CDI document path=" + file_.path() +
                      " reason=socket-planted error=\"" + file_.path() +
                      " is not a regular file and is not replaced\" advice=\"" +
                      std::string(ReasonAdvice(Reason::kSocketPlanted)) + "\"\n" +
                      "INFO wrote the CDI document path=" + file_.path() + "\n");
  EXPECT_EQ(Writes(), R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="failed"} 2
tessera_cdi_writes_total{resource="dummy.com/npu",result="good"} 1
tessera_cdi_writes_total{resource="dummy.com/npu",result="put-back"} 1
)");
}

}  // namespace
}  // namespace tessera::agent
