// SPDX-License-Identifier: Apache-2.0
// A node in a temporary directory: the embedded kubelet in this process, the agent as the shipped
// binary in another.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/http.h"
#include "json/json.h"
#include "kubelet/embedded/embedded.h"
#include "os/process.h"

namespace tessera {

inline constexpr char kNpu[] = "dummy.com/npu";
// How long a test waits for what must happen; only a broken build ever waits so long.
inline constexpr Duration kLimit{15'000};

class AgentTest : public testing::Test {
 protected:
  AgentTest();
  ~AgentTest() override;

  // The configuration: everything below `dir_`, short times, and `resources` (YAML below
  // "resources:", indented by two). `extra` is put in front.
  std::string Config(const std::string& resources, const std::string& extra = "") const;
  void WriteConfig(const std::string& text);
  void StartKubelet(kubelet::ConnectionRules rules = kubelet::ConnectionRules::kUpTo136);
  os::Process StartAgent();
  // Writes the configuration with these resources and starts kubelet and one agent.
  void StartAll(const std::string& resources, const std::string& extra = "");

  // Ends the agent by the signal and waits until kubelet has noticed.
  void EndAgent(int signal, const std::string& resource = kNpu);
  // Waits until kubelet has this capacity and allocatable of the resource, connected.
  void Expect(const std::string& resource, int capacity, int allocatable);
  bool Await(const std::string& resource, int capacity, int allocatable);
  kubelet::ResourceStatus Status(const std::string& resource);
  kubelet::Admission Run(const std::string& pod, std::map<std::string, int> limits);
  // An order on the control socket: POST /fault and so on; waits for the socket.
  Result<http::Response> Order(const std::string& path, const json::Object& body);
  void Fault(const std::string& verb, const std::string& device = "",
             const std::string& detail = "");
  json::Object Page(const std::string& path);
  // Waits until the page fulfils the condition.
  bool AwaitPage(const std::string& path,
                 const std::function<bool(const json::Object&)>& condition);
  int Registrations(const std::string& resource);
  std::string Log();

  std::string dir_;
  std::unique_ptr<kubelet::EmbeddedKubelet> kubelet_;
  os::Process agent_;

 private:
  std::mutex mutex_;
  std::map<std::string, int> registrations_;  // under mutex_
};

}  // namespace tessera
