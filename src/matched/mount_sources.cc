// SPDX-License-Identifier: Apache-2.0
#include "matched/mount_sources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "grant/fraction.h"
#include "hami/names.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

using Type = os::FileInfo::Type;

// Files, by their path in containers: the limiting library's, and its licence's.
constexpr std::array<std::string_view, 5> kFiles = {"/etc/ld.so.preload", "/tmp/license",
                                                    "/usr/bin/vgpuvalidator", limiter::kLimitsPath,
                                                    limiter::kNoLimitsPath};
constexpr std::string_view kLibraryName = "/libvgpu.so";
// Mounted in place of a device; the runtime must see it.
constexpr std::string_view kNull = "/dev/null";

struct Kind {
  Type type;
  const char* name;
};

Kind MountKindOf(const Mount& mount) {
  if (mount.host_path == kNull) return {Type::kCharDevice, "device"};
  const bool file = std::ranges::count(kFiles, mount.container_path) > 0 ||
                    mount.container_path.ends_with(kLibraryName);
  return file ? Kind{Type::kFile, "file"} : Kind{Type::kDirectory, "directory"};
}

}  // namespace

Status CheckMountSources(const os::Root& root, const Grant& answer) {
  for (const Mount& mount : answer.mounts) {
    const Kind wanted = MountKindOf(mount);
    const bool former = mount.container_path == hami::kLockDirectory;
    // Former agents mounted a lock directory at a path where other users can put a link. So its
    // link is not followed.
    const auto source = former ? os::Inspect(root.Path(mount.host_path))
                               : os::InspectTarget(root.Path(mount.host_path));
    if (source && source->type == wanted.type) continue;
    // All containers shared that directory, and an empty one serves as well.
    if (!source && former) continue;
    return Fail(Reason::kBadMount, "{} must be mounted at {}, but {} {}", mount.host_path,
                mount.container_path, source ? "is not a" : "there is no", wanted.name);
  }
  return {};
}

}  // namespace tessera
