// SPDX-License-Identifier: Apache-2.0
#include "report/api_server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/backoff.h"
#include "base/characters.h"
#include "base/log.h"
#include "base/text.h"
#include "hami/names.h"
#include "hami/protocol/hami_protocol.h"
#include "http/target.h"
#include "kube/client.h"
#include "kube/node_keeper.h"
#include "kube/node_pods.h"
#include "kube/outbox.h"
#include "os/loop.h"
#include "placement/asked_sizes.h"
#include "report/health_events.h"
#include "report/node_labels.h"

namespace tessera {
namespace {

constexpr Duration kRegistrationLook{30'000};

}  // namespace

// Everything but the loop's Post is touched on the loop's thread alone.
struct ApiServer::Voice {
  Voice(kube::Access access, const std::string& node, http::Metrics& metrics)
      : client(loop, std::move(access), {},
               [&metrics](std::string_view verb, int status) {
                 metrics.Add(http::Metric::kApiRequests, {verb, StatusText(status)});
               }),
        outbox(
            loop, client, node,
            [&metrics](std::string_view result) { metrics.Add(http::Metric::kEvents, {result}); }),
        condition(loop, client, node,
                  {"the node's condition", "/status", kube::PatchType::kStrategic}),
        former(loop, client, node,
               {"the node without its former condition", "/status", kube::PatchType::kStrategic}),
        labels(loop, client, node, {"the node's labels", "", kube::PatchType::kMerge}),
        registration(loop, client, node,
                     {"the node's registration with HAMi's scheduler", "", kube::PatchType::kMerge,
                      kRegistrationLook}),
        name(node),
        path(kube::NodePath(node)) {}

  static std::string StatusText(int status) {
    return status == 0 ? "none" : std::to_string(status);
  }

  void AskForNode(const std::function<void(const json::Value&)>& answer) {
    client.Get(path, kube::NodeForm(), [this, answer](const Result<json::Value>& node) {
      if (node) return answer(*node);
      again = loop.After(client.NextPause(pauses), [this, answer] { AskForNode(answer); });
    });
  }

  void FollowPods(const std::shared_ptr<BindContext>& context,
                  const std::set<std::string>& resources, bool events) {
    HamiProtocol::Tell tell;
    if (events) tell = [this](const std::vector<kube::Event>& told) { outbox.Add(told); };
    protocol = std::make_unique<HamiProtocol>(hami::kNvidia, loop, client, name, tell,
                                              HamiProtocol::Times{});
    protocol->Serve(resources,
                    [context](const kube::Pod& pod) { return context->claims.AwaitsClaim(pod); });
    const auto put = [this, context](const kube::PodPtr& pod) {
      context->pods.Put(pod);
      protocol->PodChanged(pod);
    };
    const auto wanted = [resources](std::string_view key) {
      return resources.contains(std::string(key));
    };
    pods = std::make_unique<kube::NodePods>(
        loop, client, name,
        kube::PodFields{
            .keys = {HamiProtocol::kKeys, kSizeKeys},
            .resource = wanted,
            .variable = [](std::string_view key) { return key == hami::kEnvDisableControl; }},
        kube::NodePods::Observer{
            .added = put,
            .changed = put,
            .removed =
                [this, context](const kube::PodPtr& pod) {
                  context->Remove(*pod);
                  protocol->PodGone(*pod);
                },
            .ended = [context](const kube::PodPtr& pod) { context->pods.End(pod); }},
        kube::NodePods::Times{});
    const auto told = [this](const json::Value& changed) { protocol->NodeChanged(changed); };
    lock = std::make_unique<kube::Watch>(
        loop, client, "/api/v1/nodes", "fieldSelector=metadata.name%3D" + http::PercentEncode(name),
        kube::NodeForm(),
        kube::Watch::Listener{
            .changed = told, .deleted = {}, .begun = {}, .item = told, .listed = [] {}});
  }

  void Seek(const std::string& uid, Duration within, const PodCache::Answer& answer) {
    pods->Await(uid, SystemClock().Now() + within, answer);
  }

  os::Loop loop;
  kube::Client client;
  kube::Outbox outbox;
  kube::NodeKeeper condition;
  kube::NodeKeeper former;  // conditions, that they stay away
  kube::NodeKeeper labels;
  kube::NodeKeeper registration;
  std::unique_ptr<HamiProtocol> protocol;
  std::unique_ptr<kube::NodePods> pods;
  std::unique_ptr<kube::Watch> lock;  // HAMi's, of the node
  const std::string name;             // the node's, as the next
  const std::string path;
  const Steady began = SystemClock().Now();
  Backoff pauses = kube::NodeKeeper::kRetries;  // while nobody says what the node is
  os::Loop::Handle again;
};

ApiServer::ApiServer(kube::Access access, std::string node, http::Metrics& metrics)
    : voice_(std::make_shared<Voice>(std::move(access), node, metrics)) {}

ApiServer::~ApiServer() {
  if (context_) {
    context_->pods.SetSeek(nullptr);
    context_->events.SetListener(nullptr);
  }
  voice_->loop.Stop();
}

// The thread shares what it uses: it may still be in it when the agent ends.
void ApiServer::Start() {
  thread_.Start([voice = voice_] { voice->loop.Run(); }, "the API server is told nothing");
}

void ApiServer::Tell(std::vector<kube::Event> events) {
  if (events.empty()) return;
  voice_->loop.Post(
      [voice = voice_.get(), events = std::move(events)] { voice->outbox.Add(events); });
  Start();
}

void ApiServer::SetCondition(const kube::Condition& condition) {
  voice_->loop.Post([voice = voice_.get(), condition] {
    voice->condition.Set([condition](const json::Value& node) {
      return kube::ConditionPatch(condition, node, SystemClock().WallNow());
    });
  });
  Start();
}

void ApiServer::RemoveConditions(const std::set<std::string>& types, std::function<void()> gone) {
  voice_->loop.Post([voice = voice_.get(), types, gone = std::move(gone)] {
    if (types.empty()) return voice->former.Set(nullptr);
    voice->former.Set([types, gone](const json::Value& node) {
      auto patch = ConditionsRemoval(types, node);
      if (!patch) gone();
      return patch;
    });
  });
  Start();
}

void ApiServer::SetLabels(const Labels& labels) {
  voice_->loop.Post([voice = voice_.get(), labels] {
    voice->labels.Set([labels, told = std::string()](
                          const json::Value& node) mutable -> std::optional<json::Value> {
      NodePatch patch = PatchLabels(labels, kube::MetadataOf(node));
      if (std::string others = Join(patch.others, ", "); others != told) {
        if (!others.empty()) {
          log::Warn("labels of the node belong to somebody else and stay as they are",
                    {{"labels", others}});
        }
        told = std::move(others);
      }
      if (!patch.patch) return std::nullopt;
      return json::Value(*std::move(patch.patch));
    });
  });
  Start();
}

void ApiServer::WatchPods(std::shared_ptr<BindContext> context,
                          const std::set<std::string>& resources, bool events) {
  voice_->loop.Post([voice = voice_.get(), context, resources, events] {
    voice->FollowPods(context, resources, events);
  });
  // The context may outlive the thread.
  const auto post = [weak = std::weak_ptr(voice_)](std::function<void(Voice&)> task) {
    const std::shared_ptr<Voice> voice = weak.lock();
    if (voice) voice->loop.Post([voice = voice.get(), task = std::move(task)] { task(*voice); });
  };
  context->pods.SetSeek([post](const std::string& uid, Duration within, PodCache::Answer answer) {
    post([uid, within, answer = std::move(answer)](Voice& voice) {
      voice.Seek(uid, within, answer);
    });
  });
  BindEvents::Listener listener;
  listener.bound = [post](const BoundContainer& bound) {
    post([bound](Voice& voice) {
      voice.protocol->Bound(HamiProtocol::GivenOf(bound, hami::kNvidia));
    });
  };
  listener.refused = [post](const RefusedContainer& refused) {
    post([refused](Voice& voice) { voice.protocol->Refused(refused); });
  };
  listener.claimed = [post](const std::string& pod_uid) {
    post([pod_uid](Voice& voice) { voice.protocol->Claimed(pod_uid); });
  };
  context->events.SetListener(std::make_shared<const BindEvents::Listener>(std::move(listener)));
  context_ = std::move(context);
  Start();
}

void ApiServer::SetRegistration(const HamiRegistration& registration) {
  voice_->loop.Post([voice = voice_.get(), registration] {
    voice->registration.Set([registration, voice](const json::Value& node) {
      const Clock& clock = SystemClock();
      if (voice->protocol) voice->protocol->NodeSeen(node);
      return RegistrationPatch(registration, node, clock.WallNow(), clock.Now() - voice->began);
    });
  });
  Start();
}

void ApiServer::RemoveRegistration(std::function<void()> gone) {
  voice_->loop.Post([voice = voice_.get(), gone = std::move(gone)] {
    if (!gone) return voice->registration.Set(nullptr);
    voice->registration.Set([gone](const json::Value& node) {
      auto patch = RegistrationRemoval(node);
      if (!patch) gone();
      return patch;
    });
  });
  Start();
}

void ApiServer::AskForNode(std::function<void(const json::Value& node)> answer) {
  voice_->loop.Post(
      [voice = voice_.get(), answer = std::move(answer)] { voice->AskForNode(answer); });
  Start();
}

namespace {

// What somebody says that the node is called; empty: nobody does.
std::string NodeSaid(const config::ApiConfig& config, const kube::Environment& environment) {
  return config.node_name.empty() ? environment("NODE_NAME").value_or("") : config.node_name;
}

}  // namespace

// Outside of a pod the machine's name is the node's, unless somebody says otherwise. Kubelet
// registers it in small letters.
std::string NodeNameOf(const config::ApiConfig& config, const kube::Environment& environment,
                       const std::string& host_name) {
  std::string node = NodeSaid(config, environment);
  if (node.empty()) std::ranges::transform(host_name, std::back_inserter(node), ToLower);
  return node;
}

std::string ApiAccessFile(const config::ApiConfig& config, const os::Root& root,
                          const kube::Environment& environment) {
  if (!config.use) return "";
  if (!config.kubeconfig.empty()) return config.kubeconfig;
  // In a pod it is the pod's: nobody but NODE_NAME says which node this is.
  if (NodeSaid(config, environment).empty()) return "";
  return kube::InClusterToken(root, environment);
}

Result<std::optional<ApiPlace>> FindApiServer(const config::ApiConfig& config, const os::Root& root,
                                              const kube::Environment& environment,
                                              const std::string& host_name) {
  if (ApiAccessFile(config, root, environment).empty()) return std::nullopt;
  const std::string node = NodeNameOf(config, environment, host_name);
  if (!config.kubeconfig.empty()) {
    return ApiPlace{.access = TRY(kube::FromKubeconfig(config.kubeconfig)), .node = node};
  }
  auto access = TRY(kube::InCluster(root, environment));
  if (!access) return std::nullopt;
  return ApiPlace{.access = *std::move(access), .node = node};
}

}  // namespace tessera
