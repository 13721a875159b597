// SPDX-License-Identifier: Apache-2.0
// Which cells the card's time is measured in, and what came of one. A cell is containers whose
// processes launch kernels of one length as fast as they are let; its name says all of it:
//
//   30x4@2000            one container of 30 %, four processes, kernels of 2000 us
//   0x1@200              without the library
//   30:60+agent@50000    two containers, with the agent's part
//
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shares/score.h"

namespace tessera::card {

struct Container {
  int percent = 0;  // 0: without the library
  int processes = 1;
};

struct Cell {
  std::string name;
  std::vector<Container> containers;
  bool agent = false;
  uint64_t us = 0;
};

constexpr size_t kMostProcesses = 8;  // of a cell

// None: no cell is called so.
std::optional<Cell> CellNamed(std::string_view name);

// In the order of their worth; those that they are compared with come before them. `words`: "" is
// the default, at most 40; "all"; "rest" is all but the default; else names. What is no name comes
// back in `unknown`.
std::vector<Cell> Choose(const std::string& words, std::vector<std::string>* unknown);

// The name of what a container is compared with: its processes without the library.
std::string LoadWithout(const Container& container, uint64_t us);

// A process had done so many kernels at this time, ns. In order.
struct Mark {
  uint64_t at;
  uint64_t done;
};

// By a line through the marks; what comes after the last one is not known, and counts as nothing.
double DoneAt(const std::vector<Mark>& marks, uint64_t at);

// Percent of the card's time that a container's processes had in each window.
limiter::Windows SharesOf(const std::vector<std::vector<Mark>>& processes, uint64_t kernel_ns,
                          uint64_t from, uint64_t window_ns, int windows);

}  // namespace tessera::card
