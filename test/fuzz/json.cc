// SPDX-License-Identifier: Apache-2.0
// JSON. A text that parses, is written and parsed again must give the same.

#include "json/reader.h"

#include "test/fuzz/fractions.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::HasFractions;
using tessera::fuzz::Require;

namespace {

namespace json = tessera::json;

// Any text, such as a file's name, must be written so that it can be read.
void CheckText(std::string_view text) {
  json::Object object;
  object["text"] = text;
  Require(json::Parse(json::Write(object)).has_value(), "any text can be written");
  Require(json::Parse(json::WritePretty(object)).has_value(), "in the pretty form too");
}

// Reads the text in one piece and in several, with shapes that keep all or a part of it.
void CheckReader(std::string_view text, const tessera::Result<json::Value>& whole) {
  static constexpr size_t kMost = 2048;
  static const json::Shape name = json::Shape::Scalar(4);
  static const json::Shape part = json::Shape::Map(
      [](std::string_view key) { return key.size() < 3; },
      json::Shape::List(json::Shape::Object({{"a", name}, {"b", json::Shape::List(name)}}),
                        [](const json::Value& element) { return element.is_object(); }));
  for (const json::Shape& shape : {name, part, json::Shape::Each(part)}) {
    std::string seen[2];
    bool has_fractions = false;
    for (const size_t piece : {text.size() + 1, size_t{1} + text.size() % 7}) {
      std::string& kept = seen[piece <= text.size() ? 1 : 0];
      json::Reader reader(shape, kMost, [&](const json::Value& one) {
        kept += json::Write(one);
        has_fractions = has_fractions || HasFractions(one);
      });
      for (size_t at = 0; at < text.size(); at += piece) (void)reader.Add(text.substr(at, piece));
      const auto value = reader.End();
      // The reader accepts more than the parser: invalid Unicode, and any depth.
      Require(value.has_value() || !whole.has_value(), "what is JSON is read");
      // The position in an error message depends on the piece, so messages are not compared.
      kept += value ? json::Write(*value) : "refused";
      has_fractions = has_fractions || (value && HasFractions(*value));
      Require(kept.size() < 16 * (kMost + text.size()), "what is kept has a bound");
    }
    const bool is_same = text.size() < 8 || has_fractions || seen[0] == seen[1];
    Require(is_same, "pieces make no difference");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  CheckText(text);
  const auto value = json::Parse(text);
  CheckReader(text, value);
  if (!value) {
    Require(!value.error().message.empty(), "a refusal says why");
    return 0;
  }
  if (HasFractions(*value)) return 0;
  const std::string written = json::Write(*value);
  const auto again = json::Parse(written);
  Require(again.has_value(), "what was written parses");
  const auto pretty = json::Parse(json::WritePretty(*value));
  Require(pretty.has_value(), "the pretty form parses");
  Require(json::Write(*again) == written, "writing again gives the same");
  Require(json::Write(*pretty) == written, "the pretty form means the same");
  return 0;
}
