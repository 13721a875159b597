// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/ansi.h"

#include <fmt/core.h>

#include <array>

#include "sim/demo/tiles.h"

namespace tessera::demo {
namespace {

// Numbers of the 256-colour table; -1: the terminal's own.
struct Paint {
  int text = -1;
  int ground = -1;
  bool bold = false;
};

constexpr int kFlashText = 16;
constexpr int kFlashGround = 230;
// Grounds for held tiles: blues, greens and violets, all dark enough for white text.
constexpr std::array<int, kHues> kHeldGrounds = {25, 29, 61, 31, 66, 97, 24, 64};

Paint PaintOf(const Ink& ink) {
  if (ink.flash) return {kFlashText, kFlashGround, true};
  switch (ink.style) {
    case Style::kPlain:
      return {};
    case Style::kDim:
      return {245, -1, false};
    case Style::kTitle:
      return {231, 24, true};
    case Style::kStory:
      return {-1, -1, true};
    case Style::kGood:
      return {71, -1, false};
    case Style::kBad:
      return {203, -1, false};
    case Style::kWarning:
      return {179, -1, false};
    case Style::kBroken:
      return {231, 124, true};
    case Style::kTileFree:
      return {108, 236, false};
    case Style::kTileHeld:
      return {231, kHeldGrounds[ink.hue % kHues], true};
    case Style::kTileSuspect:
      return {16, 178, true};
    case Style::kTileUnhealthy:
      return {231, 160, true};
    case Style::kTileCordoned:
      return {231, 96, false};
    case Style::kTileUnknown:
      return {245, 234, false};
  }
  return {};
}

std::string Sequence(const Ink& ink, bool colour) {
  const Paint paint = PaintOf(ink);
  std::string codes = "0";
  if (paint.bold) codes += ";1";
  if (colour && paint.text >= 0) codes += fmt::format(";38;5;{}", paint.text);
  if (colour && paint.ground >= 0) codes += fmt::format(";48;5;{}", paint.ground);
  return fmt::format("\x1b[{}m", codes);
}

}  // namespace

std::string Encode(const TextLine& line, bool colour) {
  std::string out;
  std::string current = Sequence(Ink{}, colour);
  for (const Span& span : line.spans()) {
    std::string next = Sequence(span.ink, colour);
    if (next != current) out += next;
    current = std::move(next);
    out += span.text;
  }
  if (current != Sequence(Ink{}, colour)) out += "\x1b[0m";
  return out;
}

std::string Difference(const Frame& before, const Frame& after, bool colour) {
  std::string out;
  for (size_t i = 0; i < after.size(); ++i) {
    const std::string line = Encode(after[i], colour);
    if (i < before.size() && Encode(before[i], colour) == line) continue;
    // The end of the line is cleared first: a full line leaves the cursor on its last column.
    out += fmt::format("\x1b[{};1H\x1b[2K{}", i + 1, line);
  }
  if (before.size() != after.size()) out += fmt::format("\x1b[{};1H\x1b[0J", after.size() + 1);
  // Terminals that know synchronized updates show them at once; others ignore the marks.
  return out.empty() ? out : "\x1b[?2026h" + out + "\x1b[?2026l";
}

}  // namespace tessera::demo
