// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "limiter/contract.h"
#include "limiter/limits/read.h"

namespace tessera::limiter {
namespace {

// Room for thousands of mounts; unread pages are never touched.
constexpr size_t kMostText = 1 << 20;
constexpr uint64_t kMostId = INT64_MAX;

struct Mount {
  Text device;
  Text root;  // what it is of, from the root of its file system
  bool read_only = false;
};

bool Same(Text a, Text b) {
  return a.size == b.size && std::memcmp(a.data, b.data, a.size) == 0;
}

// Removes the prefix `begin`. False: another prefix.
bool Skip(Text begin, Text* text) {
  if (!Same(text->Until(begin.size), begin)) return false;
  *text = text->From(begin.size);
  return true;
}

size_t LastSlash(Text path) {
  size_t at = path.size;
  while (at > 0 && path.data[at - 1] != '/') --at;
  return at;
}

// Removes the mark of a file that was replaced after it was mounted.
Text WithoutDeleted(Text root) {
  constexpr char kDeleted[] = "//deleted";
  constexpr size_t kSize = sizeof(kDeleted) - 1;
  const bool deleted = root.size > kSize && root.From(root.size - kSize) == kDeleted;
  return deleted ? root.Until(root.size - kSize) : root;
}

// "36 35 98:0 /root /place rw,noatime ...". False: no such line.
bool ParseMount(Text line, int64_t* id, Mount* mount) {
  uint64_t number = 0;
  if (!ParseDecimal(Cut(&line, ' '), kMostId, &number)) return false;
  *id = static_cast<int64_t>(number);
  Cut(&line, ' ');  // what it is mounted on
  mount->device = Cut(&line, ' ');
  mount->root = WithoutDeleted(Cut(&line, ' '));
  Cut(&line, ' ');  // where
  Text options = Cut(&line, ' ');
  mount->read_only = Cut(&options, ',') == "ro";
  return mount->root.StartsWith("/");
}

bool FindMount(Text mounts, int64_t wanted, Mount* mount) {
  while (mounts.size > 0) {
    int64_t id = -1;
    if (ParseMount(Cut(&mounts, '\n'), &id, mount) && id == wanted) return true;
  }
  return false;
}

// An agent's directory on its node.
struct Node {
  Text device;
  Text directory;
};

// True for a mount of the grant's file of that name, or, if `whole`, of the grant's directory.
bool IsOfGrant(const Node& node, const Mount& mount, Text name, bool whole) {
  Text rest = mount.root;
  if (!Same(mount.device, node.device) || !Skip(node.directory, &rest)) return false;
  if (!Skip(Text("/limits/"), &rest)) return false;
  const size_t grant = rest.Find('/');
  if (grant == 0) return false;
  if (grant == rest.size) return whole;
  return Same(rest.From(grant + 1), name);
}

// By descriptor: another mount may hide the path. Negative: not known.
int64_t MountOf(int file) {
  struct statx status{};
  const bool told = syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 &&
                    (status.stx_mask & STATX_MNT_ID) != 0;
  if (told) return static_cast<int64_t>(status.stx_mnt_id);
  // For a kernel before 5.8.
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
  const int info = open(path, O_RDONLY | O_CLOEXEC);
  if (info < 0) return -1;
  char buffer[256];
  const ssize_t got = read(info, buffer, sizeof buffer);
  close(info);
  Text rest(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  while (rest.size > 0) {
    Text line = Cut(&rest, '\n');
    uint64_t id = 0;
    if (Skip(Text("mnt_id:"), &line) && ParseDecimal(Trim(line), kMostId, &id)) {
      return static_cast<int64_t>(id);
    }
  }
  return -1;
}

}  // namespace

MountOrigin MountOriginOf(Text mounts, int64_t loads, int64_t file, Text name) {
  Mount mount;
  if (loads < 0 || !FindMount(mounts, loads, &mount)) return MountOrigin::kUnknown;
  const size_t end = LastSlash(mount.root);
  // A file that is not itself a mount comes from the image, or there is no container.
  if (end == 0 || !(mount.root.From(end) == "ld.so.preload")) return MountOrigin::kUnknown;
  const Node node{.device = mount.device, .directory = mount.root.Until(end - 1)};
  if (file >= 0) {
    // Former agents mounted the directory instead of the files.
    const bool is_agents =
        FindMount(mounts, file, &mount) && mount.read_only && IsOfGrant(node, mount, name, true);
    return is_agents ? MountOrigin::kAgent : MountOrigin::kOther;
  }
  while (mounts.size > 0) {
    int64_t id = -1;
    const bool is_mount = ParseMount(Cut(&mounts, '\n'), &id, &mount);
    if (is_mount && IsOfGrant(node, mount, name, false)) return MountOrigin::kOther;
  }
  return MountOrigin::kUnknown;
}

Mounts::Mounts(const char* loads, const char* list) {
  const int file = open(loads, O_PATH | O_CLOEXEC);
  if (file < 0) {
    unsure_ = errno != ENOENT && errno != ENOTDIR;
    return;
  }
  loads_ = MountOf(file);
  close(file);
  unsure_ = loads_ < 0;
  if (!unsure_) Read(list);
}

void Mounts::Read(const char* list) {
  unsure_ = true;
  const int file = open(list, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const memory =
      mmap(nullptr, kMostText, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const ssize_t got =
      memory == MAP_FAILED ? -1 : ReadAll(file, static_cast<char*>(memory), kMostText);
  close(file);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  if (got < 0) return;
  text_ = Text(static_cast<char*>(memory), static_cast<size_t>(got));
  unsure_ = static_cast<size_t>(got) == kMostText;  // there may be more
}

Mounts::~Mounts() {
  if (memory_ != nullptr) munmap(memory_, kMostText);
}

MountOrigin Mounts::Of(int file, const char* path) const {
  if (unsure_) return file < 0 ? MountOrigin::kUnknown : MountOrigin::kOther;
  const Text whole(path);
  return MountOriginOf(text_, loads_, file < 0 ? -1 : MountOf(file), whole.From(LastSlash(whole)));
}

}  // namespace tessera::limiter
