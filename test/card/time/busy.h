// SPDX-License-Identifier: Apache-2.0
// Processes that keep the card busy, and what they tell: memory that they and who started them
// share, by a file descriptor that both have.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "card/time/cells.h"
#include "card/time/gpu.h"

namespace tessera::card {

class Board {
 public:
  static constexpr uint32_t kMarks = 8192;
  struct Process {
    std::atomic<bool> is_ready;  // has a context
    std::atomic<uint32_t> marks;
    Mark mark[kMarks];
  };
  struct Words {
    std::atomic<bool> go;
    double rounds_per_ns;
    char uuid[64];
    Process processes[kMostProcesses];
  };

  Board();                 // a new one
  explicit Board(int fd);  // of who started this process
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int fd() const { return fd_; }
  Words* operator->() const { return words_; }
  std::vector<Mark> Marks(size_t process) const;

 private:
  void Map();
  int fd_;
  Words* words_ = nullptr;
};

// Launches kernels until it is killed, once it is let go: the process with this number.
[[noreturn]] void KeepBusy(const Board& board, size_t number, Work work);

// The card as it is without anybody: its rounds in a ns and its name, for the board.
void MeasureCard(const Board& board);

// A process that keeps the card busy, with these variables more. It ends with this object, or with
// who started it.
class BusyProcess {
 public:
  BusyProcess(const Board& board, size_t number, Work work, const std::string& trouble,
              const std::vector<std::pair<std::string, std::string>>& variables);
  ~BusyProcess();
  BusyProcess(BusyProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  BusyProcess& operator=(BusyProcess&&) = delete;

  bool HasEnded();

 private:
  pid_t pid_ = -1;
};

// False: a process ended, or they were not ready in time. Lets them go.
bool LetGo(const Board& board, std::vector<BusyProcess>& processes, double seconds);

}  // namespace tessera::card
