// SPDX-License-Identifier: Apache-2.0
// The MPS daemon of a resource on this machine. It is run by NVIDIA's programs
// nvidia-cuda-mps-control and nvidia-smi, from PATH. The daemon's directory has these entries.
//
//   pipe/:        The daemon's sockets; containers mount it
//   kept/:        Hard links to the sockets, to restore them from (pipes.h)
//   log/:         Its log
//   status.json:  Its status, for the agent
//   .started:     The mark that NVIDIA's program leaves
//
// A daemon is known by its program, its user and the pipe directory in its environment. So a daemon
// of an earlier process is found too. Any process may choose a name and variables. One with another
// program, of another user or of a container is left alone. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mps/control.h"
#include "mps/pipes.h"

namespace tessera::mps {

class LocalControl : public MpsControl {
 public:
  // `limit` is for one command; the start of the daemon may take longer.
  LocalControl(std::string directory, std::function<Result<Sizes>()> look, Duration limit);

  Result<Sizes> ReadSizes() override { return look_(); }
  Result<nvidia::MpsStatus> ReadStatus() override;
  void WriteStatus(const nvidia::MpsStatus& status) override;
  std::string Boot() override { return boot_; }
  std::optional<pid_t> Find() override;
  bool IsAlive(pid_t daemon) override;
  Status SetExclusive(const std::string& gpu, bool exclusive) override;
  Result<pid_t> Start(const Sizes& sizes) override;
  Result<std::string> Ask(const std::string& command) override;
  Status KeepSockets() override { return pipes_.KeepSockets(); }
  Result<bool> RestoreSockets() override { return pipes_.RestoreSockets(); }
  bool Accepts() override { return pipes_.Accepts(); }
  void Kill() override;
  bool AwaitEnd(pid_t daemon) override;
  void CleanUp() override;

 private:
  Status MakeDirectories() const;
  const std::string& Pipe() const { return pipes_.path(); }
  std::string Log() const { return directory_ + "/log"; }
  std::vector<pid_t> Processes(bool (*is)(pid_t pid, const std::string& pipe)) const;
  void NoteServers(pid_t daemon);

  const std::string directory_;
  const Pipes pipes_;
  const std::function<Result<Sizes>()> look_;
  const Duration limit_;
  const std::string boot_;
  std::map<pid_t, std::string> servers_;  // the daemon's, as last seen, with their start times
};

}  // namespace tessera::mps
