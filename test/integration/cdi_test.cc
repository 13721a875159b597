// SPDX-License-Identifier: Apache-2.0
// The CDI document on disk, and other writers of it.
#include <sys/stat.h>

#include <csignal>

#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

using Texts = std::vector<std::string>;

constexpr char kPutBack[] =
    R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="put-back"})";
constexpr char kFailedDocuments[] =
    R"(tessera_cdi_writes_total{resource="dummy.com/npu",result="failed"})";

constexpr char kFault[] = R"(tessera_fault{fault="cdi"})";

class CdiTest : public AgentTest {
 protected:
  // One NPU whose containers get this variable.
  void Configure(const std::string& variable) {
    WriteConfig(Config("  - {name: dummy.com/npu, env: " + variable +
                       ", strategies: [cdi-cri], cdi: {kind: dummy.com/npu, dir: " + dir_ +
                       "/cdi}, dummy: {count: 1}}\n"));
  }
  void StartFirst() {
    Configure("FIRST");
    StartKubelet();
    agent_ = StartAgent();
    Expect(kNpu, 1, 1);
    document_ = OnDisk();
    ASSERT_EQ(document_, DocumentWith("FIRST"));
  }
  static std::string DocumentWith(const std::string& variable) {
    return R"({
  "cdiVersion": "0.5.0",
  "kind": "dummy.com/npu",
  "devices": [
    {
      "name": "0",
      "containerEdits": {
        "env": [
          ")" +
           variable + R"(_0=0"
        ]
      }
    }
  ]
}
)";
  }
  std::string OnDisk() const { return os::ReadFile(path_).value_or("nothing"); }
  void ExpectBackSoon() {
    const Steady began = SystemClock().Now();
    EXPECT_TRUE(Await([&] { return OnDisk() == document_; })) << OnDisk();
    EXPECT_LT(SystemClock().Now() - began, kSoon);
  }

  const std::string path_ = dir_ + "/cdi/tessera-dummy.com_npu.json";
  std::string document_;
};

TEST_F(CdiTest, APageNamesTheResourcesWhoseDocumentsAreAnotherPrograms) {
  StartAll(
      "  - {name: dummy.com/npu, strategies: [cdi-cri], cdi: {kind: dummy.com/npu, write: "
      "false}, dummy: {count: 1}}\n");
  Expect(kNpu, 1, 1);

  EXPECT_EQ(
      Page("/cdi"),
      (json::Object{{"documents", json::Array{}},
                    {"trees", json::Array{}},
                    {"resources", json::Array{json::Object{
                                      {"resource", kNpu}, {"kind", kNpu}, {"write", false}}}}}));
}

TEST_F(CdiTest, ADocumentThatWasRemovedIsBackWithinASecond) {
  StartFirst();

  ASSERT_TRUE(os::RemoveFile(path_));
  ExpectBackSoon();
  EXPECT_TRUE(AwaitMetric(kPutBack, 1));
  EXPECT_TRUE(AwaitLog("WARN the CDI document was changed or removed; the agent restores it path=" +
                       path_ + " now=\"cannot open " + path_ + ": No such file or directory\"\n"));
  ASSERT_TRUE(os::RemoveTree(dir_ + "/cdi"));
  ExpectBackSoon();
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
}

TEST_F(CdiTest, ADocumentThatWasBrokenIsBackWithinASecond) {
  StartFirst();

  int times = 0;
  for (const std::string& broken : {std::string(), std::string("{"), document_.substr(0, 80)}) {
    ASSERT_TRUE(os::WriteFileAtomically(path_, broken));
    ExpectBackSoon();
    EXPECT_TRUE(AwaitMetric(kPutBack, ++times));
  }
}

TEST_F(CdiTest, ADocumentThatSaysSomethingElseIsPutBackWhereNoOtherInstanceRuns) {
  StartFirst();

  ASSERT_TRUE(os::WriteFileAtomically(path_, DocumentWith("ANOTHER")));
  // After a change in kubelet's directory the agent looks at it often for a while, and at the
  // document with it.
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/kubelet/device-plugins/any", ""));

  EXPECT_TRUE(Await([&] { return OnDisk() == document_; })) << OnDisk();
}

TEST_F(CdiTest, WhatStandsInItsPlaceIsToldOnceAndCountedUntilItIsGone) {
  StartFirst();
  ASSERT_TRUE(Await([&] { return os::RemoveFile(path_) && mkdir(path_.c_str(), 0700) == 0; }));

  EXPECT_TRUE(AwaitMetric(kFailedDocuments, 3));
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  const std::string line = "ERROR cannot write the CDI document path=" + path_ +
                           " reason=socket-planted error=\"" + path_ +
                           " is not a regular file and is not replaced\" advice=";
  const std::string log = Log();
  EXPECT_NE(log.find(line), std::string::npos);
  EXPECT_EQ(log.find(line), log.rfind(line));
  const std::string fault = "cdi: " + path_ + ": " + path_ +
                            " is not a regular file and is not replaced [socket-planted]: ";
  EXPECT_TRUE(Answered("/healthz").starts_with("200 ok\n" + fault)) << Answered("/healthz");
  EXPECT_TRUE(Answered("/readyz").starts_with("503 " + fault)) << Answered("/readyz");
  EXPECT_EQ(MetricNow(kFault), 1);
  ASSERT_TRUE(os::RemoveTree(path_));

  ExpectBackSoon();
  EXPECT_TRUE(Await([&] { return Answered("/readyz") == "200 ok\n"; }));
  EXPECT_EQ(MetricNow(kFault), 0);
}

TEST_F(CdiTest, OfTwoInstancesTheWriterPutsItsDocumentBackAndItsSuccessorItsOwn) {
  StartFirst();
  std::string config = os::ReadFile(dir_ + "/tessera.yaml").value_or("");
  config.replace(config.find("FIRST"), 5, "SECOND");
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/second.yaml", config));
  os::Process second =
      StartAgent({"/bin/sh", "-c", R"(exec "$1" agent --config )" + dir_ + "/second.yaml", "sh"});
  // A new instance writes its document before it registers.
  ASSERT_TRUE(Await([&] { return OnDisk() == DocumentWith("SECOND"); })) << OnDisk();
  ASSERT_TRUE(AwaitRegistrations(kNpu, 2));

  ASSERT_TRUE(os::RemoveFile(path_));
  ExpectBackSoon();  // the first instance's document
  agent_.Signal(SIGKILL);
  agent_.Wait();
  agent_ = std::move(second);

  EXPECT_TRUE(Await([&] { return OnDisk() == DocumentWith("SECOND"); })) << OnDisk();
}

}  // namespace
}  // namespace tessera
