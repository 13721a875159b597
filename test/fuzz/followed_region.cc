// SPDX-License-Identifier: Apache-2.0
// Hostile regions (hostile_region.h), as the agent follows them. Two containers write any words
// into their regions and change their files' lengths. A third container on the same GPU is honest.
// The others' time that the agent reports to it must stay bounded, and so must the time for which
// it is held. Each word advances the clock.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "fraction/grant_times.h"
#include "fraction/region_words.h"
#include "os/files.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/hostile_region.h"

namespace tessera {
namespace {

using fuzz::Require;
using limiter::Region;

constexpr uint64_t kMs = 1'000'000;
constexpr int kContainers = 3;  // the last one is honest

class Container {
 public:
  explicit Container(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    SetLength(sizeof(Region));
    void* const at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    Require(at != MAP_FAILED, "a region is mapped");
    region_ = static_cast<Region*>(at);
    Make();
  }

  // Makes the region valid again. It restores the written words only, because the region has
  // megabytes.
  void Renew() {
    if (has_other_length_) {
      SetLength(0);
      SetLength(sizeof(Region));
      has_other_length_ = false;
      former_.clear();
      return Make();
    }
    for (; !former_.empty(); former_.pop_back()) former_.back().WriteTo(region_);
    limiter::Accounting& accounting = region_->accounting;
    std::memset(accounting.times, 0, sizeof accounting.times);
    std::memset(accounting.calibrations, 0, sizeof accounting.calibrations);
  }
  void BeOfLength(uint64_t length) {
    SetLength(std::min<uint64_t>(length, sizeof(Region)));
    has_other_length_ = true;
  }
  // A shortened file is not written: an access beyond its end would be a SIGBUS.
  void Write(const fuzz::Word& word) {
    if (has_other_length_) return;
    former_.push_back(word);
    former_.back().ReadFrom(*region_);
    word.WriteTo(region_);
  }
  Region& region() { return *region_; }

 private:
  void Make() {
    limiter::MakeRegion({}, region_);
    region_->accounting.slots_used = 1;
  }
  void SetLength(uint64_t length) const {
    Require(ftruncate(file_, static_cast<off_t>(length)) == 0, "a file has a length");
  }

  const int file_;
  Region* region_ = nullptr;
  std::vector<fuzz::Word> former_;  // the values before each write
  bool has_other_length_ = false;
};

struct Node {
  const std::string directory = *os::MakeTemporaryDirectory("/tmp/followed");
  std::array<Container, kContainers> containers{
      Container(directory + "/0"), Container(directory + "/1"), Container(directory + "/2")};
  ~Node() { (void)os::RemoveTree(directory); }
};

// Checks the honest container's region after each step.
class Watch {
 public:
  Watch(const Region& region, uint64_t now)
      : region_(region), began_(now), last_(now), told_at_(now) {}

  void Look(uint64_t now) {
    const uint64_t passed = now - last_;
    held_ += std::min(passed, left_);
    const limiter::TimeAccounting& times = region_.accounting.times[0];
    // The agent need not write at each step.
    Require(times.others_at == told_at_ || times.others_at == now, "it is told the time");
    const uint64_t most =
        times.others_at == told_at_ ? 0 : 2 * (kMostAtOnce + times.others_at - told_at_);
    Require(times.others >= others_ && times.others - others_ <= most,
            "others had no more than the time that passed");
    others_ = times.others;
    told_at_ = times.others_at;
    const limiter::CalibrationAccounting& moments = region_.accounting.calibrations[0];
    left_ = moments.held_until > now ? moments.held_until - now : 0;
    Require(left_ <= limiter::kMostHeld, "nobody is held for long");
    Require(held_ <= kMostHeldAtFirst + (now - began_) / 50, "nor often");
    last_ = now;
  }

 private:
  static constexpr uint64_t kMostAtOnce = 2'000 * kMs;
  static constexpr uint64_t kMostHeldAtFirst = 1'000 * kMs + limiter::kMostHeld;

  const Region& region_;
  const uint64_t began_;
  uint64_t last_;
  uint64_t told_at_;
  uint64_t others_ = 0;
  uint64_t left_ = 0;
  uint64_t held_ = 0;
};

void Follow(const uint8_t* data, size_t size) {
  static Node node;
  GrantTimes times;
  for (int i = 0; i < kContainers; ++i) {
    node.containers[static_cast<size_t>(i)].Renew();
    const std::string name = std::to_string(i);
    times.Add(name, node.directory, name, {"GPU-aa", "GPU-bb"});
  }
  Region& honest = node.containers.back().region();
  uint64_t now = uint64_t{1} << 40;
  Watch watch(honest, now);
  for (; size > fuzz::Word::kSize; data += fuzz::Word::kSize + 1, size -= fuzz::Word::kSize + 1) {
    // A byte before each word: whose region, whether the word is a length, and how much time
    // passes.
    const uint8_t what = data[0];
    const fuzz::Word word(data + 1);
    Container& container = node.containers[what & 1];
    if ((what & 0x0e) == 0x0e) {
      container.BeOfLength(word.value);
    } else {
      container.Write(word);
    }
    honest.accounting.times[0].used += kMs;
    now += (what >> 4) == 0x0f ? 3'000 * kMs : (uint64_t{1} + (what >> 4)) * 5 * kMs;
    const Duration next = times.UpdateRegions(now);
    Require(next >= Calibrations::kBusy && next <= GrantTimes::kAlone, "it goes on soon");
    watch.Look(now);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::Follow(data, size);
  return 0;
}
