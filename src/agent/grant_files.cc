// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "os/fd.h"

namespace tessera::agent {
namespace {

// A directory of root's own that everybody may write in: no link, and nobody else's.
Status MakeOpenDirectory(const std::string& path, mode_t parents) {
  TRY(os::MakeDirectories(path.substr(0, path.rfind('/')), parents));
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return Fail(SystemError("cannot make the directory " + path, errno));
  }
  // Opened once: what was looked at is what is opened to all, though somebody may write beside it.
  const os::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() && errno != ENOTDIR && errno != ELOOP) {
    return Fail(SystemError("cannot open the directory " + path, errno));
  }
  struct stat info{};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) {
    return Fail(Reason::kPermission, "{} is no directory of the agent's user: remove it", path);
  }
  if ((info.st_mode & 0777U) != 0777U && fchmod(fd.get(), 0777) != 0) {
    return Fail(SystemError("cannot open to containers " + path, errno));
  }
  return {};
}

bool IsFile(const os::Root& root, const std::string& path) {
  const auto info = os::InspectTarget(root.Path(path));
  return info && info->type == os::FileInfo::Type::kFile;
}

Status PutUnlessSame(const std::string& path, std::string_view text, mode_t mode) {
  const auto on_disk = os::ReadFile(path);
  if (on_disk && *on_disk == text) return {};
  return os::ReplaceFile(path, text, mode);
}

}  // namespace

Status MakeGrantFiles(const os::Root& root, const Vgpu& vgpu, const Pin& pin) {
  const VgpuFiles files = FilesOf(vgpu);
  // Nobody of the host's gets at what containers leave there; the runtime does, as root.
  TRY(os::MakeDirectories(root.Path(vgpu.directory), 0755));
  TRY(MakeOpenDirectory(root.Path(pin.directory), 0700));
  TRY(MakeOpenDirectory(root.Path(vgpu.lock_directory), 0755));
  if (!vgpu.enforced) return {};
  const std::string library = LibraryOf(root, vgpu, pin);
  if (library.empty()) {
    return Fail(Reason::kNotEnforced,
                "the library that holds containers to their part of a GPU could not be put into "
                "{}: the agent's log says why",
                vgpu.directory);
  }
  if (!IsFile(root, library)) {
    return Fail(Reason::kNotEnforced,
                "the library that holds containers to their part of a GPU is not at {}", library);
  }
  return PutUnlessSame(root.Path(files.preload), PreloadText(vgpu), 0644);
}

std::string LibraryOf(const os::Root& root, const Vgpu& vgpu, const Pin& pin) {
  return !pin.library.empty() && IsFile(root, pin.library) ? pin.library : vgpu.library;
}

bool IsLicensed(const os::Root& root, const Vgpu& vgpu) {
  const VgpuFiles files = FilesOf(vgpu);
  return IsFile(root, files.license) && IsFile(root, files.validator);
}

}  // namespace tessera::agent
