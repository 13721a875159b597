// SPDX-License-Identifier: Apache-2.0
#include "card/probes/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "card/probes/first_device.h"
#include "card/row.h"
#include "limiter/contract.h"
#include "shares/agent.h"

namespace tessera::card {
namespace {

constexpr int kPatience = 8'000;  // ms for a step, before it is killed

// NOLINTBEGIN(concurrency-mt-unsafe): one thread
std::string Variable(const char* name, const char* otherwise) {
  const char* const value = getenv(name);
  return value != nullptr ? value : otherwise;
}
// NOLINTEND(concurrency-mt-unsafe)

// What a probe says to its watcher.
struct Ask {
  unsigned step = 0;
  char name[124] = "";  // empty: it asks what there is
};

// What the library has written down.
Amounts Read(const std::string& path) {
  Amounts amounts;
  const auto region = std::make_unique<limiter::Region>();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return amounts;
  const bool is_whole = pread(fd, region.get(), sizeof *region, 0) == sizeof *region;
  close(fd);
  if (!is_whole) return amounts;
  amounts.charged = region->accounting.times[0].used;
  constexpr uint64_t kUnits = (uint64_t{1} << 36) - 1;
  amounts.counted = (region->accounting.devices[0].total.low & kUnits) * limiter::kUnit;
  const std::map<unsigned, uint64_t> processes = FirstDevice::Open()->OfProcesses();
  for (const limiter::HamiSlot& slot : region->hami.slots) {
    if (slot.pid == 0) continue;
    amounts.context += slot.used[0].context;
    amounts.module += slot.used[0].module;
    amounts.data += slot.used[0].data;
    const auto found = processes.find(static_cast<unsigned>(slot.pid));
    if (found != processes.end()) amounts.processes += found->second;
  }
  amounts.card = FirstDevice::Open()->OfCard();
  return amounts;
}

// NOLINTBEGIN(concurrency-mt-unsafe): before it has a second thread
[[noreturn]] void Become(int socket, const std::string& family, unsigned first,
                         const std::string& region, uint64_t limit, int percent) {
  HandOver(socket, kWatcher);
  setenv("CUDA_VISIBLE_DEVICES", FirstDevice::Open()->Uuid().c_str(), 1);
  setenv("CUDA_DEVICE_MEMORY_SHARED_CACHE", region.c_str(), 1);
  if (limit != 0 || percent != 0) {
    const std::string library = Variable("CARD_HOME", ".") + "/bin/libvgpu.so";
    setenv("LD_PRELOAD", library.c_str(), 1);
  }
  if (limit != 0) setenv("CUDA_DEVICE_MEMORY_LIMIT", std::to_string(limit).c_str(), 1);
  if (percent != 0) {
    setenv("CUDA_DEVICE_SM_LIMIT", std::to_string(percent).c_str(), 1);
    setenv("GPU_CORE_UTILIZATION_POLICY", "force", 1);
  }
  const std::string number = std::to_string(first);
  execl("/proc/self/exe", "memory", family.c_str(), number.c_str(), nullptr);
  _exit(127);
}
// NOLINTEND(concurrency-mt-unsafe)

constexpr char kNothing[] = "nothing";  // it ended well, and is to go on in another process

// Until it ends; empty: well. The last step it began is in `at`.
std::string Serve(pid_t pid, int socket, const std::string& region, Ask& at) {
  pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
  for (;;) {
    const bool is_late = poll(&waited, 1, kPatience) == 0;
    Ask ask;
    if (!is_late && recv(socket, &ask, sizeof ask, MSG_WAITALL) == sizeof ask) {
      if (ask.name[0] != '\0') {
        at = ask;
        continue;
      }
      const Amounts amounts = Read(region);
      send(socket, &amounts, sizeof amounts, MSG_NOSIGNAL);
      continue;
    }
    if (is_late) kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    if (is_late) return "hung";
    if (WIFEXITED(status) && WEXITSTATUS(status) == kGoOn) return kNothing;
    if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
    return status == 0 ? "" : "ended with " + std::to_string(WEXITSTATUS(status));
  }
}

}  // namespace

bool Watch(const std::string& family, uint64_t limit, int percent) {
  if (FirstDevice::Open() == nullptr) return false;
  const std::string directory = Variable("CARD_SCRATCH", "/tmp");
  const std::string region = directory + "/0.cache";  // where limiter::Agent looks for it
  for (unsigned first = 0;;) {
    unlink(region.c_str());
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) Become(ends[1], family, first, region, limit, percent);
    close(ends[1]);
    std::optional<limiter::Agent> agent;
    if (percent != 0) agent.emplace(directory, FirstDevice::Open()->Uuid(), 1);
    Ask at;
    const std::string trouble = Serve(pid, ends[0], region, at);
    close(ends[0]);
    unlink(region.c_str());
    if (trouble.empty()) return true;
    if (trouble != kNothing) Trouble(at.name[0] != '\0' ? at.name : family, trouble);
    if (at.name[0] == '\0') return true;  // it had not begun
    first = at.step + 1;
    usleep(100'000);  // what it had is the card's a moment later
  }
}

void HandOver(int descriptor, int as) {
  if (descriptor != as) {
    dup2(descriptor, as);
  } else {
    fcntl(as, F_SETFD, 0);
  }
}

void BeginStep(unsigned number, const char* name) {
  Ask ask{.step = number};
  std::strncpy(ask.name, name, sizeof ask.name - 1);
  send(kWatcher, &ask, sizeof ask, MSG_NOSIGNAL);
}

Amounts Measure() {
  const Ask ask;
  Amounts amounts;
  if (send(kWatcher, &ask, sizeof ask, MSG_NOSIGNAL) != sizeof ask ||
      recv(kWatcher, &amounts, sizeof amounts, MSG_WAITALL) != sizeof amounts) {
    _exit(3);  // nobody watches any more
  }
  return amounts;
}

}  // namespace tessera::card
