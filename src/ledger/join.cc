// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "ledger/ledger.h"

namespace tessera {
namespace {

// The fields of a holding that both of kubelet's views have.
using Common = std::tuple<std::string, std::string, std::vector<std::string>>;

Common CommonOf(const Holding& holding) {
  return {holding.resource, holding.container, holding.share_ids};
}

void SortIds(std::vector<std::string>& ids) {
  std::sort(ids.begin(), ids.end(), NaturalLess());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// One holding for each container and resource.
std::vector<Holding> Gathered(std::vector<Holding> holdings) {
  using Place = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Place, Holding> places;
  for (Holding& holding : holdings) {
    Place place(holding.pod_namespace, holding.pod, holding.pod_uid, holding.container,
                holding.resource);
    const auto [it, fresh] = places.try_emplace(std::move(place), holding);
    if (fresh) continue;
    auto& ids = it->second.share_ids;
    std::move(holding.share_ids.begin(), holding.share_ids.end(), std::back_inserter(ids));
  }
  std::vector<Holding> gathered;
  for (auto& [place, holding] : places) {
    SortIds(holding.share_ids);
    gathered.push_back(std::move(holding));
  }
  return gathered;
}

}  // namespace

std::vector<Holding> Join(std::vector<Holding> pod_resources, std::vector<Holding> checkpoint) {
  std::vector<Holding> joined = Gathered(std::move(pod_resources));
  std::vector<Holding> entries = Gathered(std::move(checkpoint));
  std::map<Common, std::vector<Holding*>> by_content;
  for (Holding& entry : entries) by_content[CommonOf(entry)].push_back(&entry);
  for (Holding& holding : joined) {
    const auto match = by_content.find(CommonOf(holding));
    if (match == by_content.end() || match->second.size() != 1) continue;
    holding.pod_uid = match->second.front()->pod_uid;
    by_content.erase(match);
  }
  for (auto& [content, rest] : by_content) {
    for (Holding* entry : rest) joined.push_back(std::move(*entry));
  }
  return joined;
}

}  // namespace tessera
