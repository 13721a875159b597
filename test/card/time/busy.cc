// SPDX-License-Identifier: Apache-2.0
#include "card/time/busy.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tessera::card {

Board::Board() : fd_(memfd_create("card_time", 0)) {
  if (fd_ < 0 || ftruncate(fd_, sizeof(Words)) != 0) {
    std::perror("memory to share");
    _exit(1);
  }
  Map();
}

Board::Board(int fd) : fd_(fd) {
  Map();
}

void Board::Map() {
  void* const at = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) {
    std::perror("memory to share");
    _exit(1);
  }
  words_ = static_cast<Words*>(at);
}

Board::~Board() {
  munmap(words_, sizeof(Words));
  close(fd_);
}

std::vector<Mark> Board::Marks(size_t process) const {
  const Process& of = words_->processes[process];
  return {of.mark, of.mark + of.marks.load(std::memory_order_acquire)};
}

// A mark a millisecond at most. Kernels that take longer than what a window can be wrong by are
// waited for one by one.
void KeepBusy(const Board& board, size_t number, Work work) {
  constexpr uint64_t kApart = 1'000'000;
  Board::Process& process = board->processes[number];
  Gpu gpu;
  process.is_ready = true;
  while (!board->go) usleep(100);
  const int burst = work.ns < 1'000'000 ? 16 : work.ns < 10'000'000 ? 2 : 1;
  uint64_t done = 0;
  uint64_t marked = 0;
  uint32_t marks = 0;
  for (;;) {
    const uint64_t now = Now();
    if (now - marked >= kApart && marks < Board::kMarks) {
      process.mark[marks] = {now, done};
      process.marks.store(++marks, std::memory_order_release);
      marked = now;
    }
    for (int i = 0; i < burst; ++i) gpu.Launch(work);
    gpu.Wait();
    done += static_cast<uint64_t>(burst);
  }
}

void MeasureCard(const Board& board) {
  Gpu gpu;
  board->rounds_per_ns = gpu.RoundsPerNs();
  std::snprintf(board->uuid, sizeof board->uuid, "%s", gpu.Uuid().c_str());
}

BusyProcess::BusyProcess(const Board& board, size_t number, Work work, const std::string& trouble,
                         const std::vector<std::pair<std::string, std::string>>& variables)
    : pid_(fork()) {
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  execl("/proc/self/exe", "card_time", "busy", std::to_string(board.fd()).c_str(),
        std::to_string(number).c_str(), std::to_string(work.ns).c_str(),
        std::to_string(work.rounds).c_str(), trouble.c_str(), nullptr);
  std::perror("exec");
  _exit(1);
}

BusyProcess::~BusyProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool BusyProcess::HasEnded() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

bool LetGo(const Board& board, std::vector<BusyProcess>& processes, double seconds) {
  const uint64_t end = Now() + static_cast<uint64_t>(seconds * 1e9);
  for (size_t i = 0; i < processes.size(); ++i) {
    while (!board->processes[i].is_ready) {
      if (processes[i].HasEnded() || Now() > end) return false;
      usleep(1000);
    }
  }
  board->go = true;
  return true;
}

}  // namespace tessera::card
