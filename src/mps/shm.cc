// SPDX-License-Identifier: Apache-2.0
#include "mps/shm.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/log.h"
#include "base/text.h"
#include "os/files.h"

namespace tessera::mps {
namespace {

constexpr char kFallback[] = "size=65536k";

bool IsMounted(const std::string& directory) {
  struct statfs info{};
  return statfs(directory.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC &&
         !os::OnSameMount(directory, directory + "/..");
}

}  // namespace

std::string ShmSize(std::string_view meminfo) {
  constexpr std::string_view kTotal = "MemTotal:";
  for (const std::string& line : Split(meminfo, '\n')) {
    if (!line.starts_with(kTotal)) continue;
    const std::string_view text = Trim(std::string_view(line).substr(kTotal.size()));
    uint64_t total = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), total);
    if (read.ec != std::errc()) return kFallback;
    const std::string_view unit = Trim(text.substr(static_cast<size_t>(read.ptr - text.data())));
    return fmt::format("size={}{}", total / 2, unit.substr(0, 1));
  }
  return kFallback;
}

Status MountShm(const std::string& directory) {
  TRY(os::MakeDirectories(directory, 0755));
  if (IsMounted(directory)) {
    log::Info("shared memory of MPS is mounted already", {{"directory", directory}});
    return {};
  }
  const std::string size = ShmSize(os::ReadFile("/proc/meminfo").value_or(""));
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;
  if (mount("shm", directory.c_str(), "tmpfs", kFlags, size.c_str()) != 0) {
    return Fail(SystemError("cannot mount a tmpfs at " + directory, errno));
  }
  log::Info("shared memory of MPS is mounted", {{"directory", directory}, {"options", size}});
  return {};
}

}  // namespace tessera::mps
