// SPDX-License-Identifier: Apache-2.0
// A child process, started with posix_spawn (the parent may have threads). One thread.
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
  // Starts `argv` with the parent's environment; standard output and error go to `log_path`
  // (appended), or where the parent's go when empty. The child is killed when the thread that
  // started it ends: start children from a thread that stays.
  static Result<Process> Start(const std::vector<std::string>& argv, const std::string& log_path);

  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  // Kills and reaps a child that still runs.
  ~Process();

  void Signal(int signal);
  // Waits for the end; the exit code, or 128 + signal number.
  int Wait();
  // The same, without waiting: nothing while it runs.
  std::optional<int> Poll();
  pid_t pid() const { return pid_; }

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// All that /proc shows, by their numbers.
std::vector<pid_t> ProcessIds();
// What /proc/NAME/stat says, from the state on, which is its third field (proc(5)); empty: there is
// none. NAME: "17", "self/task/18".
std::vector<std::string> StatOf(const std::string& name);
// The first process, by its number, whose command line begins with this word; as far as /proc shows
// them.
std::optional<pid_t> FindProcess(std::string_view name);
// Whether this process is in a container of a Kubernetes pod.
bool RunsInPod();
// What the environment says; nothing where it has no such variable. Any thread: nobody changes it.
std::optional<std::string> Variable(const std::string& name);
// The machine's own name; in a container, the pod's.
std::string HostName();
// The path of the running program.
std::string OwnPath();

}  // namespace tessera::os
