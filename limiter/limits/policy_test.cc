// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/policy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tessera::limiter {
namespace {

// No agent loads the library here.
const Mounts& NoAgent() {
  static const Mounts mounts("/nowhere/ld.so.preload", "/nowhere/mountinfo");
  return mounts;
}

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() {
    std::string path = (std::filesystem::temp_directory_path() / "policy-XXXXXX").string();
    directory_ = mkdtemp(path.data());
  }
  ~PolicyTest() override { std::filesystem::remove_all(directory_); }

  std::string Path() const { return directory_ / "no-limits"; }
  // "open", or "closed" with its reason.
  std::string Policy(bool built) const {
    Limits limits;
    ReadPolicy(Path().c_str(), built, NoAgent(), &limits);
    const std::string reason = limits.reason;
    if (!limits.closed) return reason.empty() ? "open" : "open, " + reason;
    const std::string place = Path() + ": ";
    return reason.starts_with(place) ? "closed, " + reason.substr(place.size()) : "closed" + reason;
  }
  std::string PolicyBy(const std::string& text, bool built = false) const {
    std::ofstream(Path()) << text;
    return Policy(built);
  }

  std::filesystem::path directory_;
};

TEST_F(PolicyTest, WithoutAFileItIsAsTheLibraryWasBuilt) {
  EXPECT_EQ(Policy(false), "open");
  EXPECT_EQ(Policy(true), "closed");
}

TEST_F(PolicyTest, AFileSaysOpenOrClosed) {
  EXPECT_EQ(PolicyBy("open\n"), "open");
  EXPECT_EQ(PolicyBy("closed\n"), "closed");
  EXPECT_EQ(PolicyBy(" closed "), "closed");
  EXPECT_EQ(PolicyBy("closed\n", true), "closed");
}

TEST_F(PolicyTest, OrThatItIsAsTheLibraryWasBuilt) {
  EXPECT_EQ(PolicyBy("built\n"), "open");
  EXPECT_EQ(PolicyBy("built\n", true), "closed");
}

TEST_F(PolicyTest, WhateverElseItSaysIsClosedAndSaid) {
  const std::string meant = "closed, counts as closed, because it is neither open nor closed:";
  EXPECT_EQ(PolicyBy(""), meant);
  EXPECT_EQ(PolicyBy("Open\n"), meant + " 'Open'");
  EXPECT_EQ(PolicyBy("open\nclosed\n"), meant + " 'open'");
  EXPECT_EQ(PolicyBy("open\n" + std::string(100, ' ')), meant + " 'open'");
  EXPECT_EQ(PolicyBy(std::string(100, 'x')), meant + " '" + std::string(32, 'x') + "'");
}

TEST_F(PolicyTest, WhatDoesNotOpenOrReadIsClosedAndSaid) {
  std::filesystem::create_symlink("/dev/null", Path());
  EXPECT_EQ(Policy(false), "closed, it exists but cannot be opened, which counts as closed");
  std::filesystem::remove(Path());
  std::filesystem::create_directory(Path());
  EXPECT_EQ(Policy(false), "closed, counts as closed, because it is neither open nor closed:");
}

// Otherwise the container could open a library that was built closed.
TEST_F(PolicyTest, OpenCountsOverAClosedLibraryOnlyWhereNobodyCanHaveWrittenIt) {
  EXPECT_EQ(PolicyBy("open\n", true),
            "closed, open counts only on a read-only mount; it counts as closed");
}

TEST_F(PolicyTest, ThatMemoryIsDeniedAnywayStaysTheReason) {
  std::ofstream(Path()) << "perhaps";
  Limits limits;
  limits.broken = true;
  std::snprintf(limits.reason, sizeof limits.reason, "line 3: memory is set twice");
  ReadPolicy(Path().c_str(), false, NoAgent(), &limits);
  EXPECT_TRUE(limits.closed);
  EXPECT_STREQ(limits.reason, "line 3: memory is set twice");
}

}  // namespace
}  // namespace tessera::limiter
