// SPDX-License-Identifier: Apache-2.0
// What the API server and a kubeconfig say: a stream cut into lines wherever it is cut, its events,
// the pods in them, refusals, times to wait, and a file with an access.

#include <vector>

#include "kube/access.h"
#include "kube/pod.h"
#include "kube/wire.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;
namespace kube = tessera::kube;

namespace {

constexpr size_t kLongest = 4096;

std::vector<std::string> LinesOf(std::string_view text, size_t piece) {
  kube::Lines lines(kLongest);
  std::vector<std::string> found;
  while (!text.empty()) {
    if (!lines.Add(text.substr(0, piece))) break;
    while (auto line = lines.Next()) found.push_back(*std::move(line));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return found;
}

// Everything is asked for, or what begins with an "a".
void CheckPod(const tessera::json::Value& object) {
  const auto few = [](std::string_view name) { return name.starts_with('a'); };
  const auto all = [](std::string_view) { return true; };
  const auto pod = kube::ReadPod(object, {.keys = {""}, .resource = all, .variable = all});
  const auto part = kube::ReadPod(object, {.keys = {"a"}, .resource = few, .variable = few});
  Require(pod || !pod.error().message.empty(), "a refusal says why");
  if (!pod) return;
  const auto small =
      tessera::json::ParseWithout(tessera::json::Write(object), kube::kUnreadMembers);
  Require(small && kube::ReadPod(*small, {.keys = {"hami.io/"}}) ==
                       kube::ReadPod(object, {.keys = {"hami.io/"}}),
          "what is not read makes no difference");
  Require(part.has_value(), "what is not asked for breaks nothing");
  Require(pod->KubeletUid() == kube::KubeletUidIn(object), "a pod has one UID");
  Require(!pod->KubeletUid().empty() && pod->KubeletUid() == part->KubeletUid(), "a pod has a UID");
  Require(pod->pod_namespace + "/" + pod->name == kube::PodNameIn(object), "a pod has one name");
  Require(!pod->containers.empty(), "a pod has containers");
  for (size_t i = 0; i < pod->containers.size(); ++i) {
    Require(!pod->containers[i].name.empty(), "a container has a name");
    Require(part->containers[i].limits.size() <= pod->containers[i].limits.size(), "part is less");
    for (const auto& [name, value] : part->containers[i].limits) {
      Require(few(name), "only what is asked for is kept");
    }
  }
}

void CheckStream(std::string_view text) {
  const auto whole = LinesOf(text, text.size());
  if (text.size() <= kLongest) Require(LinesOf(text, 3) == whole, "pieces make no difference");
  for (const std::string& line : whole) {
    Require(line.find('\n') == std::string::npos, "a line is one");
    const auto event = kube::ReadEvent(line);
    Require(event || !event.error().message.empty(), "a refusal says why");
    if (!event) continue;
    Require(event->object.is_object(), "an event has an object");
    Require(event->kind == kube::WatchEvent::Kind::kError || !event->version.empty(),
            "an event has a version");
    CheckPod(event->object);
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
  if (const auto value = tessera::json::Parse(text)) CheckPod(*value);
  const auto access = kube::ParseKubeconfig("/nonexistent/config", std::string(text));
  Require(access || !access.error().message.empty(), "a refusal says why");
  Require(!access || (!access->host.empty() && access->port > 0 && access->port < 65536),
          "an access has a place");
  return 0;
}
