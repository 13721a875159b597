// SPDX-License-Identifier: Apache-2.0
#include "mps/local_control.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <map>
#include <thread>

#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "os/command.h"
#include "os/files.h"
#include "os/process.h"

namespace tessera::mps {
namespace {

constexpr char kControl[] = "nvidia-cuda-mps-control";
constexpr char kServer[] = "nvidia-cuda-mps-server";
constexpr char kPipeVariable[] = "CUDA_MPS_PIPE_DIRECTORY";
constexpr char kLogVariable[] = "CUDA_MPS_LOG_DIRECTORY";
constexpr Duration kStartLimit{15'000};
constexpr Duration kEndLimit{5'000};
constexpr Duration kProcessGlance{20};
constexpr mode_t kMode = 0755;  // clients run as any user
// The SELinux label of files that containers may use.
constexpr std::string_view kLabel = "system_u:object_r:container_file_t:s0";

// exec allows 6 MiB of variables, but a process may make its own longer without limit.
constexpr size_t kMostVariables = size_t{8} << 20;
constexpr size_t kMostArguments = 4096;  // the daemon has two

std::string InProc(pid_t pid, const char* file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

// Only for a process that is known to be ours. A foreign process can make a read of its memory take
// as long as it likes.
std::vector<std::string> Words(pid_t pid, const char* file, size_t most) {
  const auto text = os::ReadFile(InProc(pid, file), most);
  return text ? Split(*text, '\0') : std::vector<std::string>();
}

// Compares the name of the program's file, as an update may have replaced it. The file is not
// opened: it may be on a file system that another user serves.
bool Runs(pid_t pid, const std::string& program) {
  constexpr std::string_view kDeleted = " (deleted)";
  auto run = os::ReadLink(InProc(pid, "exe"));
  if (!run) return false;
  if (run->ends_with(kDeleted)) run->resize(run->size() - kDeleted.size());
  return FileName(*run) == FileName(os::FollowBelow("", os::FindProgram(program)));
}

// Whether this user or root started it, outside containers. In a container any process may be root.
bool IsOfOurs(pid_t pid) {
  const auto status = os::ReadFile(InProc(pid, "status"));
  const size_t at = status ? status->find("\nUid:\t") : std::string::npos;
  if (at == std::string::npos) return false;
  uid_t user = 0;  // the real one: a set-user-ID program keeps its caller's
  const char* digits = status->data() + at + std::string_view("\nUid:\t").size();
  if (std::from_chars(digits, status->data() + status->size(), user).ec != std::errc()) {
    return false;
  }
  if (user != 0 && user != geteuid()) return false;
  const auto space = os::ReadLink(InProc(pid, "ns/pid"));
  return space && *space == os::ReadLink("/proc/self/ns/pid");
}

// Whether a process of ours has this first word. A process that has ended and was not waited for
// has none.
bool IsCalled(pid_t pid, const char* program, bool with_flag) {
  if (!IsOfOurs(pid) || !Runs(pid, program)) return false;
  const std::vector<std::string> words = Words(pid, "cmdline", kMostArguments);
  return !words.empty() && FileName(words[0]) == program &&
         (!with_flag || std::ranges::count(words, "-d") > 0);
}

bool HasPipe(pid_t pid, const std::string& pipe) {
  const std::string variable = fmt::format("{}={}", kPipeVariable, pipe);
  return std::ranges::count(Words(pid, "environ", kMostVariables), variable) > 0;
}

bool IsDaemon(pid_t pid, const std::string& pipe) {
  return IsCalled(pid, kControl, true) && HasPipe(pid, pipe);
}

// Whether it is a daemon, or one of this user's servers.
bool IsOurs(pid_t pid, const std::string& pipe) {
  return IsDaemon(pid, pipe) || (IsCalled(pid, kServer, false) && HasPipe(pid, pipe));
}

// The process's start time, which tells it from a later one with the same pid. Empty: it is gone.
std::string BeginOf(pid_t pid) {
  constexpr size_t kField = 22;
  const std::vector<std::string> stat = os::StatOf(std::to_string(pid));
  return stat.size() > kField - 3 && stat[0] != "Z" ? stat[kField - 3] : "";
}

std::vector<pid_t> PidsIn(std::string_view text) {
  std::vector<pid_t> pids;
  for (const std::string& word : Split(std::string(Trim(text)), ' ')) {
    pid_t pid = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (read.ec == std::errc() && read.ptr == word.data() + word.size()) pids.push_back(pid);
  }
  return pids;
}

pid_t ParentOf(pid_t pid) {
  const std::vector<std::string> stat = os::StatOf(std::to_string(pid));
  const std::vector<pid_t> parent = PidsIn(stat.size() > 1 ? stat[1] : "");
  return parent.empty() ? 0 : parent[0];
}

void SetLabel(const std::string& path) {
  if (lsetxattr(path.c_str(), "security.selinux", kLabel.data(), kLabel.size(), 0) == 0) return;
  log::Warn("cannot label the pipes of MPS, so SELinux may deny them to containers",
            SystemError("cannot label " + path, errno));
}

// These CUDA variables and no others. The agent's variables must not reach the daemon. The daemon's
// reach its servers and limit all clients.
std::map<std::string, std::string> Only(std::map<std::string, std::string> variables) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("CUDA_")) continue;
    variables.emplace(text.substr(0, text.find('=')), "");  // empty hides the agent's value
  }
  return variables;
}

Status Run(const os::Command& command, std::string* output = nullptr) {
  os::Answer answer = TRY(os::RunCommand(command));
  if (answer.exit_code != 0) {
    return Fail(Reason::kUnavailable, "{} ended with {}: {}", command.argv[0], answer.exit_code,
                Brief(Trim(answer.output)));
  }
  if (output != nullptr) *output = std::move(answer.output);
  return {};
}

}  // namespace

LocalControl::LocalControl(std::string directory, std::function<Result<Sizes>()> look,
                           Duration limit)
    : directory_(std::move(directory)),
      pipes_(directory_),
      look_(std::move(look)),
      limit_(limit),
      boot_(os::ReadBootId().value_or("")) {}

Result<nvidia::MpsStatus> LocalControl::ReadStatus() {
  return nvidia::ParseMpsStatus(TRY(os::ReadFile(directory_ + "/" + nvidia::kMpsStatusFile)));
}

void LocalControl::WriteStatus(const nvidia::MpsStatus& status) {
  const std::string path = directory_ + "/" + nvidia::kMpsStatusFile;
  Status said = os::MakeDirectories(directory_, kMode);
  if (said) said = os::ReplaceFile(path, nvidia::MpsStatusText(status), 0644);
  if (!said)
    log::Warn("cannot write the status of MPS for the agent", said.error(), {{"path", path}});
}

std::vector<pid_t> LocalControl::Processes(bool (*is)(pid_t, const std::string&)) const {
  std::vector<pid_t> processes = os::ProcessIds();
  std::erase_if(processes, [&](pid_t pid) { return !is(pid, Pipe()); });
  return processes;
}

// A child of the daemon looks like a daemon until it becomes a server. The daemon is the one whose
// parent is no daemon.
std::optional<pid_t> LocalControl::Find() {
  const std::vector<pid_t> daemons = Processes(IsDaemon);
  for (const pid_t pid : daemons) {
    if (std::ranges::count(daemons, ParentOf(pid)) == 0) return pid;
  }
  return std::nullopt;
}

bool LocalControl::IsAlive(pid_t daemon) {
  if (!IsDaemon(daemon, Pipe())) return false;
  NoteServers(daemon);
  return true;
}

// A server runs as its clients' user and is known only as the daemon's child. Once the daemon has
// ended, it cannot be told from other processes of that user.
void LocalControl::NoteServers(pid_t daemon) {
  const std::string children = fmt::format("/proc/{0}/task/{0}/children", daemon);
  std::erase_if(servers_, [](const auto& one) { return BeginOf(one.first) != one.second; });
  for (const pid_t pid : PidsIn(os::ReadFile(children, kMostArguments).value_or(""))) {
    servers_[pid] = BeginOf(pid);
  }
}

Status LocalControl::SetExclusive(const std::string& gpu, bool exclusive) {
  return Run({.argv = {"nvidia-smi", "-i", gpu, "-c", exclusive ? "EXCLUSIVE_PROCESS" : "DEFAULT"},
              .limit = kStartLimit});
}

Status LocalControl::MakeDirectories() const {
  for (const std::string& directory : {directory_, Log()}) {
    TRY(os::MakeDirectories(directory, kMode));
  }
  TRY(pipes_.Clear());
  if (os::Exists("/sys/fs/selinux")) SetLabel(Pipe());
  return {};
}

Result<pid_t> LocalControl::Start(const Sizes& sizes) {
  TRY(MakeDirectories());
  TRY(Run({.argv = {kControl, "-d"},
           .environment = Only({{kPipeVariable, Pipe()},
                                {kLogVariable, Log()},
                                {"CUDA_VISIBLE_DEVICES", VisibleDevices(sizes)}}),
           .limit = kStartLimit}));
  const std::optional<pid_t> daemon = Find();
  if (!daemon) return Fail(Reason::kUnavailable, "{} -d left no daemon running", kControl);
  TRY(os::ReplaceFile(directory_ + "/.started", "", 0644));
  return *daemon;
}

Result<std::string> LocalControl::Ask(const std::string& command) {
  std::string answer;
  TRY(Run({.argv = {kControl},
           .environment = Only({{kPipeVariable, Pipe()}, {kLogVariable, Log()}}),
           .input = command + "\n",
           .limit = limit_},
          &answer));
  return answer;
}

// Each pid is checked again just before the kill, as it may belong to a new process by then.
void LocalControl::Kill() {
  const auto end = [](pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, WNOHANG);  // our child where we are a container's first process
  };
  const Steady until = SystemClock().Now() + kEndLimit;
  for (;;) {
    const std::vector<pid_t> ours = Processes(IsOurs);
    std::erase_if(servers_, [](const auto& one) { return BeginOf(one.first) != one.second; });
    for (const pid_t pid : ours) NoteServers(pid);
    if (ours.empty() && servers_.empty()) return;
    if (SystemClock().Now() >= until) return;
    for (const auto& [pid, begin] : servers_) {
      if (BeginOf(pid) == begin) end(pid);
    }
    for (const pid_t pid : ours) {
      if (IsOurs(pid, Pipe())) end(pid);
    }
    std::this_thread::sleep_for(kProcessGlance);
  }
}

bool LocalControl::AwaitEnd(pid_t daemon) {
  const Steady until = SystemClock().Now() + kEndLimit;
  while (IsAlive(daemon)) {
    if (SystemClock().Now() >= until) return false;
    std::this_thread::sleep_for(kProcessGlance);
  }
  waitpid(daemon, nullptr, WNOHANG);
  return true;
}

void LocalControl::CleanUp() {
  for (const char* name : {nvidia::kMpsStatusFile, ".started"}) {
    (void)os::RemoveFile(directory_ + "/" + name);
  }
  (void)os::RemoveTree(Log());
  (void)pipes_.Forget();
}

}  // namespace tessera::mps
