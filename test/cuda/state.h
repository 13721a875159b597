// SPDX-License-Identifier: Apache-2.0
// What all processes of a fake node know together, in a file that each maps: the cards, and of
// every process the memory it has on them and the time it took of them. It is the truth that a
// limiter is measured against. Nothing of the driver is named here: tests read it as well.
//
// A process has a slot from cuInit to its end, and holds a lock on the slot's byte that the kernel
// takes away with the process, however it ends. Each number of memory has one writer, the slot's
// process; so no kill leaves anything half done. Any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/objects.h"

namespace tessera::fake_cuda {

inline constexpr unsigned kMostCards = 64;  // GPUs, and MIG devices, each a card of its own
inline constexpr unsigned kMostProcesses = 1024;
inline constexpr unsigned kQueue = 1024;  // kernels launched and not begun: as the driver's
inline constexpr unsigned kTurns = 1024;

struct Card {
  char uuid[64];  // as the driver writes it; empty: none
  uint64_t bytes;
  std::atomic<uint64_t> turn_length;  // 0: who comes first is served first
  std::atomic<uint64_t> busy_until;   // then; of CLOCK_MONOTONIC, in ns, as all times here
  std::atomic<uint64_t> busy_before;  // ns of it that processes had that are no more
  // Where processes take turns (turns.h). What follows, and how much each was served, is written by
  // whoever holds the lock: its slot and 1.
  std::atomic<uint32_t> lock;
  std::atomic<uint64_t> at;        // so far it is known who ran when
  std::atomic<uint32_t> turn;      // the slot whose it is,
  std::atomic<uint64_t> turn_end;  // until then
};

// One kernel that a process launched: times where the first that comes is served first, and else
// what the process had been given of the card at these points.
struct Run {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> end;
  std::atomic<uint32_t> card;
};

// A time through which a process had a card to itself.
struct Turn {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> end;
  std::atomic<uint64_t> served;  // before it
  std::atomic<uint32_t> card;
};

struct Process {
  std::atomic<int32_t> pid;       // 0: nobody's
  std::atomic<uint64_t> died;     // when somebody saw that it had; 0: nobody did
  std::atomic<uint64_t> kernels;  // launched, on all cards; the last kQueue of them are in runs
  std::atomic<uint32_t> contexts[kMostCards];
  std::atomic<uint64_t> resident[kMostCards];  // bytes
  std::atomic<uint64_t> busy[kMostCards];      // ns of all kernels launched
  std::atomic<uint64_t> served[kMostCards];    // of these, where processes take turns
  Run runs[kQueue];
  std::atomic<uint64_t> turns;
  Turn last_turns[kTurns];
};

struct Shared {
  std::atomic<uint64_t> magic;
  std::atomic<uint32_t> high;  // slots that were ever used
  Card cards[kMostCards];
  Process processes[kMostProcesses];
  Object objects[kMostObjects];
};
static_assert(kMostHolders == kMostProcesses);

uint64_t Now();  // CLOCK_MONOTONIC, in ns

class State {
 public:
  // Makes the file where there is none. Null, with errno: it cannot be had. `late`: for so many ns
  // a killed process still has its memory.
  static std::unique_ptr<State> Open(const std::string& directory, uint64_t late);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A slot for this process, which lasts as long as it does. False: all are taken.
  bool Join();
  void Leave();  // all it has is given back at once
  // The number of the card of this name, which is made where there is none; kMostCards: no room.
  unsigned CardOf(const std::string& uuid, uint64_t bytes);
  // Likewise; kMostCards: there is none.
  unsigned Find(const std::string& uuid) const;

  // Memory of a card, for this process. False: the card has less.
  bool Take(unsigned card, uint64_t bytes);
  void Give(unsigned card, uint64_t bytes);
  uint64_t Used(unsigned card);  // by all processes

  // What was exported, which is not among what a process took.
  Objects& objects() { return *objects_; }
  // Memory that this process took is an object from now on, that it has once.
  ObjectName Export(unsigned card, uint64_t bytes);

  // What a process has and did; pid 0: all of them.
  uint64_t Resident(pid_t pid, unsigned card);
  // Time its kernels took of the card until now; of all: with those of processes that have ended.
  uint64_t Busy(pid_t pid, unsigned card);
  uint64_t Kernels(pid_t pid);

  // Whether the process of a slot is there.
  bool IsAlive(unsigned slot) const;
  void Reap();  // gives back what the dead had, if none looked in the last ms

  Process& own() { return *own_; }
  // kMostProcesses: it has none, and only looks.
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
  std::atomic<uint64_t> reaped_ = 0;  // when, the last time
};

}  // namespace tessera::fake_cuda
