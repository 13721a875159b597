// SPDX-License-Identifier: Apache-2.0
// The stage: a private temporary directory with an embedded kubelet and agents in it, and what can
// be done to them. Everything done and everything kubelet tells becomes an observation. Owned by
// the player; one thread, which must not end while the stage stands: agents are its children.
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
    std::string program;               // the agent's, "/usr/bin/tessera"
    bool keep = false;                 // the directory stays
    Hardware* hardware = nullptr;      // NVIDIA GPUs, if there are any; outlives the stage
  };
  // Gets every observation, in order, on whatever thread it was made; must not block.
  using Observer = std::function<void(Observation)>;

  // Makes the directory; nothing runs yet. `interruption` outlives the stage.
  static Result<std::unique_ptr<Stage>> Build(Options options, Observer observer,
                                              const Interruption& interruption);
  // Ends what runs and removes the directory.
  ~Stage();

  Status StartKubelet();
  void StopKubelet();
  void KillKubelet();
  // nullptr while it is down.
  kubelet::EmbeddedKubelet* kubelet() { return kubelet_.get(); }
  // The resources as kubelet sees them, or saw them last.
  std::vector<kubelet::ResourceStatus> Resources();

  // Puts it in the directory, before anything runs.
  Status InstallHardware();
  Status WriteConfig(const AgentConfig& config, bool broken);
  Status StartAgent();
  // The oldest agent ends, by SIGTERM within some seconds or by SIGKILL.
  Status StopAgent();
  Status KillAgent();
  size_t agents() const { return agents_.size(); }
  // Notes agents that ended by themselves; false when there was one.
  bool CheckAgents();

  kubelet::Admission RunPod(const kubelet::PodSpec& pod);
  Status EndPod(const std::string& pod);
  Status RestartContainer(const std::string& pod, const std::string& container);
  Status MakeFault(Fault fault);
  Status MakeChange(const ChangeHardware& change);
  Status MakeCordon(const SetCordon& cordon);

  // What the running containers are told that they may use of virtual GPUs; done after every start
  // of one as well.
  void ReadLimits();
  void Note(What what);
  // The step behind the observations from now on.
  void SetStep(std::string scenario_line);

  // Where the hardware's files are; the agent looks at no others.
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
  std::map<std::string, VirtualGpus> vgpus_;  // by resource, of all configurations

  Mutex mutex_;  // held while an observation is made and handed on
  kubelet::EmbeddedKubelet* asked_ TESSERA_GUARDED_BY(mutex_) =
      nullptr;  // kubelet_ while it may be asked
  std::vector<kubelet::ResourceStatus> resources_ TESSERA_GUARDED_BY(mutex_);
  std::string scenario_line_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::demo
