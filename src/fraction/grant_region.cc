// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_region.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "grant/fraction.h"
#include "limiter/contract.h"
#include "os/fd.h"

namespace tessera {
namespace {

using limiter::Region;

// Two megabytes, of which only a page or two are ever written.
struct Free {
  void operator()(Region* region) const { free(region); }
};
using Image = std::unique_ptr<Region, Free>;

bool WriteAt(int fd, const Region& region, size_t begin, size_t end) {
  const auto* bytes = reinterpret_cast<const char*>(&region);
  return pwrite(fd, bytes + begin, end - begin, static_cast<off_t>(begin)) ==
         static_cast<ssize_t>(end - begin);
}

// The slots are zeros, so extending the file is enough.
bool Write(int fd, const Region& region) {
  return ftruncate(fd, sizeof region) == 0 &&
         WriteAt(fd, region, 0, offsetof(Region, hami.slots)) &&
         WriteAt(fd, region, offsetof(Region, hami.proc_num), offsetof(Region, accounting.slots)) &&
         fchmod(fd, 0666) == 0;
}

}  // namespace

Status MakeRegion(const os::Root& root, const FractionRules& fractions, const std::string& name,
                  const BindingRecord& record) {
  const Enforcer& enforcer = *fractions.enforcer;
  if (!enforcer.OwnsRegion(fractions)) return {};
  const std::string region = RegionNameOf(name);
  const std::string directory = root.Path(record.directory);
  const os::Fd in(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!in.valid()) return Fail(SystemError("cannot open the directory " + directory, errno));
  struct stat there{};
  if (fstatat(in.get(), region.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return {};
  const Image image(static_cast<Region*>(calloc(1, sizeof(Region))));
  if (image != nullptr) enforcer.FillRegion(fractions, record.parts, *image);
  // It is made where containers cannot reach it, and renamed into the container's directory when
  // complete. Both must be on one file system, which may hold only these directories.
  const std::string made = directory.substr(0, directory.rfind('/')) + "/.new-" + region;
  const os::Fd file(open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = file.valid() && image != nullptr && Write(file.get(), *image);
  const bool linked =
      written &&
      (linkat(AT_FDCWD, made.c_str(), in.get(), region.c_str(), 0) == 0 || errno == EEXIST);
  const int error = errno;
  unlink(made.c_str());
  if (linked) return {};
  return Fail(SystemError("cannot make the container's region " + directory + "/" + region, error));
}

}  // namespace tessera
