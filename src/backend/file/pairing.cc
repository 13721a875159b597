// SPDX-License-Identifier: Apache-2.0
#include "backend/file/pairing.h"

#include <algorithm>
#include <map>
#include <set>

#include "backend/file/glob.h"

namespace tessera::file {
namespace {

using Indices = std::vector<size_t>;
using ByKey = std::map<std::string, Indices>;

template <class KeyOf>
ByKey Grouped(const Side& side, const Indices& indices, KeyOf key_of) {
  ByKey grouped;
  for (const size_t i : indices) {
    std::string key = key_of(side.matches[i]);
    if (!key.empty()) grouped[std::move(key)].push_back(i);
  }
  return grouped;
}

Indices All(const Side& side) {
  Indices all(side.matches.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Without files that the other path matches too, as these are not of this path's kind.
Indices Own(const Side& side, const Side& other) {
  std::set<std::string_view> others;
  for (const Match& match : other.matches) others.insert(match.file);
  Indices own = All(side);
  std::erase_if(own, [&](size_t i) { return others.contains(side.matches[i].file); });
  return own;
}

// Empty: the pattern does not show the text. The text itself may be empty.
std::string TextKey(const Side& side, const Match& match) {
  const auto text = WildcardText(side.pattern, match.file);
  return text ? "*" + *text : "";
}

class Pairing {
 public:
  Pairing(const Side& a, const Side& b, const NameRule& rule)
      : a_(a), b_(b), rule_(rule), pairs_(a.matches.size()) {}

  std::vector<std::optional<size_t>> Run() && {
    const Indices own = Own(a_, b_);
    if (!ByTarget(own) && !ByHardware(own)) ByNames();
    return std::move(pairs_);
  }

 private:
  void Pair(size_t a, size_t b) {
    pairs_[a] = b;
    paired_ = true;
  }

  void InOrder(const Indices& a, const Indices& b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) Pair(a[i], b[i]);
  }

  bool ByTarget(const Indices& own) {
    const ByKey b = Grouped(b_, All(b_), [](const Match& match) { return match.target; });
    for (const auto& [target, files] :
         Grouped(a_, own, [](const Match& match) { return match.target; })) {
      if (const auto same = b.find(target); same != b.end()) InOrder(files, same->second);
    }
    return paired_;
  }

  bool ByHardware(const Indices& own) {
    const ByKey b = Grouped(b_, All(b_), [](const Match& match) { return match.hardware; });
    for (const auto& [hardware, files] :
         Grouped(a_, own, [](const Match& match) { return match.hardware; })) {
      const auto same = b.find(hardware);
      if (same == b.end()) continue;
      if (rule_.by_text && (ByText(files, same->second) || AreAlike())) continue;
      InOrder(files, same->second);
    }
    return paired_;
  }

  void ByNames() {
    const Indices a = All(a_);
    const Indices b = All(b_);
    if (!rule_.by_text) return InOrder(a, b);
    if (ByText(a, b) || AreAlike()) return;
    if (rule_.required && a.size() == b.size()) InOrder(a, b);
  }

  // Whether the patterns differ only from their `*` on.
  bool AreAlike() const {
    return a_.pattern.substr(0, a_.pattern.find('*')) == b_.pattern.substr(0, b_.pattern.find('*'));
  }

  // Pairs by the text of the wildcard. True if it paired any.
  bool ByText(const Indices& a, const Indices& b) {
    bool any = false;
    const ByKey texts = Grouped(b_, b, [this](const Match& m) { return TextKey(b_, m); });
    for (const size_t i : a) {
      const auto same = texts.find(TextKey(a_, a_.matches[i]));
      if (same == texts.end()) continue;
      Pair(i, same->second.front());
      any = true;
    }
    return any;
  }

  const Side a_;
  const Side b_;
  const NameRule rule_;
  bool paired_ = false;
  std::vector<std::optional<size_t>> pairs_;
};

}  // namespace

std::vector<std::optional<size_t>> PairUp(const Side& a, const Side& b, const NameRule& rule) {
  return Pairing(a, b, rule).Run();
}

}  // namespace tessera::file
