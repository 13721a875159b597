// SPDX-License-Identifier: Apache-2.0
#include "placement/units.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace tessera {
namespace {

std::optional<int> ReadUnit(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool good = error == std::errc() && stop == end && number >= 0 && number < UnitSet::kMost;
  return good ? std::optional(number) : std::nullopt;
}

struct Gap {
  int first = 0;
  int size = 0;
};

std::vector<Gap> GapsIn(int total, const UnitSet& taken) {
  std::vector<Gap> gaps;
  for (int number = 0; number < total; ++number) {
    if (taken.Contains(number)) continue;
    if (gaps.empty() || gaps.back().first + gaps.back().size != number) gaps.push_back({number});
    ++gaps.back().size;
  }
  return gaps;
}

}  // namespace

std::optional<UnitSet> UnitSet::Parse(std::string_view text) {
  UnitSet units;
  if (text.empty()) return units;
  for (const std::string& range : Split(text, ',')) {
    const std::string_view whole = range;
    const size_t dash = whole.find('-');
    const auto first = ReadUnit(whole.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ReadUnit(whole.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    units.Add(*first, *last);
  }
  return units;
}

std::string UnitSet::Text() const {
  std::vector<std::string> ranges;
  const int end = static_cast<int>(has_.size());
  for (int first = 0; first < end; ++first) {
    if (!Contains(first)) continue;
    int last = first;
    while (Contains(last + 1)) ++last;
    ranges.push_back(first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
    first = last;
  }
  return Join(ranges, ",");
}

void UnitSet::Add(int first, int last) {
  if (has_.size() <= static_cast<size_t>(last)) has_.resize(static_cast<size_t>(last) + 1);
  for (int number = first; number <= last; ++number) has_[static_cast<size_t>(number)] = true;
}

void UnitSet::Add(const UnitSet& more) {
  if (has_.size() < more.has_.size()) has_.resize(more.has_.size());
  for (size_t i = 0; i < more.has_.size(); ++i) has_[i] = has_[i] || more.has_[i];
}

int UnitSet::size() const {
  return static_cast<int>(std::ranges::count(has_, true));
}

bool UnitSet::Overlaps(const UnitSet& other) const {
  for (size_t i = 0; i < has_.size(); ++i) {
    if (has_[i] && other.Contains(static_cast<int>(i))) return true;
  }
  return false;
}

std::optional<UnitSet> ChooseUnits(int count, int total, const UnitSet& taken) {
  const std::vector<Gap> gaps = GapsIn(std::min(total, UnitSet::kMost), taken);
  const Gap* best = nullptr;
  for (const Gap& gap : gaps) {
    if (gap.size >= count && (best == nullptr || gap.size < best->size)) best = &gap;
  }
  UnitSet chosen;
  if (count <= 0) return chosen;
  if (best != nullptr) {
    chosen.Add(best->first, best->first + count - 1);
    return chosen;
  }
  for (const Gap& gap : gaps) {
    const int some = std::min(gap.size, count);
    chosen.Add(gap.first, gap.first + some - 1);
    count -= some;
    if (count == 0) return chosen;
  }
  return std::nullopt;
}

}  // namespace tessera
