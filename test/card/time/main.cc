// SPDX-License-Identifier: Apache-2.0
// How compute time is shared on a real card, in rows.
//
// usage: card_time SECONDS    the card's slices, and then cells, as many as fit; or those alone
//                             that CARD_CELLS has: "default", "all", "rest" or names
//                             (card/time/cells.h)
//
// The cells that do not fit are a row, and no trouble: nothing failed. The environment is that of a
// part (test/card/parts/common).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "card/apart.h"
#include "card/row.h"
#include "card/time/busy.h"
#include "card/time/measure.h"
#include "card/time/slices.h"

namespace {

using namespace tessera::card;  // NOLINT(google-build-using-namespace)
using tessera::limiter::Mean;
using tessera::limiter::Score;
using tessera::limiter::ScoreOf;
using tessera::limiter::Windows;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr ? value : "";
}

// What cells without the library came to, by their names.
using Without = std::map<std::string, Windows>;

std::string Scored(const Cell& cell, size_t place, const Windows& got, const Without& without) {
  const Container& container = cell.containers[place];
  const auto found = without.find(LoadWithout(container, cell.us));
  if (container.percent == 0 || found == without.end()) return "";
  const Score score = ScoreOf(got, container.percent, found->second);
  char text[100];
  std::snprintf(text, sizeof text,
                "%.1f of %.1f, mean error %.1f points, off %+.1f %% of the limit", score.mean,
                score.target, score.error, score.off);
  return text;
}

void Tell(const Cell& cell, const std::vector<Windows>& shares, Without* without) {
  const bool is_without = cell.containers[0].percent == 0;
  if (is_without && shares.size() == 1) (*without)[cell.name] = shares[0];
  for (size_t i = 0; i < shares.size(); ++i) {
    const std::string which = shares.size() > 1 ? ", container " + std::to_string(i + 1) : "";
    Figure(cell.name + which, "%", shares[i], Scored(cell, i, shares[i], *without));
  }
  if (shares.size() == 2) {
    Figure(cell.name + ", ratio", "times", {Mean(shares[0]) / std::max(Mean(shares[1]), 0.001)});
  }
}

void RunCells(const std::vector<Cell>& cells, const Measured& measured, uint64_t end) {
  Fact("cells", "LIMITxPROCESSES[:LIMIT][+agent]@US of a kernel; limit 0: without the library");
  Without without;
  std::string left_out;
  double longest = kCellSeconds + 1;
  for (const Cell& cell : cells) {
    const uint64_t begun = Now();
    if (begun + static_cast<uint64_t>(longest * 1e9) > end) {
      left_out += " " + cell.name;
      continue;
    }
    Tell(cell, MeasureOnCard(cell, measured), &without);
    longest = std::max(longest, static_cast<double>(Now() - begun) / 1e9);
  }
  if (!left_out.empty()) Fact("cells without time", left_out.substr(1));
}

int Run(double seconds) {
  const uint64_t end = Now() + static_cast<uint64_t>(seconds * 1e9);
  Measured measured;
  measured.library = Variable("CARD_HOME") + "/bin/libvgpu.so";
  measured.directory = Variable("CARD_SCRATCH");
  if (access(measured.library.c_str(), R_OK) != 0) {
    Trouble("the library", "there is no " + measured.library);
    return 1;
  }
  std::vector<std::string> unknown;
  const std::vector<Cell> cells = Choose(Variable("CARD_CELLS"), &unknown);
  for (const std::string& word : unknown) Trouble(word, "no cell is called so");
  {
    const Board board;
    const bool is_measured = RunApart("the card alone", 15, [&] {
      NameTrouble("the card alone");
      MeasureCard(board);
    });
    if (!is_measured) return 1;
    measured.rounds_per_ns = board->rounds_per_ns;
    measured.uuid = board->uuid;
  }
  if (Variable("CARD_CELLS").empty()) AskForSlices(measured.rounds_per_ns);
  RunCells(cells, measured, end);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 7 && std::string(words[1]) == "busy") {
    const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
    NameTrouble(words[6]);
    const Board board(static_cast<int>(number(2)));
    KeepBusy(board, number(3), {number(4), number(5)});
  }
  if (count != 2 || std::atof(words[1]) <= 0) {
    std::fputs("usage: card_time SECONDS\n", stderr);
    return 2;
  }
  return Run(std::atof(words[1]));
}
