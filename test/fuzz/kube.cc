// SPDX-License-Identifier: Apache-2.0
// Texts from the API server: a watch stream in any pieces, its events, their objects, errors and
// retry times. Also a kubeconfig.

#include <vector>

#include "kube/access.h"
#include "kube/objects/cluster_node.h"
#include "kube/objects/metadata.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_quota.h"
#include "kube/objects/secret.h"
#include "kube/objects/version.h"
#include "kube/objects/webhook.h"
#include "kube/wire.h"
#include "test/fuzz/fractions.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;
namespace kube = tessera::kube;

namespace {

kube::PodFields Few() {
  const auto few = [](std::string_view name) { return name.starts_with('a'); };
  return {.keys = {"a"}, .resource = few, .variable = few, .quota = true};
}

// The events of a stream, up to the first invalid one. `piece`: bytes that are added at once.
std::vector<kube::WatchEvent> EventsOf(std::string_view text, size_t piece) {
  kube::EventReader reader(kube::PodForm(Few()));
  std::vector<kube::WatchEvent> found;
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!reader.Add(text.substr(at, piece), found)) break;
  }
  return found;
}

// A pod that is read with the form must equal one read without it, unless it is too large.
void CheckForm(const tessera::json::Value& object) {
  const std::string text = tessera::json::Write(object);
  if (text.size() > tessera::json::Shape::kLongest / 2) return;
  const kube::Form form = kube::PodForm(Few());
  tessera::json::Reader reader(form.shape, form.most);
  if (!reader.Add(text)) return;
  const auto part = reader.End();
  Require(part.has_value(), "what was written is read");
  const auto by_form = kube::ReadPod(*part, Few());
  const auto whole = kube::ReadPod(object, Few());
  Require(!whole || by_form.has_value(), "what is not read makes no difference");
  if (whole && by_form->excess.empty()) Require(*whole == *by_form, "nor to what is read");
}

// Reads the pod with all fields, and with only those that begin with an "a".
void CheckPod(const tessera::json::Value& object) {
  const auto few = [](std::string_view name) { return name.starts_with('a'); };
  const auto all = [](std::string_view) { return true; };
  const auto pod = kube::ReadPod(object, {.keys = {""}, .resource = all, .variable = all});
  const auto part = kube::ReadPod(object, {.keys = {"a"}, .resource = few, .variable = few});
  Require(pod || !pod.error().message.empty(), "a refusal says why");
  if (!pod) return;
  Require(pod->KubeletUid() == kube::KubeletUidIn(object), "a pod has one UID");
  Require(!pod->KubeletUid().empty(), "a pod has a UID");
  Require(pod->pod_namespace + "/" + pod->name == kube::ObjectKeyIn(object), "a pod has one name");
  for (const kube::Container& container : pod->containers) {
    Require(!container.name.empty(), "a container has a name");
  }
  if (!pod->excess.empty()) return;  // of a larger pod, some of the rest is unread
  CheckForm(object);
  // After a text that is too long, the rest of a pod that asks for nothing is unread.
  Require(part.has_value() || pod->containers.empty(), "what is not asked for breaks nothing");
  if (!part) return;
  Require(pod->KubeletUid() == part->KubeletUid(), "its UID is always read");
  const size_t containers = part->containers.size();
  Require(containers == 0 || containers == pod->containers.size(), "all of who asks, or none");
  for (size_t i = 0; i < containers; ++i) {
    Require(part->containers[i].limits.size() <= pod->containers[i].limits.size(), "part is less");
    for (const auto& [name, value] : part->containers[i].limits) {
      Require(few(name), "only what is asked for is kept");
    }
  }
}

// Reads the object as each other kind.
void CheckOthers(const tessera::json::Value& object) {
  const auto all = [](std::string_view) { return true; };
  const auto quota = kube::ReadResourceQuota(object, all);
  Require(quota || !quota.error().message.empty(), "a refusal says why");
  if (quota) Require(!quota->name.empty() && !quota->quota_namespace.empty(), "a quota has a name");
  const auto node =
      kube::ReadClusterNode(object, {.label = all, .annotation = all, .resource = all});
  Require(node || !node.error().message.empty(), "a refusal says why");
  Require(!node || kube::ObjectKeyIn(object).ends_with(node->name), "a node has one name");
  const auto version = kube::ReadVersion(object);
  Require(version || !version.error().message.empty(), "a refusal says why");
  Require(!version || (version->major >= 0 && version->minor >= 0), "a version counts up");
  const auto secret = kube::ReadSecret(object);
  Require(secret || !secret.error().message.empty(), "a refusal says why");
  if (secret) {
    const auto again = kube::ReadSecret(kube::SecretJson(*secret));
    Require(again && again->data == secret->data && again->metadata == secret->metadata,
            "what is written back is what was read");
  }
  const auto patch = kube::CaBundlePatch(object, "ca");
  Require(patch || !patch.error().message.empty(), "a refusal says why");
}

void CheckStream(std::string_view text) {
  const auto whole = EventsOf(text, text.size() + 1);
  const auto parts = EventsOf(text, 1 + text.size() % 5);
  Require(whole.size() == parts.size(), "pieces make no difference");
  for (size_t i = 0; i < whole.size(); ++i) {
    const kube::WatchEvent& event = whole[i];
    Require(tessera::fuzz::HasFractions(event.object) || event.object == parts[i].object,
            "pieces make no difference");
    Require(event.object.is_object(), "an event has an object");
    Require(event.kind == kube::WatchEvent::Kind::kError || !event.version.empty(),
            "an event has a version");
    CheckPod(event.object);
    CheckOthers(event.object);
  }
}

void CheckReply(std::string_view text) {
  const tessera::http::Reply reply{.status = 422, .body = std::string(text)};
  Require(!kube::ErrorIn(reply)->message.empty(), "an error has words");
  kube::StatusReason(reply);
  const tessera::http::Reply busy{.status = 429, .headers = {{"retry-after", std::string(text)}}};
  const auto wait = kube::RetryAfter(busy, tessera::Wall{});
  Require(!wait || (wait->count() >= 0 && wait->count() <= 3'600'000), "a wait is bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  CheckStream(text);
  CheckReply(text);
  if (const auto value = tessera::json::Parse(text)) {
    CheckPod(*value);
    CheckOthers(*value);
  }
  const auto access = kube::ParseKubeconfig("/nonexistent/config", std::string(text));
  Require(access || !access.error().message.empty(), "a refusal says why");
  Require(!access || (!access->host.empty() && access->port > 0 && access->port < 65536),
          "an access has a place");
  return 0;
}
