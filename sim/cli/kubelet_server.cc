// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/kubelet_server.h"

#include <charconv>

#include "base/text.h"
#include "kubelet/root.h"
#include "os/unix_socket.h"

namespace tessera::cli {
namespace {

constexpr size_t kEventsKept = 10'000;
constexpr size_t kResultsKept = 1'000;

using Kind = kubelet::ContainerSpec::Kind;

json::Value Done() {
  return json::Object{{"done", true}};
}

Result<std::string> Need(const json::Object& body, std::string_view key) {
  auto value = json::GetString(body, key);
  if (!value || value->empty()) return Fail(Reason::kInvalid, "\"{}\" is missing", key);
  return *value;
}

// "name" or "namespace/name".
std::pair<std::string, std::string> SplitPod(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == std::string::npos) return {"default", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

Result<kubelet::ContainerSpec> ReadContainer(const json::Value& value) {
  if (!value.is_object()) return Fail(Reason::kInvalid, "a container is not an object");
  const json::Object& object = value.get_object();
  kubelet::ContainerSpec container;
  container.name = TRY(Need(object, "name"));
  std::string kind = json::GetString(object, "kind").value_or("app");
  if (kind == "init") container.kind = Kind::kInit;
  if (kind == "sidecar") container.kind = Kind::kSidecar;
  const json::Object* limits = json::GetObject(object, "limits");
  if (limits == nullptr) return container;
  for (const auto& limit : *limits) {
    if (!limit.value().is_int64()) return Fail(Reason::kInvalid, "a limit is not a number");
    container.limits[std::string(limit.key())] = static_cast<int>(limit.value().get_int64());
  }
  return container;
}

Result<kubelet::PodSpec> ReadPod(const json::Object& body) {
  kubelet::PodSpec pod;
  std::string name = TRY(Need(body, "pod"));
  std::tie(pod.pod_namespace, pod.name) = SplitPod(name);
  const json::Array* containers = json::GetArray(body, "containers");
  if (containers == nullptr) return Fail(Reason::kInvalid, "\"containers\" is missing");
  for (const json::Value& value : *containers) {
    pod.containers.push_back(TRY(ReadContainer(value)));
  }
  return pod;
}

json::Object WriteGrant(const kubelet::ContainerGrant& grant) {
  json::Object envs;
  for (const auto& [name, value] : grant.response.envs) envs[name] = value;
  return {{"container", grant.container},
          {"resource", grant.resource},
          {"ids", json::Array(grant.ids.begin(), grant.ids.end())},
          {"envs", envs}};
}

json::Object WriteAdmission(const kubelet::Admission& admission) {
  json::Array grants;
  for (const auto& grant : admission.grants) grants.push_back(WriteGrant(grant));
  json::Array failures;
  for (const auto& [container, message] : admission.start_failures) {
    failures.push_back(json::Object{{"container", container}, {"message", message}});
  }
  return {{"done", true},
          {"admitted", admission.admitted},
          {"reason", admission.reason},
          {"message", admission.message},
          {"grants", grants},
          {"start_failures", failures}};
}

json::Object WriteResource(const kubelet::ResourceStatus& resource) {
  json::Array devices;
  for (const kubelet::DeviceStatus& device : resource.devices) {
    std::string pod = device.pod.empty() ? "" : device.pod_namespace + "/" + device.pod;
    devices.push_back(
        json::Object{{"id", device.id},
                     {"healthy", device.healthy},
                     {"numa", json::Array(device.numa_nodes.begin(), device.numa_nodes.end())},
                     {"pod", pod},
                     {"container", device.container}});
  }
  return {{"name", resource.name},
          {"capacity", resource.capacity},
          {"allocatable", resource.allocatable},
          {"connected", resource.connected},
          {"devices", devices}};
}

int64_t NumberIn(const http::Request& request, const std::string& key) {
  auto found = request.query.find(key);
  int64_t number = 0;
  if (found == request.query.end()) return number;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

KubeletServer::KubeletServer(os::Loop& loop, kubelet::EmbeddedOptions options,
                             std::function<void(const std::string&)> print)
    : loop_(loop), options_(std::move(options)), print_(std::move(print)) {
  // Events come from kubelet's threads.
  options_.listener = [this](const kubelet::KubeletEvent& event) {
    loop_.Post([this, text = event.text, time = FormatTime(SystemClock().WallNow())] {
      events_.push_back({++last_event_, time, text});
      if (events_.size() > kEventsKept) events_.pop_front();
      print_(time + " " + text);
    });
  };
}

KubeletServer::~KubeletServer() {
  Stop();
}

Status KubeletServer::Start() {
  // First, as it fails if another server runs: a start of kubelet takes the directory over.
  server_ = TRY(
      http::Server::ListenUnix(loop_, options_.root + "/control.sock",
                               [this](const http::Request& request) { return Answer(request); }));
  return StartKubelet();
}

void KubeletServer::Stop() {
  server_.reset();
  if (kubelet_) kubelet_->Stop();
  kubelet_.reset();
}

Status KubeletServer::StartKubelet() {
  if (kubelet_) return Fail(Reason::kInvalid, "kubelet runs already");
  // Usually the socket of the node's own kubelet, which would lose its plugins.
  std::string socket = kubelet::Directories{options_.root}.kubelet_socket();
  if (os::IsListening(socket)) {
    return Fail(Reason::kSocketInUse, "another kubelet listens on {}", socket);
  }
  kubelet_ = TRY(kubelet::EmbeddedKubelet::Start(options_));
  return {};
}

Result<KubeletServer::KubeletPtr> KubeletServer::Running() const {
  if (!kubelet_) return Fail(Reason::kUnavailable, "kubelet is down; 'start' starts it again");
  return kubelet_;
}

http::Response KubeletServer::Answer(const http::Request& request) {
  Result<json::Value> answer = Handle(request);
  return answer ? http::Json(*answer) : http::Failure(answer.error());
}

Result<json::Value> KubeletServer::Handle(const http::Request& request) {
  if (request.method == "GET") {
    if (request.path == "/status") return StatusNow();
    if (request.path == "/result") return ResultOf(request);
    if (request.path == "/events") return EventsAfter(request);
    return Fail(Reason::kNotFound, "there is nothing at {}", request.path);
  }
  json::Object body;
  if (!request.body.empty()) {
    json::Value value = TRY(json::Parse(request.body));
    if (!value.is_object()) return Fail(Reason::kInvalid, "the body is not an object");
    body = value.get_object();
  }
  return Order(request.path.substr(1), body);
}

Result<json::Value> KubeletServer::Order(const std::string& verb, const json::Object& body) {
  if (verb == "restart" || verb == "kill" || verb == "start") return OrderKubelet(verb);
  if (verb == "run") return RunPod(body);
  if (verb == "restart-container") return RestartContainer(body);
  KubeletPtr kubelet = TRY(Running());
  if (verb == "end") {
    auto [pod_namespace, name] = SplitPod(TRY(Need(body, "pod")));
    TRY(kubelet->EndPod(pod_namespace, name));
    return Done();
  }
  if (verb == "drop") {
    std::string resource = TRY(Need(body, "resource"));
    TRY(kubelet->DropStream(resource));
    return Done();
  }
  return Fail(Reason::kNotFound, "there is no order {}", verb);
}

// Ending kubelet also ends hanging calls to plugins, so this does not block for long.
Result<json::Value> KubeletServer::OrderKubelet(const std::string& verb) {
  if (verb != "start") {
    KubeletPtr kubelet = TRY(Running());
    if (verb == "kill") {
      kubelet->Kill();
    } else {
      kubelet->Stop();
    }
    kubelet_.reset();
  }
  if (verb != "kill") TRY(StartKubelet());
  return Done();
}

Result<json::Value> KubeletServer::StatusNow() const {
  json::Array resources;
  json::Array pods;
  if (kubelet_) {
    for (const auto& resource : kubelet_->Resources()) resources.push_back(WriteResource(resource));
    for (const std::string& pod : kubelet_->Pods()) pods.emplace_back(pod);
  }
  return json::Object{{"running", kubelet_ != nullptr}, {"resources", resources}, {"pods", pods}};
}

Result<json::Value> KubeletServer::EventsAfter(const http::Request& request) const {
  int64_t after = NumberIn(request, "after");
  json::Array events;
  for (const Event& event : events_) {
    if (event.number <= after) continue;
    events.push_back(
        json::Object{{"number", event.number}, {"time", event.time}, {"text", event.text}});
  }
  return json::Object{{"last", last_event_}, {"events", events}};
}

Result<json::Value> KubeletServer::ResultOf(const http::Request& request) {
  auto found = results_.find(NumberIn(request, "ticket"));
  if (found == results_.end()) return Fail(Reason::kNotFound, "there is no such ticket");
  if (!found->second) return json::Object{{"done", false}};
  json::Object result = *std::move(found->second);
  results_.erase(found);
  return result;
}

json::Value KubeletServer::Begin(std::function<json::Object()> work) {
  int64_t ticket = next_ticket_++;
  results_[ticket] = std::nullopt;
  if (results_.size() > kResultsKept) results_.erase(results_.begin());
  workers_.Run([this, ticket, work = std::move(work)] {
    loop_.Post([this, ticket, result = work()]() mutable {
      auto found = results_.find(ticket);
      if (found != results_.end()) found->second = std::move(result);
    });
  });
  return json::Object{{"ticket", ticket}};
}

Result<json::Value> KubeletServer::RunPod(const json::Object& body) {
  KubeletPtr kubelet = TRY(Running());
  kubelet::PodSpec pod = TRY(ReadPod(body));
  return Begin([kubelet, pod] { return WriteAdmission(kubelet->RunPod(pod)); });
}

Result<json::Value> KubeletServer::RestartContainer(const json::Object& body) {
  KubeletPtr kubelet = TRY(Running());
  auto pod = SplitPod(TRY(Need(body, "pod")));
  std::string container = TRY(Need(body, "container"));
  return Begin([kubelet, pod, container]() -> json::Object {
    Status done = kubelet->RestartContainer(pod.first, pod.second, container);
    return {{"done", true},
            {"admitted", done.has_value()},
            {"reason", done ? "" : ReasonName(done.error().reason)},
            {"message", done ? "" : done.error().message}};
  });
}

}  // namespace tessera::cli
