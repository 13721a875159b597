// SPDX-License-Identifier: Apache-2.0
// A node in a temporary directory: the embedded kubelet in this process, and the shipped binary as
// the agent in another.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/http.h"
#include "json/json.h"
#include "os/process.h"
#include "sim/kubelet/embedded.h"

namespace tessera {

inline constexpr char kNpu[] = "dummy.com/npu";
inline constexpr char kGpu[] = "nvidia.com/gpu";
inline constexpr char kOneG[] = "nvidia.com/mig-1g.10gb";
inline constexpr char kTwoG[] = "nvidia.com/mig-2g.20gb";
inline constexpr char kThreeG[] = "nvidia.com/mig-3g.40gb";
inline constexpr char kFour[] = "  - {name: dummy.com/npu, dummy: {count: 4}}\n";
// How long a test waits for an event that must happen; only a broken build ever waits so long.
inline constexpr Duration kLimit{40'000};
// How soon an event must follow from its cause. One second is promised, and it takes a tenth of
// that. A busy machine may need seconds, so the bound has room. Without the cause's notice an agent
// would need minutes (pollInterval), which no room hides.
inline constexpr Duration kSoon{20'000};

// Each node belongs to one thread. A test may have several nodes, each with a thread of its own.
class NodeUnderTest {
 public:
  NodeUnderTest();
  ~NodeUnderTest();
  NodeUnderTest(const NodeUnderTest&) = delete;
  NodeUnderTest& operator=(const NodeUnderTest&) = delete;

  // The configuration: all paths below `dir_`, short times, and `resources` (YAML below
  // "resources:", indented by two). `extra` is put in front. Polling is so rare and check timeouts
  // are so long that no test depends on them.
  std::string Config(const std::string& resources, const std::string& extra = "") const;
  // That configuration with another recovery time than its 200 ms.
  static std::string WithRecovery(std::string config, const std::string& recovery);
  // That configuration with one second for a device's check: a busy machine may stop a program for
  // a third of one.
  static std::string WithQuickChecks(std::string config);
  // That configuration with polling five times a second, for changes without an event.
  static std::string WithPolling(std::string config);
  void WriteConfig(const std::string& text);
  void StartKubelet(kubelet::ConnectionRules rules = kubelet::ConnectionRules::kUpTo136);
  // The agent's binary: the dev build's, or the one that TESSERA_UNDER_TEST names.
  static std::string Binary();
  // `before` is put in front of the agent's command line and executes it: env, setpriv, sh.
  os::Process StartAgent(const std::vector<std::string>& before = {});
  // For StartAgent: the agent gets a mount namespace of its own, in which `mounts` ran.
  static std::vector<std::string> WithMounts(const std::string& mounts);
  // Why this machine allows no mount namespace, for GTEST_SKIP; empty if it does. Tried once.
  static const std::string& WhyNoMounts();
  // Writes the configuration with these resources and starts kubelet and one agent.
  void StartAll(const std::string& resources, const std::string& extra = "");

  // Ends the agent by the signal and waits until kubelet has noticed.
  void EndAgent(int signal, const std::string& resource = kNpu);
  // Waits until kubelet has this capacity and allocatable of the resource, connected.
  void Expect(const std::string& resource, int capacity, int allocatable);
  // The same, within kSoon of `ended`, when the obstacle ended.
  void ExpectSoon(const std::string& resource, int capacity, int allocatable, Steady ended);
  bool Await(const std::string& resource, int capacity, int allocatable, Duration limit = kLimit);
  kubelet::ResourceStatus Status(const std::string& resource);
  kubelet::Admission Run(const std::string& pod, std::map<std::string, int> limits);
  // Runs numbered pods of that name until one is admitted. Needed after the agent itself ended a
  // stream, as kubelet decides when it notices. Up to 1.36 kubelet then hangs up on an agent that
  // has registered since, and that agent registers again. From 1.37 on kubelet calls the ended
  // agent until then.
  kubelet::Admission RunUntilAdmitted(const std::string& pod,
                                      const std::map<std::string, int>& limits);
  // Sends an order to the control socket, e.g. POST /cordon; waits for the socket.
  Result<http::Response> Order(const std::string& path, const json::Object& body);
  // Sets a dummy device's fault from now on, by its file. The agent reads it soon.
  void Fault(const std::string& verb, const std::string& device = "",
             const std::string& detail = "");
  void FaultOf(const std::string& resource, const std::string& verb, const std::string& device = "",
               const std::string& detail = "");
  // Sets the faults of all dummy devices at once: {"2": {"fail": "on fire"}}.
  void SetFaults(const json::Object& devices);
  std::string Get(const std::string& path);
  // "STATUS BODY" of a page, whatever its status.
  std::string Answered(const std::string& path);
  json::Object Page(const std::string& path);
  // Waits until the condition holds; false if it does not within `limit`.
  static bool Await(const std::function<bool()>& condition, Duration limit = kLimit);
  // Waits until the page fulfils the condition.
  bool AwaitPage(const std::string& path,
                 const std::function<bool(const json::Object&)>& condition);
  // Waits until the ledger names the pod, which it does once kubelet has reported the pod's
  // holding.
  bool LedgerKnows(const std::string& pod);
  // A device on the inventory page; empty if it is not there.
  static json::Object DeviceOn(const json::Object& inventory, const std::string& id);
  // The value of the series, written as on the metrics page; -1 without that series.
  int MetricNow(const std::string& series);
  // Waits until the series reaches that value.
  bool AwaitMetric(const std::string& series, int at_least);
  int Registrations(const std::string& resource);
  bool AwaitRegistrations(const std::string& resource, int at_least);
  // Kubelet's events of this kind since the last call, up to the one with the text `last`. Waits
  // for that one.
  std::vector<std::string> EventsUntil(kubelet::KubeletEvent::Kind kind, const std::string& last);
  // Kubelet's events of this kind since the last call, without waiting.
  std::vector<std::string> EventsSoFar(kubelet::KubeletEvent::Kind kind);
  // As EventsUntil, for device lists (ListOf).
  std::vector<std::string> ListsUntil(const std::string& last);
  // As ListsUntil, without lists that offer nothing. The first list is such a one where the checks
  // of unverified devices take longer than the agent waits with it.
  std::vector<std::string> OffersUntil(const std::string& last);
  // The agent's memory in kB: VmRSS, VmHWM ...
  int64_t Memory(const std::string& name) const;
  // Drops the lists of an agent that has ended, also those in flight: kubelet reports the stream's
  // end after them.
  void ForgetListsOfTheEnded();
  // Waits until so many devices are saved as healthy, which takes up to a second. Otherwise the
  // next agent checks them before it offers them. That may take longer than it waits with its first
  // list.
  bool AwaitSaved(size_t healthy);
  std::string Log();
  // The number of log lines with this text; no line may have it twice.
  size_t LinesWith(const std::string& text);
  bool AwaitLog(const std::string& text);
  // The agent's sockets in kubelet's directory.
  std::vector<std::string> OwnSockets() const;

  std::string dir_;
  std::unique_ptr<kubelet::EmbeddedKubelet> kubelet_;
  os::Process agent_;

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::map<std::string, int> registrations_;  // under mutex_, also the next
  std::map<kubelet::KubeletEvent::Kind, std::vector<std::string>> events_;
};

// A test with one node.
class AgentTest : public testing::Test, protected NodeUnderTest {
 protected:
  using NodeUnderTest::Run;  // not testing::Test's
};

// A device list in the words of kubelet's event.
std::string ListOf(int healthy, int all);

namespace kubelet {
// For the names of tests.
void PrintTo(ConnectionRules rules, std::ostream* out);
}  // namespace kubelet

}  // namespace tessera
