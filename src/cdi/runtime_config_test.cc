// SPDX-License-Identifier: Apache-2.0
#include "cdi/runtime_config.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/log.h"

namespace tessera {
namespace {

constexpr const char* kMain = "/etc/containerd/config.toml";
constexpr const char* kYes = "[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = true\n";
constexpr const char* kNo = "[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = false\n";

class RuntimeConfigTest : public testing::Test {
 protected:
  RuntimeConfigTest() {
    log::SetSink([this](std::string_view line) { logged_ += fmt::format("{}\n", line); });
  }
  ~RuntimeConfigTest() override {
    log::SetSink(nullptr);
    (void)os::RemoveTree(directory_);
  }

  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::MakeDirectories(directory_ + path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }
  // The answer for containerd's configuration with this text.
  std::string SaidBy(const std::string& text) {
    Put(kMain, text);
    switch (ContainerdSays(os::Root(directory_), kMain)) {
      case Says::kYes:
        return "yes";
      case Says::kNo:
        return "no";
      default:
        return "nothing";
    }
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-containerd-").value();
  std::string logged_;
};

TEST_F(RuntimeConfigTest, WhereThereIsNoneItSaysNothing) {
  EXPECT_EQ(ContainerdSays(os::Root(directory_), kMain), Says::kNothing);
  EXPECT_EQ(logged_, "");
}

TEST_F(RuntimeConfigTest, EveryFormOfTomlMeansTheSame) {
  for (const char* yes : {
           "[plugins.'io.containerd.cri.v1.runtime'] # CRI\n  enable_cdi=true\n",
           "[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n    enable_cdi = true # on\n",
           "plugins.'io.containerd.cri.v1.runtime'.enable_cdi = true\n",
           "plugins = {'io.containerd.cri.v1.runtime' = {enable_cdi = true}}\n",
           "[plugins.cri]\r\nenable_cdi = true\r\n",
           "x = \"\"\"\n[plugins.cri]\nenable_cdi = false\n\"\"\"\n[plugins.cri]\nenable_cdi = "
           "true\n",
       }) {
    EXPECT_EQ(SaidBy(yes), "yes") << yes;
  }
  for (const char* nothing :
       {"", "# [plugins.cri]\n# enable_cdi = true\n", "enable_cdi = true\n",
        "[plugins.nri]\nenable_cdi = true\n", "plugins = 3\n", "plugins = {cri = 3}\n"}) {
    EXPECT_EQ(SaidBy(nothing), "nothing") << nothing;
  }
  EXPECT_EQ(SaidBy("[plugins.cri]\nenable_cdi = 'true'\n"), "no");
  EXPECT_EQ(logged_, "");
}

TEST_F(RuntimeConfigTest, AFormatThatIsNewerThanKnownCountsAsTheNewestKnownAndIsTold) {
  for (const char* version : {"version = 3\n", "version = 4\n"}) {
    EXPECT_EQ(SaidBy(version), "yes") << version;
  }
  EXPECT_EQ(logged_, "");
  EXPECT_EQ(SaidBy("version = 5\n"), "yes");
  EXPECT_EQ(
      logged_.substr(logged_.find("INFO")),
      "INFO containerd's configuration has a newer format than this agent knows; it is read as the "
      "newest known one configuration=/etc/containerd/config.toml version=5 known=4\n");
  EXPECT_EQ(SaidBy("version = 5\n[plugins.'io.containerd.cri.v2.runtime']\nenable_cdi = false\n"),
            "no");
  for (const char* version : {"version = 2\n", "version = '3'\n", "version = -1\n"}) {
    EXPECT_EQ(SaidBy(version), "nothing") << version;
  }
}

TEST_F(RuntimeConfigTest, WhatIsNoTomlSaysNothingAndIsTold) {
  EXPECT_EQ(SaidBy("version = 3\nimports = [\n"), "nothing");
  EXPECT_EQ(logged_.substr(logged_.find("INFO")),
            "INFO cannot read all of containerd's configuration, so its CDI setting is unknown "
            "configuration=/etc/containerd/config.toml error=\"" +
                directory_ +
                "/etc/containerd/config.toml is not valid TOML: line 2: Error while parsing "
                "array: encountered end-of-file\"\n");
  EXPECT_EQ(SaidBy("version = 3\nx = " + std::string(100'000, '[') + "\n"), "nothing");
}

TEST_F(RuntimeConfigTest, CrioIsAskedForItsDirectoriesOfDocuments) {
  const auto says = [&](const std::string& text) {
    Put("/etc/crio/crio.conf", text);
    return CrioSays(os::Root(directory_), "/etc/crio/crio.conf");
  };
  EXPECT_EQ(CrioSays(os::Root(directory_), "/etc/crio/crio.conf"), Says::kNothing);
  EXPECT_EQ(says("[crio.runtime]\ncdi_spec_dirs = [\n\t\"/etc/cdi\",\n]\n"), Says::kYes);
  EXPECT_EQ(says("[crio.runtime]\n# cdi_spec_dirs = [\"/etc/cdi\"]\n"), Says::kNothing);
  EXPECT_EQ(says("["), Says::kNothing);
}

TEST_F(RuntimeConfigTest, AnImportCountsOverTheFileThatNamesIt) {
  Put("/etc/containerd/yes.toml", kYes);
  Put("/etc/containerd/no.toml", kNo);
  EXPECT_EQ(SaidBy("imports = [\"/etc/containerd/yes.toml\"]\nversion = 2\n"), "yes");
  EXPECT_EQ(SaidBy(std::string("imports = [\"/etc/containerd/no.toml\"]\n") + kYes), "no");
  EXPECT_EQ(SaidBy(std::string("imports = [\"/etc/containerd/yes.toml\"]\n") + kNo), "yes");
  EXPECT_EQ(SaidBy("imports = [\"/etc/containerd/no.toml\"]\nversion = 3\n"), "no");
}

TEST_F(RuntimeConfigTest, OfSeveralImportsTheLastCounts) {
  Put("/etc/containerd/a.toml", kYes);
  Put("/etc/containerd/b.toml", kNo);
  EXPECT_EQ(SaidBy("imports = ['/etc/containerd/a.toml', '/etc/containerd/b.toml']\n"), "no");
  EXPECT_EQ(SaidBy("imports = [\n  '/etc/containerd/b.toml',\n  '/etc/containerd/a.toml',\n]\n"),
            "yes");
}

TEST_F(RuntimeConfigTest, AnImportIsLookedForBesideTheFileThatNamesIt) {
  Put("/etc/containerd/conf.d/first.toml", "imports = ['more/second.toml']\n");
  Put("/etc/containerd/conf.d/more/second.toml", kYes);
  EXPECT_EQ(SaidBy("imports = ['conf.d/first.toml']\n"), "yes");
}

TEST_F(RuntimeConfigTest, APatternIsTheFilesThatMatchByTheirNames) {
  Put("/etc/containerd/conf.d/10-a.toml", kNo);
  Put("/etc/containerd/conf.d/99-nvidia.toml", kYes);
  Put("/etc/containerd/conf.d/99-z.toml.old", kNo);
  EXPECT_EQ(SaidBy("imports = ['/etc/containerd/conf.d/*.toml']\n"), "yes");
  EXPECT_EQ(SaidBy("imports = ['conf.*/*-a.toml']\n"), "no");
  EXPECT_EQ(SaidBy("imports = ['/etc/containerd/none.d/*.toml', 'none.*/a']\nversion = 3\n"),
            "yes");
  EXPECT_EQ(logged_, "");
}

TEST_F(RuntimeConfigTest, APatternMatchesAHiddenFileToo) {
  Put("/etc/containerd/conf.d/.hidden.toml", kNo);
  EXPECT_EQ(SaidBy("version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n"), "no");
}

TEST_F(RuntimeConfigTest, WhatIsImportedFirstCountsBeforeWhatThatImports) {
  Put("/etc/containerd/a.toml", std::string("imports = ['c.toml']\n"));
  Put("/etc/containerd/b.toml", kNo);
  Put("/etc/containerd/c.toml", kYes);
  EXPECT_EQ(SaidBy("imports = ['a.toml', 'b.toml']\n"), "yes");
}

TEST_F(RuntimeConfigTest, ImportsThatGoRoundInACircleAreReadOnce) {
  Put("/etc/containerd/a.toml", std::string("imports = ['config.toml', 'a.toml']\n") + kYes);
  EXPECT_EQ(SaidBy("imports = ['a.toml', '/etc/containerd/config.toml']\n"), "yes");
  EXPECT_EQ(logged_, "");
}

TEST_F(RuntimeConfigTest, CriSettingsOfAnImportThatSayNothingOfCdiTakeAYesBack) {
  const char* registry = "[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = '/x'\n";
  Put("/etc/containerd/a.toml", registry);
  EXPECT_EQ(SaidBy(std::string("imports = ['a.toml']\nversion = 2\n") + kYes), "nothing");
  EXPECT_EQ(SaidBy(std::string("imports = ['a.toml']\nversion = 2\n") + kNo), "no");
  EXPECT_EQ(SaidBy("imports = ['a.toml']\nversion = 3\n"), "yes");
}

TEST_F(RuntimeConfigTest, TheFormatIsTheFirstFiles) {
  Put("/etc/containerd/a.toml", "version = 3\n");
  EXPECT_EQ(SaidBy("imports = ['a.toml']\nversion = 2\n"), "nothing");
}

TEST_F(RuntimeConfigTest, OneImportThatSwitchesCriOffIsEnough) {
  Put("/etc/containerd/a.toml", "disabled_plugins = ['io.containerd.grpc.v1.cri']\n");
  EXPECT_EQ(SaidBy("imports = ['a.toml']\nversion = 3\n"), "nothing");
}

TEST_F(RuntimeConfigTest, AnImportThatCannotBeReadTakesAYesBackAndIsTold) {
  EXPECT_EQ(SaidBy("imports = ['gone.toml']\nversion = 3\n"), "nothing");
  EXPECT_EQ(logged_.substr(logged_.find("INFO")),
            "INFO cannot read all of containerd's configuration, so its CDI setting is unknown "
            "configuration=/etc/containerd/config.toml error=\"cannot open " +
                directory_ + "/etc/containerd/gone.toml: No such file or directory\"\n");
  EXPECT_EQ(SaidBy(std::string("imports = ['gone.toml']\n") + kYes), "nothing");
  EXPECT_EQ(SaidBy(std::string("imports = ['gone.toml']\n") + kNo), "no");
}

TEST_F(RuntimeConfigTest, ImportsWithoutEndAreGivenUp) {
  for (int i = 0; i < 200; ++i) {
    Put(fmt::format("/etc/containerd/{}.toml", i), fmt::format("imports = ['{}.toml']\n", i + 1));
  }
  Put("/etc/containerd/200.toml", kYes);
  EXPECT_EQ(SaidBy("imports = ['0.toml']\nversion = 3\n"), "nothing");
  EXPECT_NE(logged_.find("/etc/containerd/config.toml: it imports too many files"),
            std::string::npos)
      << logged_;
  EXPECT_EQ(SaidBy("imports = ['*.toml']\nversion = 3\n"), "nothing");
}

TEST_F(RuntimeConfigTest, AFileThatIsFarTooLongIsNotRead) {
  Put("/etc/containerd/a.toml", std::string(2 << 20, '#'));
  EXPECT_EQ(SaidBy("imports = ['a.toml']\nversion = 3\n"), "nothing");
}

}  // namespace
}  // namespace tessera
