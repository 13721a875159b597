// SPDX-License-Identifier: Apache-2.0
// A frame of the live view: lines of inked text without a terminal's escapes. Plain data, pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::demo {

enum class Style : uint8_t {
  kPlain,
  kDim,
  kTitle,
  kStory,
  kGood,
  kBad,
  kWarning,
  kBroken,
  kTileFree,
  kTileHeld,
  kTileSuspect,
  kTileUnhealthy,
  kTileCordoned,
  kTileUnknown,
};

struct Ink {
  Style style = Style::kPlain;
  uint8_t hue = 0;     // of kTileHeld: the colour of the pod
  bool flash = false;  // it has just changed
  bool operator==(const Ink&) const = default;
};

struct Span {
  Ink ink;
  std::string text;
};

class TextLine {
 public:
  TextLine& Add(Ink ink, std::string text);
  TextLine& Add(Style style, std::string text) { return Add(Ink{style}, std::move(text)); }
  TextLine& Append(TextLine other);
  // Adds spaces up to that column.
  TextLine& PadTo(int column);
  void ClipTo(int columns);

  const std::vector<Span>& spans() const { return spans_; }
  int columns() const { return columns_; }
  std::string Plain() const;  // without ink or spaces at the end

 private:
  std::vector<Span> spans_;
  int columns_ = 0;
};

using Frame = std::vector<TextLine>;

// The properties of a screen.
struct Screen {
  int columns = 80;
  int rows = 24;
  bool unicode = true;
};

// The number of characters, each taken as one column.
int Columns(std::string_view text);
// The text cut or padded to exactly that many columns.
std::string Fit(std::string_view text, int columns);
std::string Repeat(std::string_view text, int times);

}  // namespace tessera::demo
