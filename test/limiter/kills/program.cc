// SPDX-License-Identifier: Apache-2.0
// Kills processes of a container with SIGKILL inside libvgpu.so, which it is preloaded with. After
// each kill a survivor makes a call and compares three counts: the container's, its slots' and the
// device's. Prints each finding that is not exact; without one it prints "all exact".
//
// Usage: `limit_kills OPERATION SECONDS` or `limit_kills storm ROUNDS`.
//
// SECONDS: kills at instructions spread over the operation, others in each run, and at least once.
// 0: kills at every instruction (aims.h), or fails. `storm` kills one of eight processes in each
// round, at random.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/limiter/kills/aims.h"
#include "test/limiter/kills/operations.h"
#include "test/limiter/kills/storm.h"
#include "test/limiter/kills/survivor.h"

namespace tessera::limiter {
namespace {

// In a short run, a function that one operation has called this often is not stepped through again.
constexpr int kOften = 8;

// How often an operation is followed at most, and how often in a row without a new instruction.
constexpr int kFollowed = 20;
constexpr int kSame = 3;

// How often an aim is tried that processes miss. A later visit is tried kTriesOfLater times. A
// first visit is jumped to, as sampling differs each time; every second time the process is held
// before it. The last tries step to it.
constexpr int kTriesOfLater = 3;
constexpr int kJumps = 24;
constexpr int kTries = kJumps + 40;

// Longer than the library leaves between two looks for the dead.
constexpr useconds_t kHeld = 110'000;

constexpr int kMostWrong = 10;

// Kills between two lines of progress.
constexpr int64_t kSaidEvery = 1'000;

bool IsExact(const Found& found) {
  return found.lost == 0 && found.result == 0 && found.waits == 0 && found.lent == 0 &&
         found.flights == 0 && found.strangers == 0 && found.total == kLimit &&
         found.shares == kLimit && found.resident == kLimit;
}

struct Kills {
  int64_t all = 0;
  int64_t elsewhere = 0;  // the process took another path than the followed one
  int wrong = 0;
};

class Killer {
 public:
  Killer(const Operation& operation, bool is_thorough) : operation_(operation) {
    Bury();
    Follow(is_thorough ? 0 : kOften, is_thorough ? kFollowed : 1);
  }

  // Kills at aims spread over all of them, others in each run, and at least once.
  void KillFor(int seconds);
  // Kills at every aim, and up to kTries times at those that were missed.
  void KillAtAll();
  // True: all findings were exact, and an aim was hit; if thorough, every instruction was.
  bool Report(bool is_thorough);

 private:
  void Follow(int often, int most);
  // Gives back what the dead held. When it returns, the survivor has started.
  void Bury() const { survivor_.Ask(Calls::kOne, kLimit - kOwn - kFirst - operation_.others); }
  void Prepare(bool has_dead) const;
  bool Go(int round, size_t at, Stepped* process) const;
  void Kill(int round, size_t at);
  void KillRound(int round);
  bool is_bad() const { return kills_.wrong >= kMostWrong; }

  const Operation& operation_;
  Survivor survivor_;
  Aims aims_;
  Kills kills_;
};

// A process's first steps depend on the former ones: none, or a dead one that is not cleared yet.
void Killer::Prepare(bool has_dead) const {
  ForgetTheDead();
  if (has_dead) Stepped(operation_.prepare, operation_.run, operation_.way).Run();
}

// Follows the operation until kSame paths in a row reached no new instruction.
void Killer::Follow(int often, int most) {
  int same = 0;
  for (int i = 0; i < most && same < kSame; ++i) {
    Prepare(i % 2 == 1);
    Path path = Stepped(operation_.prepare, operation_.run, operation_.way).Follow(often);
    same = aims_.Add(std::move(path)) ? 0 : same + 1;
    Bury();
  }
}

// A process at full speed misses the instructions that run only after some time. So every second
// round holds the process before the aim, each time twice as many steps before it. From there it is
// stepped, as slowly as the followed process was.
bool Killer::Go(int round, size_t at, Stepped* process) const {
  const Aim& aim = aims_.all()[at];
  if (aim.is_first() && round >= kJumps) return process->StepTo(aim.place, 1);
  if (aim.is_first() && round % 2 == 1) {
    const size_t steps = size_t{1} << round / 2;
    const Aim before = aims_.Before(aim, steps);
    if (!process->GoTo(before.place, before.times)) return false;
    usleep(kHeld);
    if (before.step == aim.step || process->StepTo(aim.place, 1, 2 * steps)) return true;
    if (process->is_gone()) return false;
  }
  return process->GoTo(aim.place, aim.times);
}

// The survivor must get all memory that the killed process held.
void Killer::Kill(int round, size_t at) {
  Aim* const aim = &aims_.all()[at];
  Prepare(round / 2 % 2 == 1);
  Stepped process(operation_.prepare, operation_.run, operation_.way);
  const bool is_there = Go(round, at, &process);
  process.Kill();
  if (is_there) aim->is_hit = true;
  if (!is_there) ++kills_.elsewhere;
  const Calls calls = kills_.all++ % 2 == 0 ? Calls::kOne : Calls::kTwo;
  const Found found = survivor_.Ask(calls, kLimit - kOwn - kFirst - operation_.others);
  if (IsExact(found)) return;
  ++kills_.wrong;
  printf("killed %s %#lx, coming %d: %s\n", is_there ? "at" : "on the way to", aim->place.address,
         aim->times, Text(found).c_str());
}

// Multiples of the golden ratio, modulo 1, are spread evenly however many there are.
size_t Spread(int64_t i, double offset, size_t length) {
  const double part = std::fmod(offset + static_cast<double>(i) * 0.6180339887498949, 1);
  return static_cast<size_t>(part * static_cast<double>(length));
}

void Killer::KillFor(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::random_device random;
  const double offset = std::uniform_real_distribution(0.0, 1.0)(random);
  const std::vector<Aim>& aims = aims_.all();
  if (aims.empty()) return;
  do {
    Kill(0, Spread(kills_.all, offset, aims.size()));
  } while (!is_bad() && std::chrono::steady_clock::now() < end);
}

void Killer::KillRound(int round) {
  for (size_t at = 0; at < aims_.all().size() && !is_bad(); ++at) {
    const Aim& aim = aims_.all()[at];
    if (aim.is_hit || (round >= kTriesOfLater && !aim.is_first())) continue;
    Kill(round, at);
    if (kills_.all % kSaidEvery == 0) {
      fprintf(stderr, "%ld kills, %zu hits of %zu\n", kills_.all, aims_.Hits(), aims_.all().size());
    }
  }
}

void Killer::KillAtAll() {
  for (int round = 0; round < kTries && !is_bad(); ++round) {
    KillRound(round);
    const size_t missed = aims_.Missed().size();
    fprintf(stderr, "%zu of %zu instructions missed %d times\n", missed, aims_.places(), round + 1);
    if (missed == 0 && round >= kTriesOfLater) return;
  }
}

bool Killer::Report(bool is_thorough) {
  const std::vector<Place> missed = aims_.Missed();
  const size_t hits = aims_.Hits();
  fprintf(stderr,
          "%ld kills: at %zu of %zu instructions, in a path of %zu steps; at %zu of %zu of their "
          "comings; %ld went another way\n",
          kills_.all, aims_.places() - missed.size(), aims_.places(), aims_.steps(), hits,
          aims_.all().size(), kills_.elsewhere);
  if (hits == 0) printf("nobody was killed where it was meant\n");
  if (!is_thorough || is_bad()) return hits != 0 && kills_.wrong == 0;
  for (const Place& place : missed) printf("nobody was killed at %#lx\n", place.address);
  return hits != 0 && kills_.wrong == 0 && missed.empty();
}

bool KillWithin(const Operation& operation, int seconds) {
  const bool is_thorough = seconds == 0;
  Killer killer(operation, is_thorough);
  is_thorough ? killer.KillAtAll() : killer.KillFor(seconds);
  return killer.Report(is_thorough);
}

bool Run(const std::string& word, int number) {
  if (word == "storm") return RunStorm(number) == 0;
  for (const Operation& operation : Operations()) {
    if (operation.name == word) return KillWithin(operation, number);
  }
  fprintf(stderr, "there is no operation %s\n", word.c_str());
  return false;
}

}  // namespace
}  // namespace tessera::limiter

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], tessera::limiter::kExecuted) == 0) {
    tessera::limiter::RunExecuted();
    return 0;
  }
  if (count != 3) return 1;
  const bool is_exact = tessera::limiter::Run(words[1], atoi(words[2]));
  if (is_exact) printf("all exact\n");
  return is_exact ? 0 : 1;
}
