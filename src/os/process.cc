// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "os/files.h"

namespace tessera::os {
namespace {

int ExitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// In the child, between fork and exec: only async-signal-safe calls, as the parent has threads.
[[noreturn]] void Become(pid_t parent, char* const* argv, int log_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  if (log_fd >= 0) {
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
  }
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

Result<Process> Process::Start(const std::vector<std::string>& argv, const std::string& log_path) {
  int log_fd = -1;
  if (!log_path.empty()) {
    log_fd = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) return Fail(SystemError("cannot open " + log_path, errno));
  }
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) Become(parent, arguments.data(), log_fd);
  int error = errno;
  if (log_fd >= 0) close(log_fd);
  if (pid < 0) return Fail(SystemError("cannot start " + argv[0], error));
  return Process(pid);
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

Process::~Process() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  Wait();
}

void Process::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

int Process::Wait() {
  int status = 0;
  while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return ExitCode(status);
}

std::optional<int> Process::Poll() {
  if (pid_ < 0) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return ExitCode(status);
}

std::vector<pid_t> ProcessIds() {
  std::vector<pid_t> ids;
  for (const std::string& entry : ListDirectory("/proc").value_or(std::vector<std::string>())) {
    pid_t pid = 0;
    const char* end = entry.data() + entry.size();
    const auto [rest, error] = std::from_chars(entry.data(), end, pid);
    if (error == std::errc() && rest == end) ids.push_back(pid);
  }
  std::ranges::sort(ids);
  return ids;
}

// The second field, a name in parentheses, may contain any character.
std::vector<std::string> StatOf(const std::string& name) {
  const auto text = ReadFile("/proc/" + name + "/stat");
  const size_t name_end = text ? text->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return {};
  return Split(std::string_view(*text).substr(name_end + 2), ' ');
}

std::optional<pid_t> FindProcess(std::string_view name) {
  for (const pid_t pid : ProcessIds()) {
    const auto words = ReadFile("/proc/" + std::to_string(pid) + "/cmdline", name.size() + 1);
    if (words && words->substr(0, words->find('\0')) == name) return pid;
  }
  return std::nullopt;
}

bool RunsInPod() {
  // Kubelet sets this variable in every container.
  return Variable("KUBERNETES_SERVICE_HOST").has_value();
}

std::optional<std::string> Variable(const std::string& name) {
  const char* value = getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): never set by us
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string OwnPath() {
  char buffer[4096];
  ssize_t n = readlink("/proc/self/exe", buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

}  // namespace tessera::os
