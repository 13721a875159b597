// SPDX-License-Identifier: Apache-2.0
// Numbered units of a device's compute time, such as the compute units of a GPU. A container gets
// units that no other container has. Pure. Plain data. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class UnitSet {
 public:
  // Numbers beyond this are no units.
  static constexpr int kMost = 4'096;

  // Of a text such as "0-3,8,10-12". Nothing, if it is another one; "" is the empty set.
  static std::optional<UnitSet> Parse(std::string_view text);
  // The ranges in ascending order.
  std::string Text() const;

  // Adds the numbers from `first` to `last`, both from 0 to kMost - 1.
  void Add(int first, int last);
  void Add(const UnitSet& more);
  bool Contains(int number) const {
    const auto at = static_cast<size_t>(number);
    return at < has_.size() && has_[at];
  }
  int size() const;
  bool Overlaps(const UnitSet& other) const;
  bool operator==(const UnitSet& other) const { return Text() == other.Text(); }

 private:
  std::vector<bool> has_;  // by number
};

// So many units below `total` that are not taken: the first ones of the smallest gap that has room
// for all, else the lowest ones of all gaps. Nothing, if too few are free.
std::optional<UnitSet> ChooseUnits(int count, int total, const UnitSet& taken);

}  // namespace tessera
