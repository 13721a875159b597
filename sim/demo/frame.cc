// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/frame.h"

#include <utility>

#include "base/text.h"

namespace tessera::demo {
namespace {

bool Continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The length in bytes of the first `columns` characters.
size_t BytesOf(std::string_view text, int columns) {
  size_t at = 0;
  while (at < text.size() && columns > 0) {
    ++at;
    while (at < text.size() && Continues(text[at])) ++at;
    --columns;
  }
  return at;
}

}  // namespace

TextLine& TextLine::Add(Ink ink, std::string text) {
  if (text.empty()) return *this;
  columns_ += Columns(text);
  if (!spans_.empty() && spans_.back().ink == ink) {
    spans_.back().text += text;
  } else {
    spans_.push_back({ink, std::move(text)});
  }
  return *this;
}

TextLine& TextLine::Append(TextLine other) {
  for (Span& span : other.spans_) Add(span.ink, std::move(span.text));
  return *this;
}

TextLine& TextLine::PadTo(int column) {
  return Add(Style::kPlain, Repeat(" ", column - columns_));
}

void TextLine::ClipTo(int columns) {
  int at = 0;
  for (size_t i = 0; i < spans_.size(); ++i) {
    const int width = Columns(spans_[i].text);
    if (at + width >= columns) {
      spans_[i].text.resize(BytesOf(spans_[i].text, columns - at));
      spans_.resize(spans_[i].text.empty() ? i : i + 1);
      columns_ = std::min(columns_, columns);
      return;
    }
    at += width;
  }
}

std::string TextLine::Plain() const {
  std::string text;
  for (const Span& span : spans_) text += span.text;
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

int Columns(std::string_view text) {
  return static_cast<int>(Width(text));
}

std::string Fit(std::string_view text, int columns) {
  std::string fitted(text.substr(0, BytesOf(text, columns)));
  return fitted + Repeat(" ", columns - Columns(fitted));
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace tessera::demo
