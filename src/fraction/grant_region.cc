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

using limiter::CorePolicy;
using limiter::Region;

// Two megabytes of which a page or two are ever written: the rest is never touched.
struct Free {
  void operator()(Region* region) const { free(region); }
};
using Image = std::unique_ptr<Region, Free>;

std::string TunableOf(const FractionRules& fractions, const char* key) {
  const auto found = fractions.tunables.find(key);
  return found == fractions.tunables.end() ? "" : found->second;
}

Image ImageOf(const FractionRules& fractions, const BindingRecord& record) {
  Image region(static_cast<Region*>(calloc(1, sizeof(Region))));
  if (region == nullptr) return region;
  std::vector<limiter::RegionDevice> devices;
  for (const Fraction& part : record.parts) {
    devices.push_back({.uuid = part.device.c_str(),
                       .bytes = static_cast<uint64_t>(part.memory) << 20,
                       .cores = static_cast<uint64_t>(part.cores)});
  }
  const std::string policy = TunableOf(fractions, "GPU_CORE_UTILIZATION_POLICY");
  const bool high = TunableOf(fractions, "CUDA_TASK_PRIORITY") == "0";
  limiter::MakeRegion({.devices = devices.data(),
                       .count = static_cast<int>(devices.size()),
                       .core_policy = policy == "force"     ? CorePolicy::kForce
                                      : policy == "disable" ? CorePolicy::kDisable
                                                            : CorePolicy::kDefault,
                       .priority = high ? 0 : limiter::kDefaultPriority,
                       .oversubscribe = fractions.memory_scaling > 1},
                      region.get());
  return region;
}

bool WriteAt(int fd, const Region& region, size_t begin, size_t end) {
  const auto* bytes = reinterpret_cast<const char*>(&region);
  return pwrite(fd, bytes + begin, end - begin, static_cast<off_t>(begin)) ==
         static_cast<ssize_t>(end - begin);
}

// Slots are zeros, which a longer file has by itself.
bool Write(int fd, const Region& region) {
  return ftruncate(fd, sizeof region) == 0 &&
         WriteAt(fd, region, 0, offsetof(Region, hami.slots)) &&
         WriteAt(fd, region, offsetof(Region, hami.proc_num), offsetof(Region, books.slots)) &&
         fchmod(fd, 0666) == 0;
}

}  // namespace

Status MakeRegion(const os::Root& root, const FractionRules& fractions, const std::string& name,
                  const BindingRecord& record) {
  if (!fractions.own_library) return {};
  const std::string region = RegionNameOf(name);
  const std::string directory = root.Path(record.directory);
  const os::Fd in(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!in.valid()) return Fail(SystemError("cannot open the directory " + directory, errno));
  struct stat there{};
  if (fstatat(in.get(), region.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return {};
  const Image image = ImageOf(fractions, record);
  // Where containers reach nothing: it appears in theirs when it is complete. On the same file
  // system, which may be one for these directories alone.
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
