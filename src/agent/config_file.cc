// SPDX-License-Identifier: Apache-2.0
#include "agent/config_file.h"

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "config/schema/yaml.h"
#include "os/alarm.h"

namespace tessera::agent {
namespace {

// For directories that are not there yet.
constexpr Duration kPoll = os::kRestingPoll;
// A swap takes several steps, in the midst of which the file may be missing for a moment.
constexpr Duration kSwap{500};

}  // namespace

ConfigFile::ConfigFile(os::Loop& loop, AgentOptions options,
                       std::function<void(const config::LoadResult&)> loaded)
    : loop_(loop), options_(std::move(options)), loaded_(std::move(loaded)) {}

config::LoadResult ConfigFile::Read() {
  const std::string& file = options_.config_file;
  if (file.empty()) return options_.load(std::nullopt);
  text_ = config::ReadText(file);
  had_file_ |= text_.has_value();
  // A file that was there and is gone is no order to serve nothing.
  const bool may_be_absent = options_.may_be_absent && !had_file_;
  return options_.load(may_be_absent ? std::nullopt : std::optional(file));
}

void ConfigFile::Watch() {
  hangup_ = loop_.OnSignal(SIGHUP, [this] { Reload(); });
  if (options_.config_file.empty()) return;
  PollAgain();
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] { Changed(); });
  if (!watch) {
    log::Warn("the configuration is watched by polling alone", watch.error());
    return;
  }
  watch_ = *std::move(watch);
  const std::string& file = options_.config_file;
  size_t slash = file.rfind('/');
  watch_->Watch({slash == std::string::npos ? "." : file.substr(0, std::max<size_t>(slash, 1))});
}

// For file systems without inotify, and for files behind links.
void ConfigFile::PollAgain() {
  poll_ = loop_.After(os::UntilBeat(os::kRestingPoll), [this] {
    PollAgain();
    Changed();
  });
}

// Events of the directory concern other files too: only another text counts, or that there is none.
void ConfigFile::Changed() {
  auto text = config::ReadText(options_.config_file);
  if (text != text_) {
    if (text) return Reload();
    if (!swap_) swap_ = loop_.After(kSwap, [this] { Gone(); });
  }
}

void ConfigFile::Gone() {
  swap_ = os::Loop::Handle();
  auto text = config::ReadText(options_.config_file);
  if (text != text_) Reload();
}

void ConfigFile::Reload() {
  loaded_(Read());
}

}  // namespace tessera::agent
