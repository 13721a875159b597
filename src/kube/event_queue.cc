// SPDX-License-Identifier: Apache-2.0
#include "kube/event_queue.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "kube/objects/pod.h"

namespace tessera::kube {
namespace {

// A starting API server may not have its RBAC rules yet, so a denial is retried. After this many,
// it is real: a missing right, or a namespace being deleted.
constexpr int kDenials = 5;

bool MayPass(Reason reason) {
  return reason == Reason::kApiUnreachable || reason == Reason::kApiBusy ||
         reason == Reason::kApiConflict || reason == Reason::kApiForbidden;
}

// The UID of the pod, if it runs on this node.
std::optional<std::string> UidOf(const json::Value& pod, const std::string& node) {
  const json::Object* object = pod.if_object();
  const json::Object* metadata = object == nullptr ? nullptr : json::GetObject(*object, "metadata");
  const json::Object* spec = object == nullptr ? nullptr : json::GetObject(*object, "spec");
  if (metadata == nullptr || spec == nullptr || json::GetString(*spec, "nodeName") != node) {
    return std::nullopt;
  }
  return json::GetString(*metadata, "uid");
}

}  // namespace

EventQueue::EventQueue(os::Loop& loop, Client& client, std::string node, Observer observer,
                       Backoff retries)
    : loop_(loop),
      client_(client),
      node_(std::move(node)),
      observer_(std::move(observer)),
      retries_(retries),
      again_(loop_, [this] { SendNext(); }) {}

void EventQueue::Add(std::vector<Event> events) {
  for (Event& event : events) queue_.push_back({.event = std::move(event)});
  // The first event may be in flight, and its answer refers to it, so it stays.
  size_t dropped = 0;
  while (queue_.size() > kLimit) {
    queue_.erase(queue_.begin() + (busy_ ? 1 : 0));
    ++dropped;
    observer_("dropped");
  }
  if (dropped > 0) {
    log::Warn("events were dropped, because the API server accepts none",
              {{"dropped", dropped}, {"waiting", queue_.size()}});
  }
  if (!busy_ && retries_.pause() == Duration(0)) SendNext();
}

void EventQueue::SendNext() {
  if (busy_ || queue_.empty()) return;
  busy_ = true;
  const Reference& about = queue_.front().event.about;
  about.kind == "Pod" && about.uid.empty() ? AskForUid() : Send();
}

void EventQueue::AskForUid() {
  const Reference& about = queue_.front().event.about;
  client_.Get(fmt::format("/api/v1/namespaces/{}/pods/{}", about.pod_namespace, about.name),
              PodForm({}), [this](const Result<json::Value>& pod) {
                if (!pod) return SendFailed(pod.error());
                const auto uid = UidOf(*pod, node_);
                if (!uid) return FinishEvent("refused");
                queue_.front().event.about.uid = *uid;
                Send();
              });
}

void EventQueue::Send() {
  const Event& event = queue_.front().event;
  client_.Create(EventPath(event), EventJson(event, node_), [this](const Status& made) {
    if (!made) return SendFailed(made.error());
    if (!refusal_.empty()) log::Info("the API server accepts events again");
    refusal_.clear();
    FinishEvent("sent");
  });
}

void EventQueue::SendFailed(const Error& error) {
  QueuedEvent& queued = queue_.front();
  const bool denied = error.reason == Reason::kApiForbidden;
  if (error.reason != Reason::kNotFound && error.message != refusal_) {
    refusal_ = error.message;
    log::Warn("the API server did not accept an event", error);
  }
  if (!MayPass(error.reason) || (denied && ++queued.denials >= kDenials))
    return FinishEvent("refused");
  busy_ = false;
  again_.RingWithin(client_.NextPause(retries_));
}

void EventQueue::FinishEvent(std::string_view result) {
  observer_(result);
  queue_.pop_front();
  busy_ = false;
  retries_.Succeeded();
  SendNext();
}

}  // namespace tessera::kube
