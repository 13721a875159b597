// SPDX-License-Identifier: Apache-2.0
// The stage: a private temporary directory with an embedded kubelet and agents, and the actions on
// them. Every action, and every event of kubelet, becomes an observation. Owned by the player. One
// thread, which must outlive the stage, as the agents are its children.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "os/process.h"
#include "sim/demo/hardware.h"
#include "sim/demo/interruption.h"
#include "sim/demo/observation.h"
#include "sim/demo/scenario.h"
#include "sim/kubelet/embedded.h"

namespace tessera::demo {

class Stage {
 public:
  struct Options {
    kubelet::EmbeddedOptions kubelet;  // without the root
    std::string program;               // of the agent, "/usr/bin/tessera"
    bool keep = false;                 // the directory stays
    Hardware* hardware = nullptr;      // GPUs, if any; outlives the stage
  };
  // Gets every observation, in order, on the thread that makes it; must not block.
  using Observer = std::function<void(Observation)>;

  // Makes the directory and starts no process. `interruption` outlives the stage.
  static Result<std::unique_ptr<Stage>> Build(Options options, Observer observer,
                                              const Interruption& interruption);
  // Ends all processes and removes the directory.
  ~Stage();

  Status StartKubelet();
  void StopKubelet();
  void KillKubelet();
  // nullptr: it is down.
  kubelet::EmbeddedKubelet* kubelet() { return kubelet_.get(); }
  // The resources in kubelet, or its last ones.
  std::vector<kubelet::ResourceStatus> Resources();

  // Puts the hardware in the directory, before any process starts.
  Status InstallHardware();
  Status WriteConfig(const AgentConfig& config, bool broken);
  Status StartAgent();
  // Ends the oldest agent, by SIGTERM within some seconds or by SIGKILL.
  Status StopAgent();
  Status KillAgent();
  size_t agents() const { return agents_.size(); }
  // Notes agents that ended by themselves. False: there was one.
  bool CheckAgents();

  kubelet::Admission RunPod(const kubelet::PodSpec& pod);
  Status EndPod(const std::string& pod);
  Status RestartContainer(const std::string& pod, const std::string& container);
  Status MakeFault(Fault fault);
  Status MakeChange(const ChangeHardware& change);
  Status MakeCordon(const SetCordon& cordon);

  // Notes the limits on virtual GPUs that the running containers get. Also done after every start
  // of a container.
  void ReadLimits();
  void Note(What what);
  // Sets the step that later observations name.
  void SetStep(std::string scenario_line);

  // The directory of the hardware's files, the only ones that the agent sees.
  std::string node_directory() const { return directory_ + "/node"; }
  std::string control_socket() const { return directory_ + "/agent.sock"; }
  const std::string& directory() const { return directory_; }
  // The last lines of the agents' log.
  std::string LogTail(size_t lines) const;

 private:
  struct Agent {
    os::Process process;
    pid_t pid;
  };

  Stage(Options options, std::string directory, Observer observer,
        const Interruption& interruption);
  Result<kubelet::EmbeddedKubelet*> Running();
  Status PutLibraries(const AgentConfig& config) const;
  std::map<std::string, std::string> LimitsOf(const kubelet::ContainerGrant& grant) const;
  void NoteKubelet(const kubelet::KubeletEvent& event);
  void Gone(size_t index, bool wanted, std::string how);

  const Options options_;
  const std::string directory_;
  const Observer observer_;
  const Interruption& interruption_;
  const Steady began_;
  std::unique_ptr<kubelet::EmbeddedKubelet> kubelet_;
  std::vector<Agent> agents_;                 // running, oldest first
  std::map<std::string, VirtualGpus> vgpus_;  // by resource, from all configurations

  Mutex mutex_;  // held while an observation is made and delivered
  kubelet::EmbeddedKubelet* asked_ TESSERA_GUARDED_BY(mutex_) =
      nullptr;  // kubelet_ while it can answer
  std::vector<kubelet::ResourceStatus> resources_ TESSERA_GUARDED_BY(mutex_);
  std::string scenario_line_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::demo
