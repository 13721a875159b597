// SPDX-License-Identifier: Apache-2.0
#include "choose/closest.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

// The points of two parts of one device: those of two devices on one board, from both ends.
constexpr int kSameParent = 2 * 60;

constexpr size_t kMostSets = 60'000;

// The number of sets of `wanted` out of `size`; a value above kMostSets is not exact.
size_t SetsOf(size_t size, size_t wanted) {
  size_t sets = 1;
  wanted = std::min(wanted, size - wanted);
  for (size_t i = 1; i <= wanted; ++i) {
    sets = sets * (size - wanted + i) / i;
    if (sets > kMostSets) return sets;
  }
  return sets;
}

// The score of a set: most points inside it, then fewest points from its members to all devices.
// The points left among the rest are all points, minus the second, plus the first.
struct Score {
  int inside = 0;
  int around = 0;

  bool operator>(const Score& other) const {
    return inside != other.inside ? inside > other.inside : around < other.around;
  }
};

class Search {
 public:
  Search(const Closeness& closeness, std::span<const uint32_t> included, size_t wanted)
      : closeness_(closeness), wanted_(wanted), gain_(closeness.size()), around_(closeness.size()) {
    for (uint32_t a = 0; a < closeness.size(); ++a) {
      for (uint32_t b = 0; b < closeness.size(); ++b) around_[a] += closeness.Between(a, b);
      const bool in = std::find(included.begin(), included.end(), a) != included.end();
      if (!in) open_.push_back(a);
    }
    for (uint32_t position : included) Add(position);
  }

  std::vector<uint32_t> Run() {
    const size_t left = wanted_ - chosen_.size();
    if (SetsOf(open_.size(), left) <= kMostSets) {
      TryAll(0);
    } else {
      GrowFromMany();
    }
    std::sort(best_.begin(), best_.end());
    return best_;
  }

 private:
  void Add(uint32_t position) {
    score_.inside += gain_[position];
    score_.around += around_[position];
    chosen_.push_back(position);
    for (uint32_t other = 0; other < gain_.size(); ++other) {
      gain_[other] += closeness_.Between(position, other);
    }
  }
  void Remove(std::vector<uint32_t>::iterator at) {
    const uint32_t position = *at;
    chosen_.erase(at);
    for (uint32_t other = 0; other < gain_.size(); ++other) {
      gain_[other] -= closeness_.Between(position, other);
    }
    score_.inside -= gain_[position];
    score_.around -= around_[position];
  }
  void Keep() {
    best_ = chosen_;
    best_score_ = score_;
  }

  // Tries all sets of the chosen positions and further ones from `from` on.
  void TryAll(size_t from) {
    const size_t missing = wanted_ - chosen_.size();
    if (missing == 0) return Keep();
    for (size_t i = from; i + missing <= open_.size(); ++i) {
      if (missing == 1) {
        TryLast(open_[i]);
        continue;
      }
      Add(open_[i]);
      TryAll(i + 1);
      Remove(std::prev(chosen_.end()));
    }
  }
  void TryLast(uint32_t position) {
    const Score score{score_.inside + gain_[position], score_.around + around_[position]};
    if (!best_.empty() && !(score > best_score_)) return;
    Keep();
    best_.push_back(position);
    best_score_ = score;
  }

  bool IsChosen(uint32_t position) const {
    return std::find(chosen_.begin(), chosen_.end(), position) != chosen_.end();
  }

  // Adds one position after the other, each the best with the ones before.
  void Grow() {
    while (chosen_.size() < wanted_) {
      const uint32_t* next = nullptr;
      for (const uint32_t& candidate : open_) {
        if (IsChosen(candidate)) continue;
        const bool better = next == nullptr || Score{gain_[candidate], around_[candidate]} >
                                                   Score{gain_[*next], around_[*next]};
        if (better) next = &candidate;
      }
      Add(*next);
    }
  }

  // Grows a set from the best position, then one from each, while there is time for them. A set
  // that began with the wrong device does not leave it by single exchanges.
  void GrowFromMany() {
    constexpr size_t kMostSteps = 4'000'000;
    const size_t starts =
        std::min(open_.size(), kMostSteps / (closeness_.size() * wanted_ * wanted_));
    GrowFrom(nullptr);
    for (size_t i = 0; i < starts; ++i) GrowFrom(&open_[i]);
  }
  void GrowFrom(const uint32_t* first) {
    const size_t fixed = closeness_.size() - open_.size();
    if (first != nullptr) Add(*first);
    Grow();
    while (Exchange()) {
    }
    if (best_.empty() || score_ > best_score_) Keep();
    while (chosen_.size() > fixed) Remove(std::prev(chosen_.end()));
  }

  // Makes the first exchange of two positions that improves the set; false: there is none.
  bool Exchange() {
    const size_t fixed = closeness_.size() - open_.size();
    for (size_t i = fixed; i < chosen_.size(); ++i) {
      const uint32_t out = chosen_[i];
      for (uint32_t in : open_) {
        if (IsChosen(in)) continue;
        const Score after{score_.inside - gain_[out] + gain_[in] - closeness_.Between(out, in),
                          score_.around - around_[out] + around_[in]};
        if (!(after > score_)) continue;
        Remove(chosen_.begin() + static_cast<std::ptrdiff_t>(i));
        Add(in);
        return true;
      }
    }
    return false;
  }

  const Closeness& closeness_;
  const size_t wanted_;
  std::vector<int> gain_;         // by position: its points to the chosen ones
  std::vector<int> around_;       // by position: its points to all others
  std::vector<uint32_t> open_;    // positions that may be chosen, ascending
  std::vector<uint32_t> chosen_;  // `included` first
  Score score_;                   // of `chosen_`
  std::vector<uint32_t> best_;
  Score best_score_;
};

}  // namespace

Closeness::Closeness(std::span<const Device* const> devices)
    : size_(devices.size()), points_(size_ * size_) {
  std::unordered_map<std::string_view, uint32_t> positions;
  for (uint32_t i = 0; i < size_; ++i) positions.emplace(devices[i]->key.id, i);
  for (uint32_t a = 0; a < size_; ++a) {
    for (const Link& link : devices[a]->links) {
      if (!link.source.empty()) continue;
      const auto peer = positions.find(link.peer);
      if (peer == positions.end() || peer->second == a) continue;
      points_[a * size_ + peer->second] += link.points;
      points_[peer->second * size_ + a] += link.points;
    }
    if (devices[a]->parent.empty()) continue;
    for (uint32_t b = 0; b < size_; ++b) {
      if (a != b && devices[a]->parent == devices[b]->parent) points_[a * size_ + b] += kSameParent;
    }
  }
}

bool Closeness::IsKnown() const {
  return std::any_of(points_.begin(), points_.end(), [](int points) { return points != 0; });
}

std::vector<uint32_t> Closest(const Closeness& closeness, std::span<const uint32_t> included,
                              size_t wanted) {
  return Search(closeness, included, wanted).Run();
}

}  // namespace tessera
