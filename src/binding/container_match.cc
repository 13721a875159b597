// SPDX-License-Identifier: Apache-2.0
#include "binding/container_match.h"

#include <fmt/core.h>

#include <string_view>

#include "base/quote.h"
#include "hami/pod_placement.h"

namespace tessera {
namespace {

// True for a plain name, which cannot lead out of its directory.
bool IsFileName(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos;
}

}  // namespace

Result<FractionMatch> MatchOf(const kube::Pod& pod, const PlacedContainer& own,
                              const FractionRules& fractions) {
  if (!IsFileName(pod.uid) || !IsFileName(own.name)) {
    return Fail(Reason::kGrantUnknown,
                "container {} of pod {}: one of the two names cannot name a directory",
                Brief(own.name), Brief(pod.uid));
  }
  return FractionMatch{
      .pod_uid = pod.KubeletUid(),
      .container = own.name,
      .parts = own.parts,
      .directory = fmt::format("{}/{}_{}", FilesOf(fractions).containers, pod.uid, own.name),
      .controlled = !fractions.may_disable_control || !hami::WantsNoControl(pod, own.name)};
}

}  // namespace tessera
