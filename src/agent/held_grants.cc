// SPDX-License-Identifier: Apache-2.0
#include "agent/held_grants.h"

#include <algorithm>
#include <utility>

#include "agent/grant_match.h"
#include "grant/grant.h"

namespace tessera::agent {
namespace {

const HeldGrants::Some kNone;

std::string Annotation(const Grant& grant, const char* key) {
  const auto found = grant.annotations.find(key);
  return found == grant.annotations.end() ? "" : found->second;
}

HeldGrant HeldBy(const kubelet::CheckpointEntry& entry) {
  Grant grant = entry.grant();
  const std::string parts = Annotation(grant, kPartsAnnotation);
  HeldGrant held{.pod_uid = entry.pod_uid,
                 .container = entry.container,
                 .resource = entry.resource,
                 .ids = entry.ids(),
                 .name = Annotation(grant, kGrantAnnotation),
                 .parts = tessera::ReadParts(parts),
                 .asked = parts == kPartsAsked,
                 .matched = IsMatched(grant)};
  if (!held.name.empty()) held.answer = std::move(grant);
  return held;
}

// No name that kubelet knows has a character 0.
std::string KeyOf(std::string key, std::vector<std::string> ids) {
  std::ranges::sort(ids);
  for (const std::string& id : ids) (key += '\0') += id;
  return key;
}

const HeldGrants::Some& At(const std::map<std::string, HeldGrants::Some>& lists,
                           const std::string& key) {
  const auto found = lists.find(key);
  return found == lists.end() ? kNone : found->second;
}

}  // namespace

HeldGrants::HeldGrants(const kubelet::Checkpoint& checkpoint) {
  all_.reserve(checkpoint.entries.size());
  for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
    const HeldGrant& held = all_.emplace_back(HeldBy(entry));
    by_ids_[KeyOf(held.resource, held.ids)].push_back(&held);
    by_pod_[held.pod_uid].push_back(&held);
  }
}

const HeldGrants::Some& HeldGrants::With(const std::string& resource,
                                         const std::vector<std::string>& ids) const {
  return At(by_ids_, KeyOf(resource, ids));
}

const HeldGrants::Some& HeldGrants::OfPod(const std::string& uid) const {
  return At(by_pod_, uid);
}

Result<HeldGrantsPtr> CheckpointFile::Read() {
  std::lock_guard lock(mutex_);
  const os::FileInfo file = TRY(os::InspectTarget(path_));
  if (file == read_) return held_;
  const std::string text = TRY(os::ReadFile(path_));
  held_ = std::make_shared<const HeldGrants>(TRY(kubelet::ParseCheckpoint(text)));
  read_ = file;
  return held_;
}

}  // namespace tessera::agent
