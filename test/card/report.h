// SPDX-License-Identifier: Apache-2.0
// What came of a run on a card: the rows of all its parts (card/row.h), put together. A line that
// is no row, as of a process that was killed while it wrote, is counted and costs no other.
//
// The runner adds one row a part, {"part":"memory","kind":"part","name":"memory","value":"ended",
// "seconds":12.5}, and what it says of the machine, as part "run". Plain data; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::card {

inline constexpr size_t kMostBytes = 8'000'000;  // of a file that leaves the machine

struct Row {
  std::string kind;  // "fact", "figure", "trouble", "part"
  std::string part;
  std::string name;
  std::string value;            // of a part: how it ended
  std::string unit{};           // of a figure
  std::vector<double> samples;  // of a figure; of a part the seconds that it took
  std::string note{};
  bool operator==(const Row&) const = default;
};

struct Report {
  std::string date;
  std::vector<Row> rows;  // as they came; the samples of one figure in one row
  size_t unread = 0;      // lines that are no rows
};

// `lines` as the parts have written them.
Report ReadRows(std::string_view lines, std::string date);
// What Json made of a report, but for samples that it has left out.
Report ReadJson(std::string_view text);

// Of a figure; 0 where there is no sample. `share`: 0.5 is the median.
double Percentile(std::vector<double> samples, double share);

// Both are kMostBytes at most: of the samples every so manieth is kept then.
std::string Json(const Report& report);
std::string Markdown(const Report& report);

// Tables of what differs between two reports, facts by their text and figures by their medians, and
// of what only one has. What the runner says of the machine is left out.
std::string Compare(const Report& a, const Report& b);

}  // namespace tessera::card
