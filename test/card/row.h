// SPDX-License-Identifier: Apache-2.0
// A finding of a probe is a row: a line of the file that CARD_ROWS names, or of standard output.
//
//   {"part":"memory","kind":"fact","name":"context of one
//   process","value":"544210944","note":"bytes"}
//   {"part":"costs","kind":"figure","name":"alloc and free, with the
//   library","unit":"us","samples":[2.1,2.0]}
//   {"part":"time","kind":"trouble","name":"50 ms, 4 processes","value":"cuInit: 3"}
//
// A fact is compared as text, a figure by its median. Trouble is a row that has no answer:
// something failed, hung or is not supported. CARD_PART names the part. A line is one write:
// processes may write at once. Needs glibc and the compiler's static library alone; one thread at a
// time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::card {

void Fact(std::string_view name, std::string_view value, std::string_view note = {});
void Figure(std::string_view name, std::string_view unit, const std::vector<double>& samples,
            std::string_view note = {});
void Trouble(std::string_view name, std::string_view what);

}  // namespace tessera::card
