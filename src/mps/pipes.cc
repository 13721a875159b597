// SPDX-License-Identifier: Apache-2.0
#include "mps/pipes.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::mps {
namespace {

constexpr mode_t kForClients = 0755;  // clients run as any user
constexpr mode_t kForRoot = 0700;
constexpr char kSocket[] = "/control";

using Type = os::FileInfo::Type;

// Whether both exist and are links to the same file.
bool AreLinked(const std::string& a, const std::string& b) {
  const auto one = os::Inspect(a), other = os::Inspect(b);
  return one && other && one->device == other->device && one->inode == other->inode;
}

bool Is(Type type, const std::string& path) {
  const auto info = os::Inspect(path);
  return info && info->type == type;
}

Status Link(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return {};
  return Fail(SystemError("cannot link " + from + " to " + to, errno));
}

}  // namespace

Pipes::Pipes(const std::string& directory)
    : pipe_(directory + "/pipe"), kept_(directory + "/kept") {}

Status Pipes::Clear() const {
  TRY(Forget());
  if (!Is(Type::kDirectory, pipe_)) TRY(os::RemoveTree(pipe_));
  TRY(os::MakeDirectories(pipe_, kForClients));
  for (const std::string& name : TRY(os::ListDirectory(pipe_))) {
    TRY(os::RemoveTree(pipe_ + "/" + name));
  }
  return {};
}

Status Pipes::KeepSockets() const {
  TRY(Forget());
  TRY(os::MakeDirectories(kept_, kForRoot));
  for (const std::string& name : TRY(os::ListDirectory(pipe_))) {
    const std::string path = pipe_ + "/" + name;
    if (!Is(Type::kDirectory, path)) TRY(Link(path, kept_ + "/" + name));
  }
  return {};
}

Result<bool> Pipes::RestoreSockets() const {
  bool mended = false;
  const auto kept = os::ListDirectory(kept_);
  for (const std::string& name : kept ? *kept : std::vector<std::string>()) {
    const std::string own = kept_ + "/" + name;
    const std::string path = pipe_ + "/" + name;
    if (AreLinked(own, path)) continue;
    // A container may put a file there between these two calls. Link then fails, and the
    // supervisor's next step tries again.
    TRY(os::RemoveTree(path));
    TRY(Link(own, path));
    mended = true;
  }
  if (Is(Type::kSocket, pipe_ + kSocket)) return mended;
  return Fail(Reason::kUnavailable, "its socket {}{} was removed, and no link to it was kept",
              pipe_, kSocket);
}

bool Pipes::Accepts() const {
  return os::IsListening(pipe_ + kSocket);
}

Status Pipes::Forget() const {
  return os::RemoveTree(kept_);
}

}  // namespace tessera::mps
