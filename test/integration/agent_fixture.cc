// SPDX-License-Identifier: Apache-2.0
#include "agent_fixture.h"

#include <sched.h>

#include <csignal>

#include "os/files.h"

namespace tessera {

AgentTest::AgentTest() : dir_(*os::MakeTemporaryDirectory("/tmp/tessera-it-")) {}

AgentTest::~AgentTest() {
  agent_ = os::Process();
  kubelet_.reset();
  if (HasFailure()) fprintf(stderr, "--- the agent's log ---\n%s\n", Log().c_str());
  (void)os::RemoveTree(dir_);
}

std::string AgentTest::Config(const std::string& resources, const std::string& extra) const {
  return "version: tessera/v1\n" + extra + "kubelet: {root: " + dir_ +
         "/kubelet, pollInterval: 200ms, streamTimeout: 1s}\n"
         "state: {dir: " +
         dir_ +
         "/state}\n"
         "control: {socket: " +
         dir_ +
         "/agent.sock}\n"
         "http: {address: \"off\"}\n"
         "health: {checkInterval: 100ms, checkTimeout: 300ms, recovery: 200ms, hold: 1s}\n"
         "ledger: {interval: 1s}\n"
         "resources:\n" +
         resources;
}

void AgentTest::WriteConfig(const std::string& text) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/tessera.yaml", text));
}

void AgentTest::StartKubelet(kubelet::ConnectionRules rules) {
  kubelet::EmbeddedOptions options;
  options.root = dir_ + "/kubelet";
  options.rules = rules;
  options.speed = 20;
  auto started = kubelet::EmbeddedKubelet::Start(options);
  ASSERT_TRUE(started) << started.error().message;
  kubelet_ = *std::move(started);
  kubelet_->SetListener([this](const kubelet::KubeletEvent& event) {
    if (event.kind != kubelet::KubeletEvent::Kind::kRegistered) return;
    std::lock_guard lock(mutex_);
    ++registrations_[event.resource];
  });
}

os::Process AgentTest::StartAgent() {
  auto process = os::Process::Start({TESSERA_BINARY, "agent", "--config", dir_ + "/tessera.yaml"},
                                    dir_ + "/agent.log");
  EXPECT_TRUE(process);
  return *std::move(process);
}

void AgentTest::StartAll(const std::string& resources, const std::string& extra) {
  WriteConfig(Config(resources, extra));
  StartKubelet();
  agent_ = StartAgent();
}

void AgentTest::EndAgent(int signal, const std::string& resource) {
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

bool AgentTest::Await(const std::string& resource, int capacity, int allocatable) {
  return kubelet_->WaitUntil(
      [&](const std::vector<kubelet::ResourceStatus>& all) {
        for (const auto& each : all) {
          if (each.name == resource) {
            return each.connected && each.capacity == capacity && each.allocatable == allocatable;
          }
        }
        return false;
      },
      kLimit);
}

void AgentTest::Expect(const std::string& resource, int capacity, int allocatable) {
  bool reached = Await(resource, capacity, allocatable);
  kubelet::ResourceStatus status = Status(resource);
  ASSERT_TRUE(reached) << resource << " has capacity " << status.capacity << " and allocatable "
                       << status.allocatable << ", connected " << status.connected;
}

kubelet::ResourceStatus AgentTest::Status(const std::string& resource) {
  for (auto& each : kubelet_->Resources()) {
    if (each.name == resource) return each;
  }
  return {};
}

kubelet::Admission AgentTest::Run(const std::string& pod, std::map<std::string, int> limits) {
  kubelet::PodSpec spec;
  spec.name = pod;
  kubelet::ContainerSpec container;
  container.name = "main";
  container.limits = std::move(limits);
  spec.containers = {container};
  return kubelet_->RunPod(spec);
}

Result<http::Response> AgentTest::Order(const std::string& path, const json::Object& body) {
  Steady limit = SystemClock().Now() + kLimit;
  for (;;) {
    auto response = http::CallUnix(dir_ + "/agent.sock", {"POST", path, {}, json::Write(body)},
                                   Duration(5'000));
    bool absent = !response &&
                  (response.error().reason == Reason::kUnavailable ||
                   response.error().reason == Reason::kNotFound) &&
                  !os::Exists(dir_ + "/agent.sock");
    if (!absent || SystemClock().Now() > limit) return response;
    sched_yield();
  }
}

void AgentTest::Fault(const std::string& verb, const std::string& device,
                      const std::string& detail) {
  auto response =
      Order("/fault", {{"resource", kNpu}, {"verb", verb}, {"device", device}, {"detail", detail}});
  ASSERT_TRUE(response) << response.error().message;
}

json::Object AgentTest::Page(const std::string& path) {
  auto response = http::CallUnix(dir_ + "/agent.sock", {"GET", path, {}, ""}, Duration(5'000));
  if (!response) return {};
  auto value = json::Parse(response->body);
  return value && value->is_object() ? value->get_object() : json::Object();
}

bool AgentTest::AwaitPage(const std::string& path,
                          const std::function<bool(const json::Object&)>& condition) {
  for (Steady limit = SystemClock().Now() + kLimit; SystemClock().Now() < limit; sched_yield()) {
    if (condition(Page(path))) return true;
  }
  return false;
}

int AgentTest::Registrations(const std::string& resource) {
  std::lock_guard lock(mutex_);
  return registrations_[resource];
}

std::string AgentTest::Log() {
  return os::ReadFile(dir_ + "/agent.log").value_or("");
}

}  // namespace tessera
