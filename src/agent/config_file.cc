// SPDX-License-Identifier: Apache-2.0
#include "agent/config_file.h"

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

// For file systems without inotify, and for files behind links.
constexpr Duration kPoll = os::kRestingPoll;

std::optional<std::string> TextOf(const std::string& path) {
  auto text = os::ReadFile(path);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

}  // namespace

ConfigFile::ConfigFile(os::Loop& loop, AgentOptions options,
                       std::function<void(const config::LoadResult&)> loaded)
    : loop_(loop), options_(std::move(options)), loaded_(std::move(loaded)) {}

std::string ConfigFile::path() const {
  return options_.config_file.value_or(config::kDefaultFile);
}

config::LoadResult ConfigFile::Read() {
  text_ = TextOf(path());
  return config::LoadFile(options_.config_file, options_.environment, options_.flags);
}

void ConfigFile::Watch() {
  hangup_ = loop_.OnSignal(SIGHUP, [this] { Reload(); });
  poll_ = loop_.Every(kPoll, [this] { Changed(); });
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

// Events of the directory concern other files too, and a swap takes several steps, in the midst of
// which the file may be missing: only another text counts.
void ConfigFile::Changed() {
  auto text = TextOf(path());
  if (text && text != text_) Reload();
}

// A file that was there and is gone is no order to serve nothing.
void ConfigFile::Reload() {
  if (text_ && !TextOf(path())) {
    log::LogError("the configuration file is gone, the former configuration stays",
                  {{"file", path()}});
    return;
  }
  loaded_(Read());
}

}  // namespace tessera::agent
