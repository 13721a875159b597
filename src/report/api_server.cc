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
#include "kube/event_queue.h"
#include "kube/node_keeper.h"
#include "kube/node_pods.h"
#include "os/loop.h"
#include "placement/asked_sizes.h"
#include "report/health_events.h"
#include "report/node_labels.h"

namespace tessera {
namespace {

constexpr Duration kRegistrationLook{30'000};

}  // namespace

// Only the loop's thread touches it, except loop.Post.
struct ApiServer::ApiThread {
  ApiThread(kube::Access access, const std::string& node, http::Metrics& metrics)
      : client(loop, std::move(access), {},
               [&metrics](std::string_view verb, int status) {
                 metrics.Add(http::Metric::kApiRequests, {verb, StatusText(status)});
               }),
        event_queue(
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
                  const std::set<std::string>& resources, const hami::Vendor& vendor, bool events) {
    HamiProtocol::EmitEvents tell;
    if (events) tell = [this](const std::vector<kube::Event>& told) { event_queue.Add(told); };
    protocol =
        std::make_unique<HamiProtocol>(vendor, loop, client, name, tell, HamiProtocol::Times{});
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
            .keys = {HamiProtocol::kKeys, kSizeKeys, std::string(hami::kPodAscendDevices)},
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
            .ended = [context](const kube::PodPtr& pod) { context->pods.MarkEnded(pod); }},
        kube::NodePods::Times{});
    const auto told = [this](const json::Value& changed) { protocol->NodeChanged(changed); };
    lock = std::make_unique<kube::Watch>(
        loop, client, "/api/v1/nodes", "fieldSelector=metadata.name%3D" + http::PercentEncode(name),
        kube::NodeForm(),
        kube::Watch::Listener{
            .changed = told, .deleted = {}, .begun = {}, .item = told, .listed = [] {}});
  }

  void LookUpPod(const std::string& uid, Duration within, const PodCache::Answer& answer) {
    pods->Await(uid, SystemClock().Now() + within, answer);
  }

  os::Loop loop;
  kube::Client client;
  kube::EventQueue event_queue;
  kube::NodeKeeper condition;
  kube::NodeKeeper former;  // removes former conditions
  kube::NodeKeeper labels;
  kube::NodeKeeper registration;
  std::unique_ptr<HamiProtocol> protocol;
  std::unique_ptr<kube::NodePods> pods;
  std::unique_ptr<kube::Watch> lock;  // watches HAMi's lock of the node
  const std::string name;             // the node's
  const std::string path;
  const Steady began = SystemClock().Now();
  Backoff pauses = kube::NodeKeeper::kRetries;  // while reads of the node fail
  os::Loop::Handle again;
};

ApiServer::ApiServer(kube::Access access, std::string node, http::Metrics& metrics)
    : api_thread_(std::make_shared<ApiThread>(std::move(access), node, metrics)) {}

ApiServer::~ApiServer() {
  if (context_) {
    context_->pods.SetLookup(nullptr);
    context_->events.SetListener(nullptr);
  }
  api_thread_->loop.Stop();
}

// The thread shares ownership of its state, because it may still run when this object is destroyed.
void ApiServer::StartThread() {
  thread_.Start([api_thread = api_thread_] { api_thread->loop.Run(); },
                "the agent reports nothing to the API server");
}

void ApiServer::EmitEvents(std::vector<kube::Event> events) {
  if (events.empty()) return;
  api_thread_->loop.Post([api_thread = api_thread_.get(), events = std::move(events)] {
    api_thread->event_queue.Add(events);
  });
  StartThread();
}

void ApiServer::SetCondition(const kube::Condition& condition) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), condition] {
    api_thread->condition.Set([condition](const json::Value& node) {
      return kube::ConditionPatch(condition, node, SystemClock().WallNow());
    });
  });
  StartThread();
}

void ApiServer::RemoveConditions(const std::set<std::string>& types, std::function<void()> gone) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), types, gone = std::move(gone)] {
    if (types.empty()) return api_thread->former.Set(nullptr);
    api_thread->former.Set([types, gone](const json::Value& node) {
      auto patch = ConditionsRemoval(types, node);
      if (!patch) gone();
      return patch;
    });
  });
  StartThread();
}

void ApiServer::SetLabels(const Labels& labels) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), labels] {
    api_thread->labels.Set([labels, told = std::string()](
                               const json::Value& node) mutable -> std::optional<json::Value> {
      NodePatch patch = PatchLabels(labels, kube::MetadataOf(node));
      if (std::string others = Join(patch.others, ", "); others != told) {
        if (!others.empty()) {
          log::Warn("another program set labels of the node; the agent leaves them unchanged",
                    {{"labels", others}});
        }
        told = std::move(others);
      }
      if (!patch.patch) return std::nullopt;
      return json::Value(*std::move(patch.patch));
    });
  });
  StartThread();
}

void ApiServer::WatchPods(std::shared_ptr<BindContext> context,
                          const std::set<std::string>& resources, const hami::Vendor& vendor,
                          bool events) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), context, resources, &vendor, events] {
    api_thread->FollowPods(context, resources, vendor, events);
  });
  // The context may outlive the thread, so its callbacks hold a weak reference.
  const auto post = [weak = std::weak_ptr(api_thread_)](std::function<void(ApiThread&)> task) {
    const std::shared_ptr<ApiThread> api_thread = weak.lock();
    if (api_thread)
      api_thread->loop.Post(
          [api_thread = api_thread.get(), task = std::move(task)] { task(*api_thread); });
  };
  context->pods.SetLookup([post](const std::string& uid, Duration within, PodCache::Answer answer) {
    post([uid, within, answer = std::move(answer)](ApiThread& api_thread) {
      api_thread.LookUpPod(uid, within, answer);
    });
  });
  BindEvents::Listener listener;
  listener.bound = [post, &vendor](const BoundContainer& bound) {
    post([bound, &vendor](ApiThread& api_thread) {
      api_thread.protocol->Bound(HamiProtocol::BoundEntryOf(bound, vendor));
    });
  };
  listener.refused = [post](const RefusedContainer& refused) {
    post([refused](ApiThread& api_thread) { api_thread.protocol->Refused(refused); });
  };
  listener.claimed = [post](const std::string& pod_uid) {
    post([pod_uid](ApiThread& api_thread) { api_thread.protocol->Claimed(pod_uid); });
  };
  context->events.SetListener(std::make_shared<const BindEvents::Listener>(std::move(listener)));
  context_ = std::move(context);
  StartThread();
}

void ApiServer::SetRegistration(const HamiRegistration& registration, const HamiVendors& former,
                                std::function<void()> gone) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), registration, former,
                          gone = std::move(gone)] {
    api_thread->registration.Set([registration, former, gone, api_thread](const json::Value& node) {
      const Clock& clock = SystemClock();
      if (api_thread->protocol) api_thread->protocol->NodeSeen(node);
      if (!former.empty() && !HasRegistration(former, node)) gone();
      return RegistrationPatch(registration, former, node, clock.WallNow(),
                               clock.Now() - api_thread->began);
    });
  });
  StartThread();
}

void ApiServer::RemoveRegistration(const HamiVendors& vendors, std::function<void()> gone) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), vendors, gone = std::move(gone)] {
    if (!gone) return api_thread->registration.Set(nullptr);
    api_thread->registration.Set([vendors, gone](const json::Value& node) {
      auto patch = RegistrationRemoval(vendors, node);
      if (!patch) gone();
      return patch;
    });
  });
  StartThread();
}

void ApiServer::AskForNode(std::function<void(const json::Value& node)> answer) {
  api_thread_->loop.Post([api_thread = api_thread_.get(), answer = std::move(answer)] {
    api_thread->AskForNode(answer);
  });
  StartThread();
}

namespace {

// The node's explicit name: configured or NODE_NAME; empty: none.
std::string NodeSaid(const config::ApiConfig& config, const kube::Environment& environment) {
  return config.node_name.empty() ? environment("NODE_NAME").value_or("") : config.node_name;
}

}  // namespace

// Outside a pod the node has the machine's name, unless another one is set. kubelet registers it in
// lower case.
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
  // In a pod the machine's name is the pod's, so only an explicit name identifies the node.
  if (NodeSaid(config, environment).empty()) return "";
  return kube::InClusterToken(root, environment);
}

Result<std::optional<ApiTarget>> FindApiServer(const config::ApiConfig& config,
                                               const os::Root& root,
                                               const kube::Environment& environment,
                                               const std::string& host_name) {
  if (ApiAccessFile(config, root, environment).empty()) return std::nullopt;
  const std::string node = NodeNameOf(config, environment, host_name);
  if (!config.kubeconfig.empty()) {
    return ApiTarget{.access = TRY(kube::FromKubeconfig(config.kubeconfig)), .node = node};
  }
  auto access = TRY(kube::InCluster(root, environment));
  if (!access) return std::nullopt;
  return ApiTarget{.access = *std::move(access), .node = node};
}

}  // namespace tessera
