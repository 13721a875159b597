// SPDX-License-Identifier: Apache-2.0
// The table of the wire benchmarks. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/wire/peer.h"

namespace tessera::bench {

struct Samples {
  std::vector<double> tessera;
  std::vector<double> bare;  // empty: a bare server cannot do this
};

// Runs `one` for tessera and for the bare server, in alternating small groups.
Samples InTurns(int groups, int group, const std::function<double(Subject::Kind)>& one);

void Head(const std::string& what);
void Row(const std::string& what, const Samples& samples);
// One caller asks for one id after the other. Both programs must have started, with the same
// devices.
void RowOfAllocate(const std::string& what, Subject& tessera, Subject& bare);
// Prints a figure that has no samples, with its base.
void Line(const std::string& what, double value, double base, const std::string& unit,
          const std::string& beside = "bare");

// One part of a benchmark. The arguments choose parts by name; without any, all run.
struct Part {
  std::string_view name;
  std::function<void()> run;
};
int RunParts(int argc, char** argv, const std::vector<Part>& parts);

}  // namespace tessera::bench
