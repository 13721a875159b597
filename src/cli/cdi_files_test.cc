// SPDX-License-Identifier: Apache-2.0
#include "cli/cdi_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"

namespace tessera::cli {
namespace {

class CdiFilesTest : public testing::Test {
 protected:
  ~CdiFilesTest() override { (void)os::RemoveTree(dir_); }
  void Write(const std::string& path, const std::string& text) {
    const std::string whole = dir_ + "/" + path;
    ASSERT_TRUE(os::MakeDirectories(whole.substr(0, whole.rfind('/')), 0755));
    ASSERT_TRUE(os::ReplaceFile(whole, text, 0644));
  }
  std::vector<CdiDocumentFile> Read() { return ReadCdiFiles({dir_ + "/etc", dir_ + "/run"}); }
  // The errors, one a line, without the directory.
  std::string Wrong() {
    std::string text;
    for (const Error& error : CheckCdiFiles(Read(), HostFiles(), geteuid()).errors) {
      std::string line = error.message;
      for (size_t at = 0; (at = line.find(dir_, at)) != std::string::npos;) {
        line.erase(at, dir_.size());
      }
      text += line + "\n";
    }
    return text;
  }
  static std::string With(const std::string& kind, const std::string& edits) {
    return R"({"cdiVersion": "0.5.0", "kind": ")" + kind +
           R"(", "devices": [{"name": "x", "containerEdits": )" + edits + "}]}";
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
};

constexpr char kEnv[] = R"({"env": ["A=1"]})";

TEST_F(CdiFilesTest, DevicesAreListedWithWhoseTheyAre) {
  Write("run/tessera-ab.com_gpu.json", With("ab.com/gpu", kEnv));
  Write("etc/other.yaml",
        "cdiVersion: 0.5.0\nkind: other.com/gpu\ndevices:\n- name: \"0\"\n"
        "  containerEdits: {env: [A=1]}\n");
  Write("run/none.txt", "{");
  EXPECT_EQ(CdiListText(Read()), "other.com/gpu=0  others  " + dir_ + "/etc/other.yaml\n" +
                                     "ab.com/gpu=x     ours    " + dir_ +
                                     "/run/tessera-ab.com_gpu.json\n");
}

TEST_F(CdiFilesTest, GoodDocumentsAreGood) {
  Write("run/a.json", With("ab.com/gpu", R"({"deviceNodes": [{"path": "/dev/null"}]})"));
  Write("etc/a.json", With("ab.com/gpu", kEnv));  // the other directory has the last word
  EXPECT_EQ(Wrong(), "");
}

TEST_F(CdiFilesTest, WhatRuntimesRefuseIsSaid) {
  Write("run/a.json", With("ab.com/gpu", kEnv));
  Write("run/b.json", With("ab.com/gpu", kEnv));
  Write("run/c.json", With("ab.com/g", kEnv));
  ASSERT_EQ(symlink("/dev/null", (dir_ + "/link").c_str()), 0);
  Write("run/d.json", With("cd.com/gpu", R"({"deviceNodes": [{"path": ")" + dir_ + R"(/link"},)" +
                                             R"({"path": "/dev/null", "major": 1, "minor": 9}],)" +
                                             R"("mounts": [{"hostPath": ")" + dir_ +
                                             R"(/gone", "containerPath": "/a"}]})"));
  EXPECT_EQ(Wrong(),
            "/run/b.json: ab.com/gpu=x is also in /run/a.json, so no runtime injects it\n"
            "/run/c.json: kind ab.com/g is not vendor/class with at least two characters each; "
            "containerd crashes on one\n"
            "/run/d.json: x needs /link, which is not a device node: runtimes do not follow links, "
            "so the document must have its type and numbers\n"
            "/run/d.json: x has /dev/null as 1:9, but it is 1:3: the document is out of date\n"
            "/run/d.json: x needs /gone, which is not there\n");
}

TEST_F(CdiFilesTest, WhatCannotBeSeenFromHereIsNotCalledMissing) {
  Write("run/a.json",
        With("ab.com/gpu", R"({"deviceNodes": [{"path": "/dev/tessera-nothing"}, {"path":)"
                           R"( "/dev/null"}], "hooks": [{"hookName": "createContainer",)"
                           R"( "path": "/usr/bin/tessera-nothing"}]})"));
  const HostFiles pod({}, [](const std::string&) { return false; });
  const CdiFindings findings = CheckCdiFiles(Read(), pod, geteuid());
  EXPECT_EQ(findings.errors, std::vector<Error>());
  EXPECT_EQ(findings.unseen,
            (std::set<std::string>{"/dev/tessera-nothing", "/usr/bin/tessera-nothing"}));
}

TEST_F(CdiFilesTest, WhoCouldChangeThemIsSaid) {
  Write("run/a.json", With("ab.com/gpu", kEnv));
  ASSERT_EQ(chmod((dir_ + "/run/a.json").c_str(), 0646), 0);
  EXPECT_EQ(Wrong(), "/run/a.json: users other than root can write it: user " +
                         std::to_string(geteuid()) + ", group " + std::to_string(getegid()) +
                         ", 0646\n");
}

}  // namespace
}  // namespace tessera::cli
