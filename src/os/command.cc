// SPDX-License-Identifier: Apache-2.0
#include "os/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/text.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/process.h"

namespace tessera::os {
namespace {

constexpr size_t kMostOutput = 64 * 1024;
constexpr int kGlanceMs = 5;          // between checks for its end
constexpr Duration kLastLook{1'000};  // wait for a killed program

// The environment in exec's form.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& changes) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (!changes.contains(std::string(text.substr(0, text.find('='))))) texts_.emplace_back(text);
    }
    for (const auto& [name, value] : changes) {
      if (!value.empty()) texts_.push_back(name + "=" + value);
    }
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// A memory file with this text. Unlike a pipe, it takes all of the text at once, even if the
// program never reads it.
Result<Fd> FileOf(const std::string& text) {
  Fd file(memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) return Fail(SystemError("memfd_create", errno));
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0) return Fail(SystemError("memfd", errno));
    done += static_cast<size_t>(n);
  }
  if (lseek(file.get(), 0, SEEK_SET) < 0) return Fail(SystemError("memfd", errno));
  return file;
}

// A posix_spawn action list, for this scope.
struct Actions {
  Actions() { posix_spawn_file_actions_init(&list); }
  ~Actions() { posix_spawn_file_actions_destroy(&list); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t list;
};
struct Attributes {
  Attributes() { posix_spawnattr_init(&value); }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

Result<pid_t> Spawn(const Command& command, const Fd& input, const Fd& output) {
  Actions actions;
  posix_spawn_file_actions_adddup2(&actions.list, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions.list, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.list, output.get(), STDERR_FILENO);
  // The child must not inherit this process's ignored or blocked signals.
  Attributes attributes;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setsigdefault(&attributes.value, &all);
  std::vector<std::string> words = command.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Environment environment(command.environment);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, argv[0], &actions.list, &attributes.value, argv.data(), environment.get());
  if (error != 0) return Fail(SystemError("cannot start " + command.argv[0], error));
  return pid;
}

// Reads available output, waiting at most `wait_ms` for the first byte.
void Drain(const Fd& pipe, int wait_ms, std::string& output) {
  pollfd readable{.fd = pipe.get(), .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, wait_ms) <= 0) return;
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = read(pipe.get(), buffer.data(), buffer.size())) > 0) {
    const size_t room = kMostOutput - std::min(kMostOutput, output.size());
    output.append(buffer.data(), std::min(room, static_cast<size_t>(n)));
  }
  // A program that closes its output early would make this loop spin, so wait here.
  if (n == 0) poll(nullptr, 0, wait_ms);
}

std::optional<int> Ended(pid_t pid) {
  int status = 0;
  const pid_t ended = waitpid(pid, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  if (ended < 0) return 128;  // another caller has reaped it
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<Answer> RunCommand(const Command& command) {
  const Fd input = TRY(FileOf(command.input));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fail(SystemError("pipe", errno));
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  // Only our end is non-blocking; the program's writes must block.
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  const Steady until = SystemClock().Now() + command.limit;
  const pid_t pid = TRY(Spawn(command, input, writing));
  writing.Reset();
  Answer answer;
  for (;;) {
    const std::optional<int> code = Ended(pid);
    Drain(reading, code ? 0 : kGlanceMs, answer.output);
    if (code) {
      answer.exit_code = *code;
      return answer;
    }
    if (SystemClock().Now() < until) continue;
    kill(pid, SIGKILL);
    // A process inside a driver call cannot be killed. Its end is not awaited, so a zombie may
    // remain.
    const Steady last = SystemClock().Now() + kLastLook;
    while (!Ended(pid) && SystemClock().Now() < last) poll(nullptr, 0, kGlanceMs);
    return Fail(Reason::kTimedOut, "{} did not end within {}", command.argv[0],
                MeasuredText(command.limit));
  }
}

std::string FindProgram(const std::string& name) {
  for (const std::string& directory : Split(Variable("PATH").value_or("/bin:/usr/bin"), ':')) {
    std::string path = directory + "/" + name;
    const auto info = InspectTarget(path);
    const bool is_file = info && info->type == FileInfo::Type::kFile;
    if (is_file && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace tessera::os
