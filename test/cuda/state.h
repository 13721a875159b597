// SPDX-License-Identifier: Apache-2.0
// The state that all processes of a fake node share, in a file that each maps. It has the cards,
// and each process's memory and time on them. Tests measure the limiter against it. It uses no
// other part of the driver, because tests read it too.
//
// A process has a slot from cuInit to its end. It holds a lock on the slot's byte, which the kernel
// drops when the process ends, even by a kill. Only the slot's process writes its memory counts. So
// a kill leaves no count half written. Times are ns of CLOCK_MONOTONIC. Any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/objects.h"

namespace tessera::fake_cuda {

inline constexpr unsigned kMostCards = 64;  // a MIG device is a card of its own
inline constexpr unsigned kMostProcesses = 1024;
inline constexpr unsigned kQueue = 1024;  // kernels that wait to begin, as the driver allows
inline constexpr unsigned kTurns = 1024;

struct Card {
  char uuid[64];  // as the driver writes it; empty: none
  uint64_t bytes;
  std::atomic<uint64_t> turn_length;  // ns; 0: first come, first served
  std::atomic<uint64_t> busy_until;   // the end of the last kernel, if first come, first served
  std::atomic<uint64_t> busy_before;  // ns that ended processes had
  // With time slices (turns.h). The lock's holder (its slot plus 1; 0: free) writes the members
  // below and each process's `served`.
  std::atomic<uint32_t> lock;
  std::atomic<uint64_t> at;        // the time up to which the time slices are computed
  std::atomic<uint32_t> turn;      // the slot that has the card
  std::atomic<uint64_t> turn_end;  // the end of its time slice
};

// One kernel of a process. First come, first served: times. With time slices: the process's ns of
// the card before and after it.
struct Run {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> end;
  std::atomic<uint32_t> card;
};

// A time in which a process had a card to itself.
struct Turn {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> end;
  std::atomic<uint64_t> served;  // ns that the process had before it
  std::atomic<uint32_t> card;
};

struct Process {
  std::atomic<int32_t> pid;       // 0: the slot is free
  std::atomic<uint64_t> died;     // when its death was first seen; 0: not yet
  std::atomic<uint64_t> kernels;  // launched on all cards
  std::atomic<uint32_t> contexts[kMostCards];
  std::atomic<uint64_t> resident[kMostCards];  // bytes, without exported memory
  std::atomic<uint64_t> busy[kMostCards];      // ns of all kernels launched
  std::atomic<uint64_t> served[kMostCards];    // ns of them that have run; only with time slices
  Run runs[kQueue];                            // of the last kQueue kernels
  std::atomic<uint64_t> turns;                 // all time slices so far
  Turn last_turns[kTurns];                     // the last kTurns of them
};

struct Shared {
  std::atomic<uint64_t> magic;
  std::atomic<uint32_t> high;  // the number of slots that were ever used
  Card cards[kMostCards];
  Process processes[kMostProcesses];
  Object objects[kMostObjects];
};
static_assert(kMostHolders == kMostProcesses);

uint64_t Now();  // CLOCK_MONOTONIC, in ns

// The shared state, mapped by one process. The driver, or a test, owns it.
class State {
 public:
  // Maps the file; makes it if there is none. Null, with errno, on failure. `late`: ns for which a
  // killed process's memory stays taken.
  static std::unique_ptr<State> Open(const std::string& directory, uint64_t late);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Takes a slot for this process, until its end. False: all are taken.
  bool Join();
  void Leave();  // gives all of this process's memory back
  // The card's number; makes the card if there is none. kMostCards: no room.
  unsigned CardOf(const std::string& uuid, uint64_t bytes);
  // The card's number. kMostCards: there is none.
  unsigned Find(const std::string& uuid) const;

  // Takes memory of a card for this process. False: the card has less.
  bool Take(unsigned card, uint64_t bytes);
  void Give(unsigned card, uint64_t bytes);
  uint64_t Used(unsigned card);  // by all processes

  // Exported memory. It is not counted in Process::resident.
  Objects& objects() { return *objects_; }
  // Turns memory of this process into an object that it holds once. None: too many objects.
  ObjectName Export(unsigned card, uint64_t bytes);

  // Bytes of the card that a process holds; pid 0: all processes.
  uint64_t Resident(pid_t pid, unsigned card);
  // ns of the card that a process's kernels have had until now; pid 0: all, ended processes too.
  uint64_t Busy(pid_t pid, unsigned card);
  // Kernels that a process launched; pid 0: all living processes.
  uint64_t Kernels(pid_t pid);

  // True if the slot's process lives.
  bool IsAlive(unsigned slot) const;
  // Gives back dead processes' memory. Does nothing if this process did so in the last ms.
  void Reap();

  Process& own() { return *own_; }
  // kMostProcesses: this process has no slot, and only reads.
  unsigned own_slot() const {
    return own_ == nullptr ? kMostProcesses : static_cast<unsigned>(own_ - shared_->processes);
  }
  Shared& shared() { return *shared_; }
  Card& card(unsigned number) { return shared_->cards[number]; }
  uint64_t bytes(unsigned number) const { return shared_->cards[number].bytes; }

 private:
  State(std::string directory, uint64_t late);
  bool Map();
  void End(Process& process);
  uint64_t Sum(unsigned card) const;

  const std::string directory_;
  const std::string path_;
  const uint64_t late_;
  Shared* shared_ = nullptr;
  Process* own_ = nullptr;
  std::unique_ptr<Objects> objects_;
  std::atomic<uint64_t> reaped_ = 0;  // the time of the last Reap
};

}  // namespace tessera::fake_cuda
