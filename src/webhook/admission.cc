// SPDX-License-Identifier: Apache-2.0
#include "webhook/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/quote.h"
#include "hami/names.h"
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
  const bool unnamed = pod.scheduler.empty() ||
                       (rules.takes_default_scheduler && pod.scheduler == kDefaultScheduler);
  return (named || unnamed) &&
         std::ranges::any_of(pod.containers, [&](const NewContainer& container) {
           return AsksForAny(container.asked, rules.requests);
         });
}

Status Check(const NewPod& pod, const Rules& rules, const ClusterFacts& facts) {
  TRY(CheckRequests(pod, rules));
  TRY(CheckPrivileges(pod, rules));
  return CheckNode(pod, facts);
}

std::string NameOf(const Review& review, const NewPod& pod) {
  return "pod " + Brief(review.pod_namespace + "/" + pod.name);
}

}  // namespace

kube::PodFields FieldsOf(const Rules& rules) {
  std::vector<std::string> resources = ResourcesOf(rules.requests);
  resources.push_back(rules.priority_name);
  return {.keys = {"hami.io/", std::string(rules.vendor->use_id), std::string(kMirror)},
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
  if (const auto good = Check(pod, rules, facts); !good) return Refusal(good.error().In(name));
  return {.warnings = WarningsFor(pod, rules, facts), .patch = PatchOf(pod, rules)};
}

Result<json::Value> Admit(std::string_view body, const Rules& rules, const ClusterFacts& facts,
                          Stage stage) {
  const Review review = TRY(ReadReview(body, FieldsOf(rules)));
  return AnswerJson(review, Decide(review, rules, facts), stage);
}

}  // namespace tessera::webhook
