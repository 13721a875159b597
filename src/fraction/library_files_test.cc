// SPDX-License-Identifier: Apache-2.0
#include "fraction/library_files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fraction/grant_binder_under_test.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

constexpr char kSource[] = "/image/libvgpu.so";
constexpr char kLibraryDirectory[] = "/usr/local/vgpu";
const std::string kElf =
    "\x7f"
    "ELF";

class LibraryFilesTest : public GrantBinderTest {
 protected:
  LibraryFilesTest() { EXPECT_TRUE(os::MakeDirectories(directory_ + "/image", 0755)); }

  // The installed path on the host, or the error.
  std::string Install(const std::string& library) {
    EXPECT_TRUE(os::ReplaceFile(directory_ + kSource, library));
    const auto installed = InstallLibrary(root_, kSource, kLibraryDirectory);
    return installed ? *installed : installed.error().Text();
  }
  std::vector<std::string> Files() const {
    return os::ListDirectory(directory_ + kLibraryDirectory).value();
  }
  void RemoveAllBut(const std::string& newest) { old_.Remove({{kLibraryDirectory, {newest}}}); }
  // kubelet has granted this library in an answer to Allocate.
  void Mount(const std::string& library) {
    Hold("uid-1", "app", {Share(0, 0)}, Field(2, Field(1, "/l") + Field(2, library)));
  }

  const os::Root root_{directory_};
  OldLibraries old_{directory_ + "/kubelet/kubelet_internal_checkpoint", directory_ + "/state",
                    root_, clock_};
};

TEST_F(LibraryFilesTest, EachVersionHasANameOfItsContentsAndOneThatIsThereIsNotWrittenAgain) {
  const std::string one = Install(kElf + "1");
  const std::string two = Install(kElf + "2");

  EXPECT_EQ(one.substr(0, one.rfind('.')), "/usr/local/vgpu/libvgpu.so");
  EXPECT_NE(one, two);
  EXPECT_EQ(os::ReadFile(directory_ + one), kElf + "1");
  EXPECT_EQ(os::ReadFile(directory_ + two), kElf + "2");
  EXPECT_EQ(os::Inspect(directory_ + one)->mode, 0755U);
  EXPECT_EQ(os::ReadFile(directory_ + kLibrary), "a library");  // another program's

  const auto before = os::Inspect(directory_ + one);
  EXPECT_EQ(Install(kElf + "1"), one);
  EXPECT_EQ(os::Inspect(directory_ + one), before);
}

TEST_F(LibraryFilesTest, WhoHasADamagedFileLoadedKeepsItWhenItIsMended) {
  const std::string path = directory_ + Install(kElf + "1");
  ASSERT_TRUE(os::ReplaceFile(path, "damaged"));
  const auto in_use = os::Inspect(path);

  Install(kElf + "1");

  EXPECT_EQ(os::ReadFile(path), kElf + "1");
  EXPECT_NE(os::Inspect(path)->inode, in_use->inode);
}

TEST_F(LibraryFilesTest, WhatNoLoaderTakesIsNotInstalled) {
  const std::string refusal = Install("#!/bin/sh\n");
  EXPECT_EQ(refusal.substr(0, refusal.find(']') + 1),
            "/image/libvgpu.so is not a library that a program can load [not-enforced]");
  EXPECT_EQ(Files(), std::vector<std::string>{"libvgpu.so"});
}

TEST_F(LibraryFilesTest, GrantsNameWhatWasInstalledAndNothingWhereItCouldNotBe) {
  config::Config config;
  config.root_prefix = directory_;
  config::Resource& resource = config.resources.emplace_back();
  resource.name = kGpu;
  resource.rendering = rendering_;
  resource.rendering.fractions->install = kSource;
  InstallLibraries(config);
  EXPECT_EQ(resource.rendering.fractions->library, "");

  const std::string installed = Install(kElf);
  InstallLibraries(config);
  EXPECT_EQ(resource.rendering.fractions->library, installed);

  resource.rendering = rendering_;
  InstallLibraries(config);
  EXPECT_EQ(resource.rendering, rendering_);
}

// A node that had HAMi: since 2.5 its plugin leaves only a versioned library.
TEST_F(LibraryFilesTest, HamisIsTheHighestVersionElseThePlainOneAndNeverOneOfOurs) {
  const std::string prefix = directory_ + "/usr/local/vgpu/libvgpu.so";
  const auto found = [&] { return FindLibrary(root_, kLibraryDirectory); };
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so");
  Install(kElf + "1");
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so");
  ASSERT_TRUE(os::ReplaceFile(prefix + ".v2.9.1", "HAMi's"));
  ASSERT_TRUE(os::ReplaceFile(prefix + ".v2.10.0-rc.1", "HAMi's"));
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so.v2.10.0-rc.1");
  ASSERT_TRUE(os::ReplaceFile(prefix + ".v2.10.0", "HAMi's"));
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so.v2.10.0");
  ASSERT_TRUE(os::ReplaceFile(prefix + ".v3", std::string("Tessera's, ") + limiter::kLibraryMark));
  ASSERT_TRUE(os::MakeDirectories(prefix + ".v4"));
  ASSERT_TRUE(os::ReplaceLink(prefix + ".v5", "nowhere"));
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so.v2.10.0");
  ASSERT_TRUE(os::RemoveTree(directory_ + kLibraryDirectory));
  EXPECT_EQ(found(), "/usr/local/vgpu/libvgpu.so");
}

TEST_F(LibraryFilesTest, AVersionThatComesLaterIsForNewGrants) {
  FractionRules& fractions = *rendering_.fractions;
  fractions.library_by_rule = true;
  EXPECT_FALSE(FindLibraryAnew(root_, fractions));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  ASSERT_TRUE(os::ReplaceFile(directory_ + kLibrary + ".v2.10.0", "HAMi's"));
  EXPECT_TRUE(FindLibraryAnew(root_, fractions));
  EXPECT_EQ(fractions.library, "/usr/local/vgpu/libvgpu.so.v2.10.0");
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const auto has = [&](const std::string& name, const std::string& library) {
    const auto text = os::ReadFile(directory_ + "/cdi/" + GrantFileName(name)).value();
    return text.find("\"hostPath\": \"" + library + "\"") != std::string::npos;
  };
  EXPECT_TRUE(has(kOne, kLibrary));
  EXPECT_TRUE(has(kOther, fractions.library));
}

TEST_F(LibraryFilesTest, WhereItIsMissingWhatLiesBesideItIsNamed) {
  FractionRules& fractions = *rendering_.fractions;
  EXPECT_TRUE(CheckLibrary(root_, fractions));
  fractions.library = "/usr/local/vgpu/libvgpu.so.2";
  EXPECT_EQ(CheckLibrary(root_, fractions).error(),
            (Error{Reason::kNotEnforced,
                   "the limiting library is not at /usr/local/vgpu/libvgpu.so.2; its directory has "
                   "libvgpu.so"}));
}

// Containers that HAMi's plugin or a former agent bound keep their lock after Tessera's library was
// installed.
TEST_F(LibraryFilesTest, AContainerOfHamisLibraryHasItsLockStill) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string before = os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)).value();
  ASSERT_NE(before.find("\"/tmp/vgpulock\""), std::string::npos);

  rendering_.fractions->library = Install(kElf + limiter::kLibraryMark);
  rendering_.fractions->own_library = true;
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)), before);
}

TEST_F(LibraryFilesTest, WithoutTheLibraryNoContainerIsMade) {
  rendering_.fractions->library = "";
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));

  EXPECT_EQ(Bind({Share(0, 0)}),
            "not-enforced: the limiting library could not be copied into /usr/local/vgpu; see the "
            "agent's log");
}

TEST_F(LibraryFilesTest, AContainerThatStartsAgainHasTheVersionThatItBeganWith) {
  rendering_.fractions->library = Install(kElf + "1");
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string before = os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)).value();
  ASSERT_NE(before.find(rendering_.fractions->library), std::string::npos);

  rendering_.fractions->library = Install(kElf + "2");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)), before);

  // Another party removes it.
  ASSERT_TRUE(os::RemoveFile(directory_ + Install(kElf + "1")));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string after = os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)).value();
  EXPECT_NE(after.find(rendering_.fractions->library), std::string::npos);
}

TEST_F(LibraryFilesTest, ALicenceAndWhatLooksAtItReachContainersTogether) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  const auto is_licensed = [&] {
    EXPECT_EQ(Bind({Share(0, 0)}), "");
    const std::string text = os::ReadFile(directory_ + "/cdi/" + GrantFileName(kOne)).value();
    return text.find("/tmp/license") != std::string::npos &&
           text.find("/usr/bin/vgpuvalidator") != std::string::npos;
  };
  ASSERT_TRUE(os::ReplaceFile(directory_ + kLibraryDirectory + "/license", "a licence"));
  EXPECT_FALSE(is_licensed());
  ASSERT_TRUE(os::ReplaceFile(directory_ + kLibraryDirectory + "/vgpuvalidator", "a program"));
  EXPECT_TRUE(is_licensed());
}

TEST_F(LibraryFilesTest, AVersionThatNothingNamesIsRemovedAfterAWhile) {
  const std::string one = Install(kElf + "1");
  const std::string two = Install(kElf + "2");
  ASSERT_TRUE(os::ReplaceFile(directory_ + kLibraryDirectory + "/libvgpu.so.v2.10.0", "HAMi's"));

  RemoveAllBut(two);
  clock_.Advance(OldLibraries::kUnnamed - Duration(1));
  RemoveAllBut(two);
  EXPECT_TRUE(os::Exists(directory_ + one));

  clock_.Advance(Duration(1));
  RemoveAllBut(two);
  EXPECT_EQ(Files(), (std::vector<std::string>{"libvgpu.so", two.substr(two.rfind('/') + 1),
                                               "libvgpu.so.v2.10.0"}));
}

TEST_F(LibraryFilesTest, WhatAGrantNamesStays) {
  const std::string by_document = Install(kElf + "1");
  rendering_.fractions->library = by_document;
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(1, 0)}), "");
  const std::string by_answer = Install(kElf + "2");
  Mount(by_answer);
  const std::string newest = Install(kElf + "3");

  RemoveAllBut(newest);
  clock_.Advance(OldLibraries::kUnnamed);
  RemoveAllBut(newest);
  EXPECT_TRUE(os::Exists(directory_ + by_document));
  EXPECT_TRUE(os::Exists(directory_ + by_answer));

  // If the checkpoint cannot be read, the removal waits for it.
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint", "torn"));
  ASSERT_TRUE(os::RemoveTree(directory_ + "/state"));
  RemoveAllBut(newest);
  EXPECT_TRUE(os::Exists(directory_ + by_answer));
}

}  // namespace
}  // namespace tessera
