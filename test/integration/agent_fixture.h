// SPDX-License-Identifier: Apache-2.0
// A node in a temporary directory: the embedded kubelet in this process, the agent as the shipped
// binary in another.
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
// How long a test waits for what must happen; only a broken build ever waits so long.
inline constexpr Duration kLimit{40'000};
// How soon something has happened that its cause brings about by itself. One second is promised and
// it takes a tenth of that, but a machine with too much to do may take seconds for anything. So the
// bound has room, and what tests show is the cause: whoever is not told of the event would find out
// minutes later (pollInterval), which no room hides.
inline constexpr Duration kSoon{20'000};

// Each is for one thread; a test may have several, each with a thread of its own.
class NodeUnderTest {
 public:
  NodeUnderTest();
  ~NodeUnderTest();
  NodeUnderTest(const NodeUnderTest&) = delete;
  NodeUnderTest& operator=(const NodeUnderTest&) = delete;

  // The configuration: everything below `dir_`, short times, and `resources` (YAML below
  // "resources:", indented by two). `extra` is put in front. Nothing is found out by looking now
  // and then, and no check of a device is too slow.
  std::string Config(const std::string& resources, const std::string& extra = "") const;
  // That configuration with another time to recover than its 200 ms.
  static std::string WithRecovery(std::string config, const std::string& recovery);
  // That configuration with a second for a check of a device: a busy machine may hold a program up
  // for a third of one.
  static std::string WithQuickChecks(std::string config);
  // That configuration with a look at what nothing tells of, five times a second.
  static std::string WithPolling(std::string config);
  void WriteConfig(const std::string& text);
  void StartKubelet(kubelet::ConnectionRules rules = kubelet::ConnectionRules::kUpTo136);
  // `before` is put in front of the agent's own command line and becomes it: env, setpriv, sh.
  // The dev build's, or the one that TESSERA_UNDER_TEST names.
  static std::string Binary();
  os::Process StartAgent(const std::vector<std::string>& before = {});
  // For StartAgent: gives the agent a mount namespace of its own, in which `mounts` ran.
  static std::vector<std::string> WithMounts(const std::string& mounts);
  // Why this machine allows no such thing, for GTEST_SKIP; empty where it does. It is tried once.
  static const std::string& WhyNoMounts();
  // Writes the configuration with these resources and starts kubelet and one agent.
  void StartAll(const std::string& resources, const std::string& extra = "");

  // Ends the agent by the signal and waits until kubelet has noticed.
  void EndAgent(int signal, const std::string& resource = kNpu);
  // Waits until kubelet has this capacity and allocatable of the resource, connected.
  void Expect(const std::string& resource, int capacity, int allocatable);
  // The same, within kSoon of the moment at which what prevented it ended.
  void ExpectSoon(const std::string& resource, int capacity, int allocatable, Steady ended);
  bool Await(const std::string& resource, int capacity, int allocatable, Duration limit = kLimit);
  kubelet::ResourceStatus Status(const std::string& resource);
  kubelet::Admission Run(const std::string& pod, std::map<std::string, int> limits);
  // Runs pods of that name, numbered, until one is admitted: to be used where the agent itself
  // ended a stream. When kubelet notices that is kubelet's affair. Up to 1.36 it then hangs up on
  // who has registered meanwhile, who registers again; from 1.37 on it asks the one that is gone
  // until then.
  kubelet::Admission RunUntilAdmitted(const std::string& pod,
                                      const std::map<std::string, int>& limits);
  // An order on the control socket: POST /cordon and so on; waits for the socket.
  Result<http::Response> Order(const std::string& path, const json::Object& body);
  // What is wrong with a dummy device from now on, by its file. The agent reads it soon.
  void Fault(const std::string& verb, const std::string& device = "",
             const std::string& detail = "");
  void FaultOf(const std::string& resource, const std::string& verb, const std::string& device = "",
               const std::string& detail = "");
  // The faults of the dummy devices, all at once: {"2": {"fail": "on fire"}}.
  void SetFaults(const json::Object& devices);
  std::string Get(const std::string& path);
  // "STATUS BODY" of a page, whether or not it is a failure.
  std::string Answered(const std::string& path);
  json::Object Page(const std::string& path);
  // Waits until the condition holds; false when it has not after `limit`.
  static bool Await(const std::function<bool()>& condition, Duration limit = kLimit);
  // Waits until the page fulfils the condition.
  bool AwaitPage(const std::string& path,
                 const std::function<bool(const json::Object&)>& condition);
  // Waits until the ledger names the pod, as it does once kubelet has said what the pod holds.
  bool LedgerKnows(const std::string& pod);
  // A device as the inventory page has it; empty when it has none.
  static json::Object DeviceOn(const json::Object& inventory, const std::string& id);
  // The value of the series, as it stands before its value; -1 where there is none.
  int MetricNow(const std::string& series);
  // Waits until it has come to that value.
  bool AwaitMetric(const std::string& series, int at_least);
  int Registrations(const std::string& resource);
  bool AwaitRegistrations(const std::string& resource, int at_least);
  // What kubelet told of such events since the last call, up to the one whose text is `last`, which
  // is waited for.
  std::vector<std::string> EventsUntil(kubelet::KubeletEvent::Kind kind, const std::string& last);
  // What kubelet told of such events since the last call, waiting for nothing.
  std::vector<std::string> EventsSoFar(kubelet::KubeletEvent::Kind kind);
  // As EventsUntil, for device lists (ListOf).
  std::vector<std::string> ListsUntil(const std::string& last);
  // The agent's memory in kB: VmRSS, VmHWM ...
  int64_t Memory(const std::string& name) const;
  // Forgets the lists of an agent that has ended, those under way included: kubelet tells the end
  // of the stream after them.
  void ForgetListsOfTheEnded();
  // Waits until so many devices are saved as healthy, as they are within a second. Until then the
  // next agent would check them before it offers them, which may take it longer than it waits with
  // its first list.
  bool AwaitSaved(size_t healthy);
  std::string Log();
  // How many of its lines have this text, which is in none of them twice.
  size_t LinesWith(const std::string& text);
  bool AwaitLog(const std::string& text);
  // Sockets of ours in kubelet's directory.
  std::vector<std::string> OwnSockets() const;

  std::string dir_;
  std::unique_ptr<kubelet::EmbeddedKubelet> kubelet_;
  os::Process agent_;

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::map<std::string, int> registrations_;  // under mutex_, as is what follows
  std::map<kubelet::KubeletEvent::Kind, std::vector<std::string>> events_;
};

// A test with one node.
class AgentTest : public testing::Test, protected NodeUnderTest {
 protected:
  using NodeUnderTest::Run;  // not testing::Test's
};

// A device list as kubelet's event tells it.
std::string ListOf(int healthy, int all);

namespace kubelet {
// For the names of tests.
void PrintTo(ConnectionRules rules, std::ostream* out);
}  // namespace kubelet

}  // namespace tessera
