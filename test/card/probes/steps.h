// SPDX-License-Identifier: Apache-2.0
// What the memory probe does, as tables. A family's steps run one after the other in a process of
// its own, which has the limiter's library. Each takes memory by the functions it names and gives
// it back; before, in between and behind, what is counted stands beside what NVML says. What then
// was counted is tried once more where the limit leaves no room for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "card/probes/driver.h"

namespace tessera::card {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kTaken = 64 * kMiB;             // what a step is asked to take
inline constexpr uint64_t kLimit = 3072 * kMiB + 12'345;  // no multiple of anything
inline constexpr int kPercent = 30;                       // of the card's time

struct Step {
  const char* functions;             // that it calls: names of limiter/driver/functions.def
  CUresult (*take)(uint64_t bytes);  // the first result that is none of success
  void (*give)();                    // what of it was taken
  const char* what = "";             // where the functions do not say it
  bool is_once = false;              // it is not tried past the limit
};

struct Family {
  const char* name;
  bool has_context;  // the primary one, before the first step
  std::span<const Step> steps;
  bool are_attacks = false;  // each step is a process, and what is counted is a note
  bool is_time = false;      // the card's time is limited, and memory is not
};

std::span<const Family> Families();

std::string NameOf(const Family& family, const Step& step);

// What nobody has any more is counted until somebody needs room: of dead processes, and of pools.
void Settle();

// What a step adds to its row.
void Say(const std::string& text);
void Note(const std::string& text);  // beside it: what no two runs have alike

// The tables, by what is taken.
std::span<const Step> PrimarySteps();
std::span<const Step> LinearSteps();
std::span<const Step> SizeSteps();
std::span<const Step> VirtualSteps();
std::span<const Step> PoolSteps();
std::span<const Step> ArraySteps();
std::span<const Step> ContextSteps();
std::span<const Step> ModuleSteps();
std::span<const Step> LaunchSteps();
std::span<const Step> GraphSteps();
std::span<const Step> HandedSteps();
std::span<const Step> AttackSteps();
std::span<const Step> RaceSteps();
std::span<const Step> TimeAttackSteps();
std::span<const Step> EndAttackSteps();
std::span<const Step> StreamAttackSteps();

// The process with the library: steps of a family from that number on. An exit code.
int RunFamily(const std::string& name, unsigned first);

}  // namespace tessera::card
