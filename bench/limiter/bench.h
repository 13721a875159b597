// SPDX-License-Identifier: Apache-2.0
// Shared by the limiter's benchmarks: a container, libraries, and medians. One thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::limiter {

// A directory for a region. Processes started while it lives get its path.
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
  // Removes the region, as a restart of the container does.
  void Restart() const { unlink(region().c_str()); }

 private:
  std::string directory_ = std::filesystem::temp_directory_path() / "bench-limiter-XXXXXX";
};

// A library by the path it was built at. In the pack of tools/card it lies beside the program.
inline std::string Library(const char* built) {
  const char* const home = std::getenv("CARD_HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home == nullptr) return built;
  return std::string(home) + "/bin/" + std::filesystem::path(built).filename().string();
}

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tessera::limiter
