// SPDX-License-Identifier: Apache-2.0
// A container whose processes are killed with SIGKILL in the midst of what they do, in the library
// that it was preloaded with; after each kill one that lives on makes a call, and what it finds is
// compared: what the container counts, what its processes are said to have, and what the device
// gave. Prints what is not as it has to be, and at last
//
//   "all exact"
//
// usage: limit_kills OPERATION SECONDS  at as many instructions of it as there is time for, spread
//                                       over all of them and others each time; 0: at every one
//        limit_kills storm ROUNDS       at random, one of eight processes each round
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "test/limiter/kills/operations.h"
#include "test/limiter/kills/storm.h"
#include "test/limiter/kills/survivor.h"

namespace tessera::limiter {
namespace {

// What is called so often in one operation is not stepped through again, if there is little time.
constexpr int kOften = 8;

// Every one takes long.
constexpr int64_t kSaidEvery = 1'000;

bool IsExact(const Found& found) {
  return found.lost == 0 && found.result == 0 && found.waits == 0 && found.lent == 0 &&
         found.flights == 0 && found.strangers == 0 && found.total == kLimit &&
         found.shares == kLimit && found.resident == kLimit;
}

struct Kills {
  int64_t all = 0;
  int64_t elsewhere = 0;  // where a process went another way than the one that was followed
  int wrong = 0;
};

// All that the dead had is there for the survivor.
void KillAt(const Operation& operation, const Path& path, size_t at, const Survivor& survivor,
            Kills* kills) {
  Stepped process(operation.prepare, operation.run, operation.way);
  if (!process.GoTo(path, at)) ++kills->elsewhere;
  process.Kill();
  ++kills->all;
  const Found found = survivor.Ask(kLimit - kOwn - kFirst - operation.others);
  if (IsExact(found)) return;
  ++kills->wrong;
  printf("killed at %#lx, instruction %zu of %zu: %s\n", path.addresses[at], at,
         path.addresses.size(), Text(found).c_str());
}

// Steps of the golden ratio come near every instruction, however few there are.
size_t Spread(int64_t i, double offset, size_t length) {
  const double part = std::fmod(offset + static_cast<double>(i) * 0.6180339887498949, 1);
  return static_cast<size_t>(part * static_cast<double>(length));
}

int KillWithin(const Operation& operation, int seconds) {
  const Survivor survivor;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const Path path =
      Stepped(operation.prepare, operation.run, operation.way).Follow(seconds == 0 ? 0 : kOften);
  const size_t length = path.addresses.size();
  std::random_device random;
  const double offset = std::uniform_real_distribution(0.0, 1.0)(random);
  Kills kills;
  const auto is_done = [&] {
    return seconds == 0 ? kills.all == static_cast<int64_t>(length)
                        : std::chrono::steady_clock::now() > end;
  };
  while (!is_done() && kills.wrong < 10) {
    if (seconds == 0 && kills.all % kSaidEvery == 0) {
      fprintf(stderr, "%ld of %zu instructions\n", kills.all, length);
    }
    const size_t at =
        seconds == 0 ? static_cast<size_t>(kills.all) : Spread(kills.all, offset, length);
    KillAt(operation, path, at, survivor, &kills);
  }
  fprintf(stderr, "%ld kills in %zu instructions, %ld of them elsewhere\n", kills.all, length,
          kills.elsewhere);
  return kills.wrong;
}

int Run(const std::string& word, int number) {
  if (word == "storm") return RunStorm(number);
  for (const Operation& operation : Operations()) {
    if (operation.name == word) return KillWithin(operation, number);
  }
  fprintf(stderr, "there is no operation %s\n", word.c_str());
  return 1;
}

}  // namespace
}  // namespace tessera::limiter

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], tessera::limiter::kExecuted) == 0) {
    tessera::limiter::RunExecuted();
    return 0;
  }
  if (count != 3) return 1;
  const int wrong = tessera::limiter::Run(words[1], atoi(words[2]));
  if (wrong == 0) printf("all exact\n");
  return wrong == 0 ? 0 : 1;
}
