// SPDX-License-Identifier: Apache-2.0
#include "agent_fixture.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "backend/dummy/fault_file.h"
#include "base/text.h"
#include "http/blocking.h"
#include "os/files.h"

namespace tessera {
namespace {

std::string Replaced(std::string text, std::string_view former, const std::string& now) {
  return text.replace(text.find(former), former.size(), now);
}

}  // namespace

NodeUnderTest::NodeUnderTest() : dir_(*os::MakeTemporaryDirectory("/tmp/tessera-it-")) {}

NodeUnderTest::~NodeUnderTest() {
  agent_ = os::Process();
  kubelet_.reset();
  if (testing::Test::HasFailure()) fprintf(stderr, "--- the agent's log ---\n%s\n", Log().c_str());
  (void)os::RemoveTree(dir_);
}

std::string NodeUnderTest::Config(const std::string& resources, const std::string& extra) const {
  return "version: tessera/v1\n" + extra + "kubelet: {root: " + dir_ +
         "/kubelet, pollInterval: 5m, streamTimeout: 1s}\n"
         "state: {dir: " +
         dir_ +
         "/state}\n"
         "control: {socket: " +
         dir_ +
         "/agent.sock}\n"
         "http: {address: \"off\"}\n"
         "health: {checkInterval: 100ms, checkTimeout: 30s, recovery: 200ms, hold: 1s}\n"
         "ledger: {interval: 1s}\n"
         "resources:\n" +
         resources;
}

std::string NodeUnderTest::WithRecovery(std::string config, const std::string& recovery) {
  return Replaced(std::move(config), "recovery: 200ms", "recovery: " + recovery);
}

std::string NodeUnderTest::WithQuickChecks(std::string config) {
  return Replaced(std::move(config), "checkTimeout: 30s", "checkTimeout: 1s");
}

std::string NodeUnderTest::WithPolling(std::string config) {
  return Replaced(std::move(config), "pollInterval: 5m", "pollInterval: 200ms");
}

void NodeUnderTest::WriteConfig(const std::string& text) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/tessera.yaml", text));
}

void NodeUnderTest::StartKubelet(kubelet::ConnectionRules rules) {
  kubelet::EmbeddedOptions options;
  options.root = dir_ + "/kubelet";
  // tools/matrix runs tests that were written for one kubelet with the rules of another.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* wanted = std::getenv("TESSERA_KUBELET_RULES");
  bool newest = wanted != nullptr && std::string_view(wanted) == "1.37";
  options.rules = newest ? kubelet::ConnectionRules::kFrom137 : rules;
  options.speed = 20;
  options.listener = [this](const kubelet::KubeletEvent& event) {
    std::lock_guard lock(mutex_);
    events_[event.kind].push_back(event.text);
    if (event.kind == kubelet::KubeletEvent::Kind::kRegistered) ++registrations_[event.resource];
    told_.notify_all();
  };
  auto started = kubelet::EmbeddedKubelet::Start(options);
  ASSERT_TRUE(started) << started.error().message;
  kubelet_ = *std::move(started);
}

std::string NodeUnderTest::Binary() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* other = std::getenv("TESSERA_UNDER_TEST");
  return other == nullptr ? TESSERA_BINARY : other;
}

os::Process NodeUnderTest::StartAgent(const std::vector<std::string>& before) {
  std::vector<std::string> argv = before;
  argv.insert(argv.end(), {Binary(), "agent", "--config", dir_ + "/tessera.yaml"});
  auto process = os::Process::Start(argv, dir_ + "/agent.log");
  EXPECT_TRUE(process);
  return *std::move(process);
}

std::vector<std::string> NodeUnderTest::WithMounts(const std::string& mounts) {
  std::vector<std::string> before = {"/usr/bin/unshare", "--mount"};
  if (geteuid() != 0) before.emplace_back("--map-root-user");
  before.insert(before.end(), {"/bin/sh", "-c", mounts + R"( && exec "$@")", "sh"});
  return before;
}

const std::string& NodeUnderTest::WhyNoMounts() {
  static const std::string why = [] {
    const NodeUnderTest node;
    std::vector<std::string> argv = WithMounts("mount -t tmpfs tmpfs " + node.dir_);
    argv.emplace_back("/bin/true");
    const std::string log = node.dir_ + "/mount.log";
    auto process = os::Process::Start(argv, log);
    if (process && process->Wait() == 0) return std::string();
    return "this machine allows no mounts of a test's own: " +
           std::string(Trim(os::ReadFile(log).value_or("")));
  }();
  return why;
}

void NodeUnderTest::StartAll(const std::string& resources, const std::string& extra) {
  WriteConfig(Config(resources, extra));
  StartKubelet();
  agent_ = StartAgent();
}

void NodeUnderTest::EndAgent(int signal, const std::string& resource) {
  agent_.Signal(signal);
  agent_.Wait();
  ASSERT_TRUE(kubelet_->WaitUntil(
      [&](const std::vector<kubelet::ResourceStatus>& all) {
        for (const auto& each : all) {
          if (each.name == resource) return !each.connected;
        }
        return true;
      },
      kLimit));
}

bool NodeUnderTest::Await(const std::string& resource, int capacity, int allocatable,
                          Duration limit) {
  return kubelet_->WaitUntil(
      [&](const std::vector<kubelet::ResourceStatus>& all) {
        for (const auto& each : all) {
          if (each.name == resource) {
            return each.connected && each.capacity == capacity && each.allocatable == allocatable;
          }
        }
        return false;
      },
      limit);
}

void NodeUnderTest::Expect(const std::string& resource, int capacity, int allocatable) {
  bool reached = Await(resource, capacity, allocatable);
  kubelet::ResourceStatus status = Status(resource);
  ASSERT_TRUE(reached) << resource << " has capacity " << status.capacity << " and allocatable "
                       << status.allocatable << ", connected " << status.connected;
}

void NodeUnderTest::ExpectSoon(const std::string& resource, int capacity, int allocatable,
                               Steady ended) {
  ASSERT_NO_FATAL_FAILURE(Expect(resource, capacity, allocatable));
  EXPECT_LT(SystemClock().Now() - ended, kSoon);
}

kubelet::ResourceStatus NodeUnderTest::Status(const std::string& resource) {
  for (auto& each : kubelet_->Resources()) {
    if (each.name == resource) return each;
  }
  return {};
}

kubelet::Admission NodeUnderTest::Run(const std::string& pod, std::map<std::string, int> limits) {
  kubelet::PodSpec spec;
  spec.name = pod;
  kubelet::ContainerSpec container;
  container.name = "main";
  container.limits = std::move(limits);
  spec.containers = {container};
  return kubelet_->RunPod(spec);
}

kubelet::Admission NodeUnderTest::RunUntilAdmitted(const std::string& pod,
                                                   const std::map<std::string, int>& limits) {
  kubelet::Admission admission;
  int tries = 0;
  (void)Await([&] {
    admission = Run(fmt::format("{}-{}", pod, tries++), limits);
    return admission.admitted;
  });
  EXPECT_TRUE(admission.admitted) << admission.message;
  return admission;
}

Result<http::Response> NodeUnderTest::Order(const std::string& path, const json::Object& body) {
  Steady limit = SystemClock().Now() + kLimit;
  for (;;) {
    auto response =
        http::CallUnix(dir_ + "/agent.sock", {"POST", path, {}, json::Write(body)}, kLimit);
    bool absent = !response &&
                  (response.error().reason == Reason::kUnavailable ||
                   response.error().reason == Reason::kNotFound) &&
                  !os::Exists(dir_ + "/agent.sock");
    if (!absent || SystemClock().Now() > limit) return response;
    sched_yield();
  }
}

void NodeUnderTest::Fault(const std::string& verb, const std::string& device,
                          const std::string& detail) {
  FaultOf(kNpu, verb, device, detail);
}

void NodeUnderTest::FaultOf(const std::string& resource, const std::string& verb,
                            const std::string& device, const std::string& detail) {
  const std::string config = os::ReadFile(dir_ + "/tessera.yaml").value_or("");
  const std::string chosen = dir_ + "/faults/npu.json";
  const bool is_chosen = config.find("faultFile: " + chosen) != std::string::npos;
  const tessera::Status changed = dummy::ChangeFaultFile(
      is_chosen ? chosen : dummy::FaultFile(dir_ + "/state", resource), verb, device, detail);
  ASSERT_TRUE(changed) << changed.error().message;
}

void NodeUnderTest::SetFaults(const json::Object& devices) {
  // Not synced: a busy disk would separate faults that a test sets together.
  ASSERT_TRUE(os::ReplaceFile(dir_ + "/state/dummy/dummy.com_npu.json",
                              json::Write({{"version", 1}, {"devices", devices}})));
}

std::string NodeUnderTest::Get(const std::string& path) {
  auto response = http::CallUnix(dir_ + "/agent.sock", {"GET", path, {}, ""}, kLimit);
  return response ? response->body : response.error().Text();
}

std::string NodeUnderTest::Answered(const std::string& path) {
  auto response = http::ExchangeUnix(dir_ + "/agent.sock", {"GET", path, {}, ""}, kLimit);
  return response ? std::to_string(response->status) + " " + response->body
                  : response.error().Text();
}

json::Object NodeUnderTest::Page(const std::string& path) {
  auto value = json::Parse(Get(path));
  return value && value->is_object() ? value->get_object() : json::Object();
}

bool NodeUnderTest::Await(const std::function<bool()>& condition, Duration limit) {
  for (const Steady end = SystemClock().Now() + limit; SystemClock().Now() < end; sched_yield()) {
    if (condition()) return true;
  }
  return false;
}

bool NodeUnderTest::AwaitPage(const std::string& path,
                              const std::function<bool(const json::Object&)>& condition) {
  return Await([&] { return condition(Page(path)); });
}

bool NodeUnderTest::LedgerKnows(const std::string& pod) {
  return AwaitPage("/ledger", [&](const json::Object& page) {
    const json::Array* holdings = json::GetArray(page, "holdings");
    return holdings != nullptr && std::ranges::any_of(*holdings, [&](const json::Value& each) {
             return json::GetString(each.get_object(), "pod") == pod;
           });
  });
}

json::Object NodeUnderTest::DeviceOn(const json::Object& inventory, const std::string& id) {
  const json::Array* devices = json::GetArray(inventory, "devices");
  for (const json::Value& device : devices == nullptr ? json::Array() : *devices) {
    const json::Object* object = device.if_object();
    if (object != nullptr && json::GetString(*object, "id") == id) return *object;
  }
  return {};
}

int NodeUnderTest::MetricNow(const std::string& series) {
  const std::string metrics = Get("/metrics");
  const size_t at = metrics.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::atoi(&metrics[at + series.size() + 2]);
}

bool NodeUnderTest::AwaitMetric(const std::string& series, int at_least) {
  return Await([&] { return MetricNow(series) >= at_least; });
}

int NodeUnderTest::Registrations(const std::string& resource) {
  std::lock_guard lock(mutex_);
  return registrations_[resource];
}

bool NodeUnderTest::AwaitRegistrations(const std::string& resource, int at_least) {
  std::unique_lock lock(mutex_);
  return told_.wait_for(lock, kLimit, [&] { return registrations_[resource] >= at_least; });
}

std::vector<std::string> NodeUnderTest::EventsUntil(kubelet::KubeletEvent::Kind kind,
                                                    const std::string& last) {
  std::unique_lock lock(mutex_);
  std::vector<std::string>& told = events_[kind];
  auto find = [&] { return std::find(told.begin(), told.end(), last); };
  bool came = told_.wait_for(lock, kLimit, [&] { return find() != told.end(); });
  EXPECT_TRUE(came) << "kubelet never told: " << last;
  auto end = came ? find() + 1 : told.end();
  std::vector<std::string> events(told.begin(), end);
  told.erase(told.begin(), end);
  return events;
}

std::vector<std::string> NodeUnderTest::EventsSoFar(kubelet::KubeletEvent::Kind kind) {
  std::lock_guard lock(mutex_);
  return std::exchange(events_[kind], {});
}

std::vector<std::string> NodeUnderTest::ListsUntil(const std::string& last) {
  return EventsUntil(kubelet::KubeletEvent::Kind::kList, last);
}

std::vector<std::string> NodeUnderTest::OffersUntil(const std::string& last) {
  std::vector<std::string> lists = ListsUntil(last);
  std::erase_if(lists, [](const std::string& list) { return list.find(": 0 of ") != list.npos; });
  return lists;
}

void NodeUnderTest::ForgetListsOfTheEnded() {
  using Kind = kubelet::KubeletEvent::Kind;
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(told_.wait_for(lock, kLimit, [&] { return !events_[Kind::kStreamEnded].empty(); }));
  events_[Kind::kStreamEnded].clear();
  events_[Kind::kList].clear();
}

bool NodeUnderTest::AwaitSaved(size_t healthy) {
  return Await([&] {
    std::set<std::string> saved;
    const std::string log = os::ReadFile(dir_ + "/state/verdicts.jsonl").value_or("");
    for (const std::string& text : Split(log, '\n')) {
      const auto line = json::Parse(text);
      if (!line || !line->is_object()) continue;
      const json::Object& verdict = line->get_object();
      const std::string id = json::GetString(verdict, "id").value_or("");
      if (json::GetString(verdict, "state") == "healthy") {
        saved.insert(id);
      } else {
        saved.erase(id);
      }
    }
    return saved.size() == healthy;
  });
}

bool NodeUnderTest::AwaitLog(const std::string& text) {
  return Await([&] { return Log().find(text) != std::string::npos; });
}

std::vector<std::string> NodeUnderTest::OwnSockets() const {
  auto names =
      os::ListDirectory(dir_ + "/kubelet/device-plugins").value_or(std::vector<std::string>());
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("tessera-"); });
  return names;
}

int64_t NodeUnderTest::Memory(const std::string& name) const {
  std::ifstream status("/proc/" + std::to_string(agent_.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::atoll(&line[name.size() + 1]);
  }
  return -1;
}

std::string NodeUnderTest::Log() {
  return os::ReadFile(dir_ + "/agent.log").value_or("");
}

size_t NodeUnderTest::LinesWith(const std::string& text) {
  const std::string log = Log();
  size_t count = 0;
  for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
  return count;
}

std::string ListOf(int healthy, int all) {
  return fmt::format("{}: {} of {} devices healthy", kNpu, healthy, all);
}

void kubelet::PrintTo(ConnectionRules rules, std::ostream* out) {
  *out << (rules == ConnectionRules::kUpTo136 ? "UpTo136" : "From137");
}

}  // namespace tessera
