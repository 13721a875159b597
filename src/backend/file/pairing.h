// SPDX-License-Identifier: Apache-2.0
// Which matches of two paths with wildcards belong together. Pure; plain data; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/file/group.h"

namespace tessera::file {

// One path's pattern and its matches, in natural order.
struct Side {
  const std::string& pattern;
  const std::vector<Match>& matches;
};

struct NameRule {
  bool by_text = true;   // the `*` of both stands for the same text, where each has only that
  bool required = true;  // the files of `b` are not optional
};

// For each match of `a` the one of `b` that belongs to it:
//
// - where links lead from one to the other, or from both to one file;
// - else, where a file of each is a node of the same hardware: within each piece of hardware by
//   text, or else the n-th with the n-th, as card1 and renderD129 of one GPU;
// - else by text: /dev/ttyUSB* and /dev/ttyUSB*_ctl give ttyUSB0 with ttyUSB0_ctl, whatever else is
//   plugged;
// - else, where both are required and there are as many of one as of the other, the n-th with the
//   n-th; not where the patterns begin with the same text, which are to have the same `*`.
std::vector<std::optional<size_t>> PairUp(const Side& a, const Side& b, const NameRule& rule);

}  // namespace tessera::file
