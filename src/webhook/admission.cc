// SPDX-License-Identifier: Apache-2.0
#include "webhook/admission.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "hami/names.h"
#include "hami/policies.h"
#include "placement/request_check.h"
#include "webhook/patch.h"
#include "webhook/refusals.h"
#include "webhook/warnings.h"

namespace tessera::webhook {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";

Decision Refusal(const Error& why) {
  return {.allowed = false, .message = why.message};
}

bool KeepsOut(const NewPod& pod) {
  const auto label = pod.labels.find(hami::kWebhookLabel);
  return label != pod.labels.end() && label->second == hami::kWebhookIgnore;
}

bool IsOurs(const NewPod& pod, const Rules& rules) {
  const bool named = std::ranges::find(rules.schedulers, pod.scheduler) != rules.schedulers.end();
  return named || pod.scheduler.empty() ||
         (rules.takes_default_scheduler && pod.scheduler == kDefaultScheduler);
}

// The index of the vendor that the pod requests, or nothing.
Result<std::optional<size_t>> KindOf(const NewPod& pod, const Rules& rules) {
  std::vector<const kube::Container*> containers;
  for (const NewContainer& container : pod.containers) containers.push_back(&container.asked);
  std::vector<const RequestRules*> all;
  for (const DeviceRules& devices : rules.devices) all.push_back(&devices.requests);
  return RulesAskedBy(containers, all);
}

// The rules for this pod's mode.
DeviceRules RulesFor(const NewPod& pod, const DeviceRules& rules) {
  DeviceRules own = rules;
  const auto mode = pod.annotations.find(rules.vendor->use_mode);
  const bool core = mode != pod.annotations.end() && Trim(mode->second) == hami::kModeCore;
  if (core && rules.core_requests) own.requests = *rules.core_requests;
  return own;
}

Status Check(const NewPod& pod, const DeviceRules& rules, const ClusterFacts& facts) {
  TRY(CheckRequests(pod, rules));
  TRY(CheckPrivileges(pod, rules));
  return CheckNode(pod, rules, facts);
}

std::string NameOf(const Review& review, const NewPod& pod) {
  return "pod " + Brief(review.pod_namespace + "/" + pod.name);
}

}  // namespace

kube::PodFields FieldsOf(const Rules& rules) {
  std::vector<std::string> keys{"hami.io/", std::string(kMirror), std::string(hami::kNodeChoices),
                                std::string(hami::kPodAscendDevices)};
  std::vector<std::string> resources;
  for (const DeviceRules& devices : rules.devices) {
    for (const std::string_view key : {devices.vendor->use_id, devices.vendor->use_mode}) {
      if (!key.empty()) keys.emplace_back(key);
    }
    for (std::string& name : ResourcesOf(devices.requests)) resources.push_back(std::move(name));
    resources.push_back(devices.priority_name);
  }
  return {.keys = std::move(keys),
          .resource = [resources = std::move(resources)](std::string_view name) {
            return std::ranges::find(resources, name) != resources.end();
          }};
}

Decision Decide(const Review& review, const Rules& rules, const ClusterFacts& facts) {
  if (!review.makes_pod) return {};
  if (!review.pod) return Refusal(review.pod.error().In("the pod cannot be read"));
  const NewPod& pod = *review.pod;
  const std::string name = NameOf(review, pod);
  if (const auto kept = CheckProtocol(review, pod, rules.guard); !kept) {
    return Refusal(kept.error().In(name));
  }
  if (KeepsOut(pod) || IsMirror(review, pod) || !IsOurs(pod, rules)) return {};
  const auto kind = KindOf(pod, rules);
  if (!kind) return Refusal(kind.error().In(name));
  if (!*kind) return {};
  const DeviceRules devices = RulesFor(pod, rules.devices[**kind]);
  if (const auto good = Check(pod, devices, facts); !good) return Refusal(good.error().In(name));
  return {.warnings = WarningsFor(pod, devices, facts.MostOf(**kind)),
          .patch = PatchOf(pod, rules, devices)};
}

Result<json::Value> Admit(std::string_view body, const Rules& rules, const ClusterFacts& facts,
                          Stage stage) {
  const Review review = TRY(ReadReview(body, FieldsOf(rules)));
  return AnswerJson(review, Decide(review, rules, facts), stage);
}

}  // namespace tessera::webhook
