// SPDX-License-Identifier: Apache-2.0
#include "os/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tessera::os {
namespace {

constexpr uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE |
                           IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr ssize_t kLongestEvent = sizeof(inotify_event) + NAME_MAX + 1;

}  // namespace

Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::Make(Loop& loop, Duration poll,
                                                             std::function<void()> changed) {
  Fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) return Fail(SystemError("cannot start inotify", errno));
  std::unique_ptr<DirectoryWatch> watch(
      new DirectoryWatch(loop, poll, std::move(inotify), std::move(changed)));
  return watch;
}

DirectoryWatch::DirectoryWatch(Loop& loop, Duration poll, Fd inotify, std::function<void()> changed)
    : inotify_(std::move(inotify)), changed_(std::move(changed)), loop_(loop), poll_(poll) {
  readable_ = loop.WhenReadable(inotify_.get(), [this] { Drain(); });
}

void DirectoryWatch::Watch(std::set<std::string> directories) {
  std::erase_if(watched_, [&](const auto& item) {
    if (directories.contains(item.first)) return false;
    if (item.second >= 0) inotify_rm_watch(inotify_.get(), item.second);
    return true;
  });
  for (const std::string& directory : directories) watched_.try_emplace(directory, -1);
  Renew();
  PollAgain();
}

void DirectoryWatch::PollAgain() {
  const bool all = std::all_of(watched_.begin(), watched_.end(),
                               [](const auto& item) { return item.second >= 0; });
  next_poll_ = loop_.After(NextPoll(poll_, all), [this] {
    const bool changed = Renew();
    PollAgain();
    if (changed) changed_();
  });
}

void DirectoryWatch::Drain() {
  // The events' content is ignored: it is incomplete after an overflow, and the listener reads the
  // directory anyway. Only IN_IGNORED, the echo of our own inotify_rm_watch, is filtered out.
  alignas(inotify_event) char buffer[8192];
  bool told = false;
  constexpr ssize_t kFull = sizeof buffer - kLongestEvent;  // the buffer was full: read again
  ssize_t n = kFull + 1;
  while (n > kFull && (n = read(inotify_.get(), buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      told |= event->mask != IN_IGNORED;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  if (Renew()) {
    told = true;
    PollAgain();
  }
  if (told) changed_();
}

// The kernel returns the same descriptor if it still watches this very directory, even after lost
// events. An inode check would not suffice, because a new directory may reuse the inode.
bool DirectoryWatch::Renew() {
  bool changed = false;
  for (auto& [path, descriptor] : watched_) {
    int now = inotify_add_watch(inotify_.get(), path.c_str(), kMask);
    // An existing directory that cannot be watched is polled: any check may find a change.
    changed |= now != descriptor || (now < 0 && errno != ENOENT && errno != ENOTDIR);
    // The kernel drops the watch of a removed directory. For a moved one we must remove it.
    if (now != descriptor && descriptor >= 0) inotify_rm_watch(inotify_.get(), descriptor);
    descriptor = now;
  }
  return changed;
}

}  // namespace tessera::os
