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

std::string ConfigFile::path() const {
  return options_.config_file.value_or(config::kDefaultFile);
}

config::LoadResult ConfigFile::Read() {
  text_ = config::ReadText(path());
  had_file_ |= text_.has_value();
  // A file that was there and is gone is no order to serve nothing.
  const auto file = had_file_ ? std::optional(path()) : options_.config_file;
  return config::LoadFile(file, options_.environment, options_.flags);
}

void ConfigFile::Watch() {
  hangup_ = loop_.OnSignal(SIGHUP, [this] { Reload(); });
  PollAgain();
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] { Changed(); });
  if (!watch) {
    log::Warn("the configuration is watched by polling alone", watch.error());
    return;
  }
  watch_ = *std::move(watch);
  std::string file = path();
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
  auto text = config::ReadText(path());
  if (text != text_) {
    if (text) return Reload();
    if (!swap_) swap_ = loop_.After(kSwap, [this] { Gone(); });
  }
}

void ConfigFile::Gone() {
  swap_ = os::Loop::Handle();
  auto text = config::ReadText(path());
  if (text != text_) Reload();
}

void ConfigFile::Reload() {
  loaded_(Read());
}

}  // namespace tessera::agent
