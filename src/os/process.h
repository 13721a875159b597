// SPDX-License-Identifier: Apache-2.0
// A child process, started with fork and exec. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::os {

class Process {
 public:
  // Starts `argv` with the parent's environment. Output and errors are appended to `log_path`, or
  // go to the parent's if it is empty. The child is killed when the starting thread ends, so start
  // it from a thread that stays.
  static Result<Process> Start(const std::vector<std::string>& argv, const std::string& log_path);

  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  // Kills and reaps a running child.
  ~Process();

  void Signal(int signal);
  // Waits for the end. Returns the exit code, or 128 + signal number.
  int Wait();
  // As Wait without blocking; nothing while the child runs.
  std::optional<int> Poll();
  pid_t pid() const { return pid_; }

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// The process ids visible in /proc.
std::vector<pid_t> ProcessIds();
// The fields of /proc/NAME/stat from the state on, the third one (proc(5)). Empty if there is no
// such process. NAME is "17" or "self/task/18".
std::vector<std::string> StatOf(const std::string& name);
// The visible process with the lowest id whose command line starts with this word.
std::optional<pid_t> FindProcess(std::string_view name);
// Whether this process is in a container of a Kubernetes pod.
bool RunsInPod();
// An environment variable, or nothing. Any thread, because no code changes the environment.
std::optional<std::string> Variable(const std::string& name);
// The machine's name, or the pod's in a container.
std::string HostName();
// The path of the running program.
std::string OwnPath();

}  // namespace tessera::os
