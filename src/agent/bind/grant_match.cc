// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_match.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"

namespace tessera::agent {
namespace {

constexpr char kPreload[] = "/etc/ld.so.preload";

std::string Said(const Grant& answer, const char* key) {
  const auto found = answer.annotations.find(key);
  return found == answer.annotations.end() ? "" : found->second;
}

}  // namespace

bool IsMatched(const Grant& answer) {
  return answer.annotations.contains(kPodAnnotation);
}

Status CheckOwner(const HeldGrant& held) {
  if (!held.matched) return {};
  const std::string pod = Said(held.answer, kPodAnnotation);
  const std::string container = Said(held.answer, kContainerAnnotation);
  if (pod == held.pod_uid && container == held.container) return {};
  return Fail(Reason::kWrongMatch,
              "{}: kubelet gave container {} of pod {} what was meant for {} of {}", held.resource,
              held.container, held.pod_uid, Brief(container), Brief(pod));
}

Status CheckMatch(const Grant& answer, const Offer& offer, const Pin& pin) {
  std::vector<VgpuPart> parts = pin.parts;
  SortAsContainersSee(offer, parts);
  const std::string own = PartsText(parts);
  const std::string said = Said(answer, kPartsAnnotation);
  if (said != own) {
    return Fail(Reason::kWrongMatch,
                "{}: container {} of pod {} was told that it has {}, and by now {} was chosen for "
                "it",
                pin.resource, pin.container, pin.pod_uid, Brief(said), own);
  }
  const auto has = [&](auto Mount::* path, std::string_view value) {
    return std::ranges::count(answer.mounts, value, path) > 0;
  };
  if (!has(&Mount::host_path, pin.directory)) {
    return Fail(Reason::kWrongMatch,
                "{}: container {} of pod {} was told of another directory than {}", pin.resource,
                pin.container, pin.pod_uid, pin.directory);
  }
  const bool library = std::ranges::any_of(answer.mounts, [](const Mount& mount) {
    return mount.container_path.ends_with("/libvgpu.so");
  });
  if (!library || has(&Mount::container_path, kPreload) == pin.controlled) return {};
  return Fail(Reason::kWrongMatch,
              "{}: container {} of pod {} was told that it is {} the limiting library, and by now "
              "it is not",
              pin.resource, pin.container, pin.pod_uid, pin.controlled ? "without" : "held by");
}

}  // namespace tessera::agent
