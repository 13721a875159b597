// SPDX-License-Identifier: Apache-2.0
#include "scheduler/service.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "hami/names.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/metrics.h"
#include "kube/client.h"
#include "kube/event_queue.h"
#include "kube/informer.h"
#include "kube/metadata_patch.h"
#include "os/alarm.h"
#include "scheduler/binder.h"
#include "scheduler/device_metrics.h"
#include "scheduler/extender.h"

namespace tessera::scheduler {
namespace {

// An annotation whose change makes kube-scheduler retry the pod. Any change of the pod would.
constexpr char kWoken[] = "tessera.dev/woken";
constexpr Duration kWakePause{1'000};

// Longer than kube-scheduler's wait for a pod's volumes (bindTimeoutSeconds).
constexpr Duration kHoldLimit = std::chrono::minutes(11);
constexpr Duration kHoldLook = std::chrono::minutes(1);
// A pod may have 1.5 MB, and 10,000 node names 300 kB.
constexpr size_t kMostOfCall = size_t{16} << 20;
constexpr size_t kMostOfObjects = size_t{512} << 20;
constexpr int kPage = 500;
constexpr Duration kPageLimit = std::chrono::seconds(30);
constexpr double kBindsPerSecond = 1'000;

constexpr std::string_view kNotReady =
    "the nodes, pods and quotas of the cluster are still being read";

// A bind holds its connection while it waits for a node lock, so the bound is the number of
// concurrent binds.
const http::ListenOptions kExtender{
    .takes = {.posts = true, .body = kMostOfCall, .chunks = true, .requests = 1'000'000},
    .bounds = {.all = 512, .of_loopback = 512, .received = size_t{64} << 20}};

// Whether a list that began after the takeover has been read. Only such a list has all bindings of
// the former leader.
struct Freshness {
  bool fresh = true;
  bool again = false;  // the current list began before the takeover

  template <class T>
  void Demand(kube::Informer<T>& informer) {
    fresh = false;
    again = !informer.Refresh(kPageLimit);
  }
  template <class T>
  void Listed(kube::Informer<T>& informer) {
    if (again) return Demand(informer);
    fresh = true;
  }
};

kube::Texts LabelsIn(const std::vector<std::string>& texts) {
  kube::Texts labels;
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size() - 1);
    labels.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return labels;
}

kube::ClusterNodeFields NodeFieldsOf(const Cluster& cluster, const kube::Texts& labels) {
  kube::ClusterNodeFields fields = cluster.NodeFields();
  fields.label = [labels](std::string_view key) { return labels.contains(key); };
  return fields;
}

// Without spaces, since an answer may have thousands of names.
http::Response Compact(const json::Value& value) {
  return {.body = json::Write(value)};
}

}  // namespace

struct Service::Impl {
  Impl(os::Loop& on, const Clock& time, const ServiceOptions& options)
      : loop(on),
        clock(time),
        labels(LabelsIn(options.node_labels)),
        cluster(options.vendors, options.policies),
        client(loop, options.access,
               {.per_second = kBindsPerSecond, .burst = kBindsPerSecond, .page = kPage}),
        nodes(loop, client,
              {.path = "/api/v1/nodes",
               .form = kube::ClusterNodeForm(NodeFieldsOf(cluster, labels)),
               .read =
                   [fields = NodeFieldsOf(cluster, labels)](const json::Value& object) {
                     return kube::ReadClusterNode(object, fields);
                   },
               .most = kMostOfObjects},
              {.added = [this](const auto& node) { PutNode(*node); },
               .changed = [this](const auto&, const auto& node) { PutNode(*node); },
               .removed = [this](const auto& node, const auto&) { cluster.RemoveNode(node->name); },
               .listed =
                   [this] {
                     fresh_nodes.Listed(nodes);
                     LogReady();
                   }}),
        pods(loop, client,
             {.path = "/api/v1/pods",
              .query = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
              .form = kube::PodForm(cluster.PodFields()),
              .read = [fields = cluster.PodFields()](
                          const json::Value& object) { return kube::ReadPod(object, fields); },
              // The cluster keeps a bound pod's allocation, so the informer need not.
              .brief = [](const kube::Pod& pod) { return !pod.node.empty(); },
              .most = kMostOfObjects},
             {.added = [this](const auto& pod) { PutPod(pod); },
              .changed = [this](const auto&, const auto& pod) { PutPod(pod); },
              .removed =
                  [this](const auto&, const std::string& uid) {
                    cluster.RemovePod(uid);
                    WakeSoon();
                  },
              .listed =
                  [this] {
                    fresh_pods.Listed(pods);
                    LogReady();
                  }}),
        quotas(
            loop, client,
            {.path = "/api/v1/resourcequotas",
             .form = kube::ResourceQuotaForm(LimitNames()),
             .read =
                 [names = LimitNames()](const json::Value& object) {
                   return kube::ReadResourceQuota(object, names);
                 },
             .most = kMostOfObjects},
            {.added = [this](const auto& quota) { cluster.quotas().Put(*quota); },
             .changed = [this](const auto&, const auto& quota) { cluster.quotas().Put(*quota); },
             .removed = [this](const auto& quota, const auto&) { cluster.quotas().Remove(*quota); },
             .listed = [this] { LogReady(); }}),
        events(loop, client, options.host, [](std::string_view) {}),
        locks(loop, clock, client, options.locks, [this] { return MayPlace(); }),
        binder(clock, client, cluster, locks, [this] { return MayPlace(); }),
        // The former leader may have bound pods that the watches have not reported yet. Placing
        // without them would allocate the same room twice, so a new leader waits for fresh lists.
        leadership(loop, clock, client, options.lease,
                   [this] {
                     fresh_nodes.Demand(nodes);
                     fresh_pods.Demand(pods);
                   }),
        webhook(loop, clock, client, options.webhook, [this] { return cluster.Facts(); }),
        wake(loop, [this] { Wake(); }),
        old_holds(
            loop.Every(kHoldLook, [this] { cluster.DropHoldsBefore(clock.Now() - kHoldLimit); })) {}

  Status Listen(const ServiceOptions& options) {
    extender = TRY(http::Server::ListenTcp(
        loop, options.extender_address,
        [this](http::Request request, http::Respond respond) {
          Answer(request, std::move(respond));
        },
        kExtender));
    const auto answer = [this](const http::Request& request, http::Respond respond) {
      AnswerStatus(request, std::move(respond));
    };
    status = TRY(http::Server::ListenTcp(loop, options.status_address, answer, {}));
    log::Info("started",
              {{"extender", options.extender_address}, {"status", options.status_address}});
    return {};
  }

  void PutNode(const kube::ClusterNode& node) {
    node.labels == labels ? cluster.PutNode(node) : cluster.RemoveNode(node.name);
    locks.NodeSeen(node.name, node.annotations.contains(hami::kNodeLock));
    WakeSoon();
  }
  void PutPod(const kube::PodPtr& pod) {
    cluster.PutPod(pod);
    WakeSoon();
  }

  void WakeSoon() {
    if (cluster.MayWake()) wake.RingWithin(kWakePause);
  }
  void Wake() {
    if (leadership.Leads()) {
      for (const kube::PodPtr& pod : cluster.ToWake(clock.Now())) {
        metrics.Add(http::Metric::kWoken);
        WakePod(*pod);
      }
    }
    WakeSoon();
  }
  void WakePod(const kube::Pod& pod) {
    log::Info("a pod fits now: kube-scheduler tries it again", {{"pod", pod.FullName()}});
    kube::MetadataPatch patch{.uid = pod.uid};
    patch.annotations[kWoken] = FormatTime(clock.WallNow());
    client.Patch(kube::PatchType::kMerge, kube::PodPath(pod.pod_namespace, pod.name), patch.Json(),
                 kube::PodForm({}), [name = pod.FullName()](const Result<json::Value>& written) {
                   if (!written)
                     log::Warn("cannot make kube-scheduler try a pod again", written.error(),
                               {{"pod", name}});
                 });
  }
  void TellRefusal(const kube::Pod& pod, const std::string& why) {
    events.Add({{.about = {.kind = "Pod",
                           .pod_namespace = pod.pod_namespace,
                           .name = pod.name,
                           .uid = pod.uid},
                 .warning = true,
                 .reason = "FilteringFailed",
                 .message = why,
                 .when = clock.WallNow(),
                 .subject = why}});
  }

  kube::Which LimitNames() {
    return [this](std::string_view name) { return cluster.quotas().Reads(name); };
  }
  bool Ready() const { return nodes.Synced() && pods.Synced() && quotas.Synced(); }
  // Whether pods can be placed now; otherwise kUnavailable, with the reason.
  Status MayPlace() const {
    TRY(leadership.Leads());
    if (Ready() && fresh_nodes.fresh && fresh_pods.fresh) return {};
    return Fail(Reason::kUnavailable, "{}", kNotReady);
  }

  void LogReady() {
    if (!Ready() || std::exchange(said_ready, true)) return;
    log::Info("ready",
              {{"nodes", std::to_string(nodes.size())}, {"pods", std::to_string(pods.size())}});
  }

  void AnswerStatus(const http::Request& request, http::Respond respond) {
    if (request.path == "/metrics") return Scrape(std::move(respond));
    respond(Probe(request));
  }
  http::Response Probe(const http::Request& request) const {
    if (request.path == "/healthz") return http::Text("ok\n");
    if (request.path == "/readyz") {
      return Ready() ? http::Text("ok\n") : http::Text(std::string(kNotReady) + "\n", 503);
    }
    if (request.path == "/explain") return Explain(request);
    return http::Failure({Reason::kNotFound, "there is no " + request.path});
  }

  // Requests that arrive while a page is being made get that page. Only the leader tells what
  // devices have: others do not know its holds, and each series would be there once per replica.
  void Scrape(http::Respond respond) {
    scrapers.push_back(std::move(respond));
    if (scrape) return;
    if (!leadership.Leads()) return AnswerScrapers("");
    scrape.emplace(cluster);
    GoOnScraping();
  }
  void GoOnScraping() {
    if (scrape->Step()) {
      next_step = loop.After(Duration(0), [this] { GoOnScraping(); });
      return;
    }
    const std::string devices = scrape->Release();
    scrape.reset();
    AnswerScrapers(leadership.Leads() ? devices : "");
  }
  void AnswerScrapers(const std::string& devices) {
    metrics.Set(http::Metric::kLeads, {}, leadership.Leads() ? 1 : 0);
    metrics.Set(http::Metric::kHolds, {}, static_cast<double>(cluster.holds()));
    metrics.Set(http::Metric::kRefusedPods, {}, static_cast<double>(cluster.refused()));
    const std::string page = metrics.Expose() + devices;
    for (const http::Respond& respond : std::exchange(scrapers, {})) {
      respond({.content_type = std::string(http::kMetricsContentType), .body = page});
    }
  }

  http::Response Explain(const http::Request& request) const {
    const auto pod = request.query.find("pod");
    if (pod == request.query.end()) {
      return http::Failure({Reason::kInvalid, "name the pod: /explain?pod=NAMESPACE/NAME"});
    }
    if (!Ready()) return http::Failure({Reason::kUnavailable, std::string(kNotReady)});
    Explanation explanation = cluster.Explain(pod->second, clock.Now());
    if (!leadership.Leads()) explanation.leader = leadership.holder();
    return {.body = json::Write(ExplanationJson(explanation)) + "\n"};
  }

  void Answer(const http::Request& request, http::Respond respond) {
    if (request.method == "POST") {
      if (request.path == "/filter") return respond(Filter(request));
      if (request.path == "/prioritize") return respond(Prioritize(request));
      if (request.path == "/preempt") return respond(Preempt(request));
      if (request.path == "/bind") return Bind(request, std::move(respond));
    }
    respond(http::Failure({Reason::kNotFound, "there is no " + request.path}));
  }

  http::Response Filter(const http::Request& request) {
    const Steady begun = clock.Now();
    const auto call = ReadFilterCall(request.body, cluster.PodFields());
    if (!call) return http::Failure(call.error());
    const Status may = MayPlace();
    const FilterAnswer answer =
        may ? cluster.Filter(*call, clock.Now()) : FilterAnswer{.error = may.error().message};
    if (!answer.news.empty()) TellRefusal(call->pod, answer.news);
    http::Response response = Compact(FilterAnswerJson(answer));
    const char* result = !answer.error.empty()  ? "error"
                         : call->simulated      ? "simulated"
                         : answer.nodes.empty() ? "refused"
                                                : "placed";
    metrics.Observe(http::Metric::kFilterSeconds, {result},
                    std::chrono::duration<double>(clock.Now() - begun).count());
    return response;
  }

  http::Response Prioritize(const http::Request& request) const {
    const auto call = ReadFilterCall(request.body, cluster.PodFields());
    if (!call) return http::Failure(call.error());
    return Compact(ScoresJson(cluster.Prioritize(*call)));
  }

  http::Response Preempt(const http::Request& request) const {
    const auto call = ReadPreemptCall(request.body, cluster.PodFields());
    if (!call) return http::Failure(call.error());
    if (const Status may = MayPlace(); !may) return http::Failure(may.error());
    return Compact(PreemptAnswerJson(cluster.Preempt(*call)));
  }

  void Bind(const http::Request& request, http::Respond respond) {
    const auto call = ReadBindCall(request.body);
    if (!call) return respond(http::Failure(call.error()));
    const auto answer = [this, respond = std::move(respond)](const Status& bound) {
      metrics.Add(http::Metric::kBinds,
                  {bound ? std::string_view("ok") : ReasonName(bound.error().reason)});
      respond(Compact(BindAnswerJson(bound ? "" : bound.error().message)));
    };
    if (const Status may = MayPlace(); !may) return answer(may);
    binder.Bind(*call, answer);
  }

  os::Loop& loop;
  const Clock& clock;
  const kube::Texts labels;  // labels of nodes with devices that count
  Cluster cluster;
  kube::Client client;
  kube::Informer<kube::ClusterNode> nodes;
  kube::Informer<kube::Pod> pods;
  kube::Informer<kube::ResourceQuota> quotas;
  Freshness fresh_nodes;
  Freshness fresh_pods;
  kube::EventQueue events;
  NodeLocks locks;
  Binder binder;
  Leadership leadership;
  WebhookServer webhook;
  http::Metrics metrics;
  std::optional<DeviceMetrics> scrape;
  std::vector<http::Respond> scrapers;
  os::Loop::Handle next_step;
  os::Alarm wake;
  os::Loop::Handle old_holds;
  std::unique_ptr<http::Server> extender;
  std::unique_ptr<http::Server> status;
  bool said_ready = false;
};

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::Start(os::Loop& loop, const Clock& clock,
                                                const ServiceOptions& options) {
  auto impl = std::make_unique<Impl>(loop, clock, options);
  TRY(impl->Listen(options));
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

int Service::extender_port() const {
  return impl_->extender->port();
}

int Service::webhook_port() const {
  return impl_->webhook.port();
}

int Service::status_port() const {
  return impl_->status->port();
}

}  // namespace tessera::scheduler
