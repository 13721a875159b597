// SPDX-License-Identifier: Apache-2.0
#include "hami/link_scores.h"

#include <algorithm>

#include "hami/members.h"
#include "hami/vendor.h"
#include "json/json.h"

namespace tessera::hami {
namespace {

// HAMi counts no more than these.
constexpr int kMostNvlinks = 18;
constexpr int kNvlinkPoints = 100;

int AncestorPoints(CommonAncestor ancestor) {
  switch (ancestor) {
    case CommonAncestor::kSystem:
      return 10;
    case CommonAncestor::kNode:
      return 20;
    case CommonAncestor::kHostBridge:
      return 30;
    case CommonAncestor::kMultiple:
      return 40;
    case CommonAncestor::kSingle:
      return 50;
    case CommonAncestor::kInternal:
      return 60;
  }
  return 0;
}

// The NVLinks that end at the other GPU; if there are none, those through an NVSwitch.
int Nvlinks(const Link& link) {
  const int links =
      link.nvlinks > 0 ? link.nvlinks : std::min(link.switch_links, link.switch_links_of);
  return std::clamp(links, 0, kMostNvlinks);
}

// HAMi compares the number of kinds of links, not their quality.
int KindsOfLinks(const Link& link) {
  return (link.ancestor ? 1 : 0) + (Nvlinks(link) > 0 ? 1 : 0);
}

Result<DeviceScores> ReadScores(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  DeviceScores device;
  TRY(ReadMember(object, "uuid", device.uuid));
  const json::Value* member = object.if_contains("score");
  if (member == nullptr || member->is_null()) return device;
  const json::Object& scores = *TRY_IN(AsObject(*member), "score");
  for (const auto& score : scores) {
    TRY(ReadMember(scores, score.key(), device.scores[std::string(score.key())]));
  }
  return device;
}

}  // namespace

Link LinkOfPoints(int points) {
  Link link{.nvlinks = points / kNvlinkPoints};
  for (const CommonAncestor ancestor :
       {CommonAncestor::kSystem, CommonAncestor::kNode, CommonAncestor::kHostBridge,
        CommonAncestor::kMultiple, CommonAncestor::kSingle, CommonAncestor::kInternal}) {
    if (AncestorPoints(ancestor) == points % kNvlinkPoints) link.ancestor = ancestor;
  }
  return link;
}

int PairScore(const Link& there, const Link& back) {
  if (IsAsymmetric(there, back)) return 0;
  return (there.ancestor ? AncestorPoints(*there.ancestor) : 0) + kNvlinkPoints * Nvlinks(there);
}

bool IsAsymmetric(const Link& there, const Link& back) {
  return KindsOfLinks(there) != KindsOfLinks(back);
}

std::string EncodeScores(std::span<const DeviceScores> devices) {
  json::Array array;
  for (const DeviceScores& device : devices) {
    json::Object scores;
    for (const auto& [uuid, score] : device.scores) scores[uuid] = score;
    array.push_back(json::Object{{"uuid", device.uuid}, {"score", std::move(scores)}});
  }
  return json::Write(array);
}

Result<std::vector<DeviceScores>> DecodeScores(std::string_view text, const Vendor& vendor) {
  const json::Value root = TRY_IN(json::Parse(text), vendor.node_score);
  std::vector<DeviceScores> devices;
  TRY_IN(ReadList(root, "device", ReadScores, devices), vendor.node_score);
  return devices;
}

}  // namespace tessera::hami
