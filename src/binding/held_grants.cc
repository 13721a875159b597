// SPDX-License-Identifier: Apache-2.0
#include "binding/held_grants.h"

#include <algorithm>
#include <utility>

#include "grant/grant.h"

namespace tessera {
namespace {

const HeldGrants::Matches kNone;

std::string Annotation(const Grant& grant, const char* key) {
  const auto found = grant.annotations.find(key);
  return found == grant.annotations.end() ? "" : found->second;
}

std::vector<HeldGrant> HeldIn(const kubelet::Checkpoint& checkpoint) {
  std::vector<HeldGrant> all;
  all.reserve(checkpoint.entries.size());
  for (const kubelet::CheckpointEntry& entry : checkpoint.entries) {
    all.push_back(
        HeldBy(entry.pod_uid, entry.container, entry.resource, entry.ids(), entry.grant()));
  }
  return all;
}

// kubelet's names contain no NUL, so it separates the parts without ambiguity.
std::string KeyOf(std::string key, std::vector<std::string> ids) {
  std::ranges::sort(ids);
  for (const std::string& id : ids) (key += '\0') += id;
  return key;
}

const HeldGrants::Matches& At(const std::map<std::string, HeldGrants::Matches>& lists,
                              const std::string& key) {
  const auto found = lists.find(key);
  return found == lists.end() ? kNone : found->second;
}

}  // namespace

bool IsPodName(std::string_view pod) {
  return pod.find('/') != std::string_view::npos;
}

tl::unexpected<Error> NotAlone(const std::string& container, const std::string& pod,
                               const std::string& resource, const std::string& other) {
  return Fail(Reason::kNotEnforced,
              "container {} of pod {} has virtual GPUs of {} and {}, but only those of one "
              "resource can be limited",
              container, pod, std::min(resource, other), std::max(resource, other));
}

HeldGrant HeldBy(std::string pod_uid, std::string container, std::string resource,
                 std::vector<std::string> ids, Grant answer) {
  const std::string parts = Annotation(answer, kPartsAnnotation);
  HeldGrant held{.pod_uid = std::move(pod_uid),
                 .container = std::move(container),
                 .resource = std::move(resource),
                 .ids = std::move(ids),
                 .name = Annotation(answer, kGrantAnnotation),
                 .parts = tessera::ReadParts(parts),
                 .asked = parts == kPartsAsked,
                 .matched = answer.annotations.contains(kPodAnnotation),
                 .prepared = Annotation(answer, kPreparedAnnotation)};
  if (!held.name.empty()) held.answer = std::move(answer);
  return held;
}

HeldGrants::HeldGrants(const kubelet::Checkpoint& checkpoint) : HeldGrants(HeldIn(checkpoint)) {}

HeldGrants::HeldGrants(std::vector<HeldGrant> all) : all_(std::move(all)) {
  for (const HeldGrant& held : all_) {
    by_ids_[KeyOf(held.resource, held.ids)].push_back(&held);
    by_pod_[held.pod_uid].push_back(&held);
  }
}

const HeldGrants::Matches& HeldGrants::WithIds(const std::string& resource,
                                               const std::vector<std::string>& ids) const {
  return At(by_ids_, KeyOf(resource, ids));
}

const HeldGrants::Matches& HeldGrants::OfPod(const std::string& uid) const {
  return At(by_pod_, uid);
}

bool IsOfUnknownShape(const Result<HeldGrantsPtr>& read) {
  return !read && read.error().reason == Reason::kInvalid;
}

Result<HeldGrantsPtr> CheckpointFile::Read() {
  const MutexLock lock(mutex_);
  const os::FileInfo file = TRY(os::InspectTarget(path_));
  if (file == read_) return held_;
  const std::string text = TRY(os::ReadFile(path_));
  held_ = kubelet::ParseCheckpoint(text).map(
      [](const kubelet::Checkpoint& checkpoint) -> HeldGrantsPtr {
        return std::make_shared<const HeldGrants>(checkpoint);
      });
  read_ = file;
  return held_;
}

}  // namespace tessera
