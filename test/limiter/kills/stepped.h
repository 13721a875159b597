// SPDX-License-Identifier: Apache-2.0
// A process that is stepped through what it does inside libvgpu.so, to be killed wherever one
// likes. x86-64. One thread, which alone may use it.
#pragma once

#include <sys/types.h>

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

// All that a process did inside the library, one address after the other.
struct Path {
  std::vector<uint64_t> addresses;  // from where the library begins
  std::vector<int> before;          // how often it came to each before that
  size_t first = 0;                 // from here on it is the program that it executed
};

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
  // To some instruction of a path, by as few stops as can be. False: it is somewhere else, for it
  // went another way this time.
  bool GoTo(const Path& path, size_t at);
  // With SIGKILL, and returns when it is gone.
  void Kill();

 private:
  void FollowChild();
  void JumpTo(const Path& path, size_t at);
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
  bool has_executed_ = false;  // and is not in its main() yet
  int often_ = 0;
  std::unordered_map<uint64_t, int> calls_;
};

}  // namespace tessera::limiter
