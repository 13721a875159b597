// SPDX-License-Identifier: Apache-2.0
// For tests of what the agent reads and writes in regions of running containers.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

#include "limiter/contract.h"
#include "os/files.h"

namespace tessera {

using limiter::Region;

inline constexpr uint64_t kMs = 1'000'000;

class RegionTest : public testing::Test {
 protected:
  ~RegionTest() override {
    for (auto& [grant, region] : regions_) munmap(region, sizeof(Region));
    (void)os::RemoveTree(directory_);
  }
  static std::string FileOf(const std::string& grant) { return grant + ".cache"; }

  // Makes a container's region, as its processes see it.
  Region& Make(const std::string& grant) {
    const int file =
        open((directory_ + "/" + FileOf(grant)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(file, sizeof(Region)), 0);
    void* const memory = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    regions_[grant] = static_cast<Region*>(memory);
    limiter::MakeRegion({}, regions_[grant]);
    return *regions_[grant];
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "regions");
  std::map<std::string, Region*> regions_;
};

}  // namespace tessera
