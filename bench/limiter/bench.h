// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of the limiter share: a container for it, and medians. One thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::limiter {

// A directory for a region, which processes that are begun meanwhile are told of.
class BenchContainer {
 public:
  BenchContainer() {
    if (mkdtemp(directory_.data()) == nullptr) std::exit(1);  // NOLINT(concurrency-mt-unsafe)
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    setenv("CUDA_DEVICE_MEMORY_SHARED_CACHE", region().c_str(), 1);
  }
  ~BenchContainer() {
    Restart();
    rmdir(directory_.c_str());
  }
  BenchContainer(const BenchContainer&) = delete;
  BenchContainer& operator=(const BenchContainer&) = delete;

  std::string region() const { return directory_ + "/x.cache"; }
  // Without a region.
  void Restart() const { unlink(region().c_str()); }

 private:
  std::string directory_ = std::filesystem::temp_directory_path() / "bench-limiter-XXXXXX";
};

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tessera::limiter
