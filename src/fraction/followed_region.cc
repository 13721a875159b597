// SPDX-License-Identifier: Apache-2.0
#include "fraction/followed_region.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>

#include "limiter/contract.h"
#include "os/open.h"
#include "os/tree.h"

namespace tessera {
namespace {

using limiter::Region;

os::Fd OpenBeneath(const std::string& directory, const std::string& name) {
  const os::Fd in(open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!in.valid()) return {};
  auto file = os::OpenFileIn(in, name, O_RDWR, name);
  struct stat info{};
  const bool is_whole = file && fstat(file->get(), &info) == 0 &&
                        static_cast<uint64_t>(info.st_size) >= sizeof(Region);
  return is_whole ? *std::move(file) : os::Fd();
}

}  // namespace

bool RegionVisits::EnterRegion(const std::string& path) {
  const MutexLock lock(mutex_);
  at_ = path;
  return !stopped_;
}

void RegionVisits::LeaveRegion() {
  const MutexLock lock(mutex_);
  at_.clear();
}

std::string RegionVisits::CurrentRegion() const {
  const MutexLock lock(mutex_);
  return at_;
}

void RegionVisits::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
}

FollowedRegion FollowedRegion::Open(const std::string& directory, const std::string& name,
                                    std::shared_ptr<RegionVisits> visits) {
  FollowedRegion region;
  region.path_ = directory + "/" + name;
  region.visits_ = std::move(visits);
  if (!region.Visit()) return {};
  region.file_ = OpenBeneath(directory, name);
  if (!region.valid()) return {};
  uint64_t magic = 0;
  uint32_t version = 0;
  const bool is_known = region.Read(offsetof(Region, accounting.magic), magic) &&
                        magic == limiter::kAccountingMagic &&
                        region.Read(offsetof(Region, accounting.version), version) &&
                        version == limiter::kAccountingVersion;
  return is_known ? std::move(region) : FollowedRegion();
}

bool FollowedRegion::IsWaste() const {
  struct stat info{};
  return fstat(file_.get(), &info) == 0 && info.st_nlink == 0 &&
         os::BytesOf(info) > 2 * limiter::kRegionSize;
}

}  // namespace tessera
