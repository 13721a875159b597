// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace tessera {
namespace {

bool IsKebabCase(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  return !name.empty() && name.front() != '-' && name.back() != '-' &&
         name.find("--") == std::string_view::npos && std::all_of(name.begin(), name.end(), fits);
}

// The page's headings "### name", and which of them have no text below.
struct Page {
  std::vector<std::string> headings;
  std::vector<std::string> empty;
};

Page ReadPage() {
  Page page;
  std::ifstream file("docs/reference/errors.md");
  bool has_text = true;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) {
      has_text = has_text || !line.empty();
      continue;
    }
    if (!has_text) page.empty.push_back(page.headings.back());
    has_text = !line.starts_with("### ");
    if (!has_text) page.headings.push_back(line.substr(4));
  }
  if (!has_text) page.empty.push_back(page.headings.back());
  return page;
}

TEST(Reasons, NamesAreKebabCase) {
  for (Reason reason : AllReasons())
    EXPECT_TRUE(IsKebabCase(ReasonName(reason))) << ReasonName(reason);
}

TEST(Reasons, NamesAreUnique) {
  std::set<std::string_view> names;
  for (Reason reason : AllReasons()) {
    EXPECT_TRUE(names.insert(ReasonName(reason)).second) << ReasonName(reason);
  }
}

TEST(Reasons, EveryOneHasAdvice) {
  for (Reason reason : AllReasons())
    EXPECT_GT(ReasonAdvice(reason).size(), 10U) << ReasonName(reason);
}

TEST(Reasons, AdviceIsPartOfASentence) {
  for (Reason reason : AllReasons())
    EXPECT_NE(ReasonAdvice(reason).back(), '.') << ReasonName(reason);
}

TEST(Reasons, NamesLeadBackToTheReason) {
  for (Reason reason : AllReasons()) EXPECT_EQ(ReasonFromName(ReasonName(reason)), reason);
  EXPECT_EQ(ReasonFromName("no-such-reason"), std::nullopt);
}

// The page is ordered for its readers, the catalogue by the folders that own the reasons.
TEST(Reasons, ThePageOfErrorsHasThemAllOnce) {
  std::vector<std::string> names;
  for (Reason reason : AllReasons()) names.emplace_back(ReasonName(reason));
  std::vector<std::string> headings = ReadPage().headings;
  std::ranges::sort(names);
  std::ranges::sort(headings);

  EXPECT_EQ(headings, names);
}

TEST(Reasons, ThePageOfErrorsSaysSomethingAboutEachOne) {
  EXPECT_EQ(ReadPage().empty, std::vector<std::string>());
}

TEST(Error, TextHasMessageNameAndAdvice) {
  const Error error{Reason::kEmptyRequest, "dummy.com/npu: the request names no device"};

  EXPECT_EQ(
      error.Text(),
      "dummy.com/npu: the request names no device [empty-request]: ask for at least one device "
      "in the container's limits");
}

TEST(Error, ContextComesBeforeTheMessage) {
  const Error error{Reason::kIo, "disk full"};

  EXPECT_EQ(error.In("state"), (Error{Reason::kIo, "state: disk full"}));
}

TEST(Error, SystemErrorsMapToReasons) {
  EXPECT_EQ(SystemError("open /x", ENOENT),
            (Error{Reason::kNotFound, "open /x: No such file or directory"}));
  EXPECT_EQ(SystemError("open /x", EACCES).reason, Reason::kPermission);
  EXPECT_EQ(SystemError("open /x", EPERM).reason, Reason::kPermission);
  EXPECT_EQ(SystemError("open /x", ENOSPC).reason, Reason::kIo);
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Fail(Reason::kInvalid, "{} is odd", n);
  return n / 2;
}
Result<int> Quarter(int n) {
  const int half = TRY_IN(Half(n), "first half");
  return TRY(Half(half));
}

TEST(Result, TryYieldsTheValue) {
  EXPECT_EQ(Quarter(8), 2);
}

TEST(Result, TryReturnsTheError) {
  EXPECT_EQ(Quarter(6).error(), (Error{Reason::kInvalid, "3 is odd"}));
}

TEST(Result, TryInAddsContext) {
  EXPECT_EQ(Quarter(5).error(), (Error{Reason::kInvalid, "first half: 5 is odd"}));
}

}  // namespace
}  // namespace tessera
