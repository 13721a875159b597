// SPDX-License-Identifier: Apache-2.0
// A child process that is stepped through libvgpu.so by ptrace, to be killed at any instruction of
// it. x86-64. Only the thread that made it may use it.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tessera::limiter {

// Where an object's code lies in a process.
struct Code {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool Has(uint64_t address) const { return address >= begin && address < end; }
};

// The program that a process is in.
enum class Stage : uint8_t {
  kBegun,     // the program that it began with
  kExec,      // an exec has replaced it, and no instruction ran yet
  kExecuted,  // the executed program, from its first line on
};

// A point that a process reaches: an instruction, or one of two points without an address. These
// are an exec, and the first line of the executed program.
struct Place {
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t address;  // offset into the library; kNone: not an instruction
  Stage stage;
  auto operator<=>(const Place&) const = default;
};

// All places inside the library that a process reached, in order.
using Path = std::vector<Place>;

class Stepped {
 public:
  enum class Way : uint8_t {
    kCalls,       // the library's instructions, where the program calls it
    kChildCalls,  // the same in a child that the program forks
    kLibrary,     // the library's instructions, also where other code calls it
    kAll,         // every instruction
  };

  // A child that has run `prepare` and is stopped before `run`.
  Stepped(void (*prepare)(), void (*run)(), Way way);
  ~Stepped();
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  // Steps to the end. From the `often`-th call on, a function of the library is passed over; 0:
  // never.
  Path Follow(int often);
  // GoTo runs to the `times`-th visit of `place` with as few stops as possible. StepTo goes there
  // by single steps, at most `most` of them. False: the process did not get there, since its path
  // differed.
  bool GoTo(const Place& place, int times);
  bool StepTo(const Place& place, int times, size_t most = SIZE_MAX);
  // Runs to the end of `run`, or to an exec.
  void Run() { Go(PTRACE_CONT); }
  bool is_gone() const { return is_gone_; }
  // Sends SIGKILL and waits until the process is gone.
  void Kill();

 private:
  void FollowChild();
  bool GoOnTo(Stage stage);
  Place Now() const;
  bool Step();
  bool Go(int request);
  bool RunTo(uint64_t address, int times = 1);
  bool Passes(uint64_t before, uint8_t code) const;
  bool IsOften(uint64_t function);
  uint8_t CodeAt(uint64_t address) const;

  const Way way_;
  pid_t pid_ = 0;
  pid_t parent_ = 0;  // of the followed child; 0: the tester is its parent
  Code library_;
  Code program_;
  uint64_t at_ = 0;
  bool is_gone_ = false;
  Stage stage_ = Stage::kBegun;
  int often_ = 0;
  std::unordered_map<uint64_t, int> calls_;
};

}  // namespace tessera::limiter
