// SPDX-License-Identifier: Apache-2.0
#include "config/watched_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "base/log.h"
#include "config/schema/yaml.h"
#include "os/alarm.h"

namespace tessera::config {
namespace {

// For directories that do not exist yet.
constexpr Duration kPoll = os::kRestingPoll;
// During a swap, which takes several steps, the file may be missing for a moment.
constexpr Duration kSwap{500};

std::string DirectoryOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, std::max<size_t>(slash, 1));
}

std::string Named(const std::string& format) {
  return format.empty() ? "Tessera's" : format;
}

}  // namespace

WatchedFile::WatchedFile(os::Loop& loop, FileOptions options,
                         std::function<void(const LoadResult&)> loaded)
    : loop_(loop), options_(std::move(options)), loaded_(std::move(loaded)) {}

LoadResult WatchedFile::Read() {
  const std::string& file = options_.file;
  if (file.empty()) return options_.load(std::nullopt);
  further_texts_ = FurtherTexts();
  text_ = ReadText(file);
  had_file_ |= text_.has_value();
  // A missing file that was there before must not stop the agent's service.
  const bool may_be_absent = options_.may_be_absent && !had_file_;
  LoadResult loaded = options_.load(may_be_absent ? std::nullopt : std::optional(file));
  if (!loaded.ok() || !text_) return loaded;
  if (format_ && loaded.taken_for != *format_) {
    loaded.errors.push_back({.reason = Reason::kConfigVersion,
                             .origin = file,
                             .message = fmt::format("this is {} configuration now, and was {}; "
                                                    "start the agent again to change the format",
                                                    Named(loaded.taken_for), Named(*format_))});
  } else {
    format_ = loaded.taken_for;
  }
  return loaded;
}

void WatchedFile::Watch() {
  hangup_ = loop_.OnSignal(SIGHUP, [this] { Reload(); });
  if (options_.file.empty()) return;
  PollAgain();
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] { Changed(); });
  if (!watch) {
    log::Warn("the configuration is watched by polling only", watch.error());
    return;
  }
  watch_ = *std::move(watch);
  std::set<std::string> directories = {DirectoryOf(options_.file)};
  for (const std::string& file : options_.further_files) directories.insert(DirectoryOf(file));
  watch_->Watch(std::move(directories));
}

// Needed for file systems without inotify, and for files behind links.
void WatchedFile::PollAgain() {
  poll_ = loop_.After(os::UntilBeat(os::kRestingPoll), [this] {
    PollAgain();
    Changed();
  });
}

// The watch reports other files of the directory too. So the texts are compared. A missing text
// counts only after kSwap.
void WatchedFile::Changed() {
  bool gone = false;
  const auto changed = [&gone](const Result<std::string>& text, const Result<std::string>& before) {
    if (text == before) return false;
    gone |= !text;
    return text.has_value();
  };
  if (changed(ReadText(options_.file), text_)) return Reload();
  const std::vector<Result<std::string>> texts = FurtherTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (changed(texts[i], further_texts_[i])) return Reload();
  }
  if (gone && !swap_) swap_ = loop_.After(kSwap, [this] { Gone(); });
}

void WatchedFile::Gone() {
  swap_ = os::Loop::Handle();
  const bool same = ReadText(options_.file) == text_;
  if (!same || FurtherTexts() != further_texts_) Reload();
}

std::vector<Result<std::string>> WatchedFile::FurtherTexts() const {
  std::vector<Result<std::string>> texts;
  for (const std::string& file : options_.further_files) texts.push_back(ReadText(file));
  return texts;
}

void WatchedFile::Reload() {
  loaded_(Read());
}

}  // namespace tessera::config
