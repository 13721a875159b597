// SPDX-License-Identifier: Apache-2.0
// A process that is stepped through what it does inside libvgpu.so, to be killed wherever one
// likes. x86-64. One thread, which alone may use it.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tessera::limiter {

// Where the code of an object is in a process.
struct Code {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool Has(uint64_t address) const { return address >= begin && address < end; }
};

// What of its program a process is in.
enum class Stage : uint8_t {
  kBegun,     // the one that it began with
  kExec,      // none: it has just executed another one
  kExecuted,  // that one, from its first line on
};

// Where it comes to: an instruction, or what has none: an exec, and the first line of what was
// executed.
struct Place {
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t address;  // from where the library begins
  Stage stage;
  auto operator<=>(const Place&) const = default;
};

// All that a process did inside the library, one after the other.
using Path = std::vector<Place>;

class Stepped {
 public:
  enum class Way : uint8_t {
    kCalls,       // the instructions of the library, where the program calls it
    kChildCalls,  // of the one that it forks
    kLibrary,     // and where others do
    kAll,         // every instruction
  };

  // A child that has prepared, and is stopped before it runs.
  Stepped(void (*prepare)(), void (*run)(), Way way);
  ~Stepped();
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  // All of it. What the library calls over and over is passed over from the time `often` on.
  Path Follow(int often);
  // To where it comes there for the `times`-th time, by as few stops as can be; or step by step,
  // which takes as long as it took to follow, and no more steps than `most`. False: it went another
  // way this time, and has ended or gone all of these.
  bool GoTo(const Place& place, int times);
  bool StepTo(const Place& place, int times, size_t most = SIZE_MAX);
  // To its end, or an exec.
  void Run() { Go(PTRACE_CONT); }
  bool is_gone() const { return is_gone_; }
  // With SIGKILL, and returns when it is gone.
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
  pid_t parent_ = 0;  // of the one that is followed; 0: the tester is
  Code library_;
  Code program_;
  uint64_t at_ = 0;
  bool is_gone_ = false;
  Stage stage_ = Stage::kBegun;
  int often_ = 0;
  std::unordered_map<uint64_t, int> calls_;
};

}  // namespace tessera::limiter
