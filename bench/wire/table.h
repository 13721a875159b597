// SPDX-License-Identifier: Apache-2.0
// The table that the benchmarks of the wire print. One thread.
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

// `one` for tessera and for the bare server, alternating in small groups.
Samples InTurns(int groups, int group, const std::function<double(Subject::Kind)>& one);

void Head(const std::string& what);
void Row(const std::string& what, const Samples& samples);
// One caller asks for one id after the other. Both have started, and serve the same.
void RowOfAllocate(const std::string& what, Subject& tessera, Subject& bare);
// A figure that is not made of samples, and what stands beside it.
void Line(const std::string& what, double value, double base, const std::string& unit,
          const std::string& beside = "bare");

// Runs the parts that the arguments name, or all.
struct Part {
  std::string_view name;
  std::function<void()> run;
};
int RunParts(int argc, char** argv, const std::vector<Part>& parts);

}  // namespace tessera::bench
