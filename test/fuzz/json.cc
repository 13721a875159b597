// SPDX-License-Identifier: Apache-2.0
// Any text: what parses is written so that it parses to the same again.

#include "json/json.h"

#include <algorithm>

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace {

namespace json = tessera::json;

// Numbers with a fraction are rounded when they are read, to infinity even: they do not come back.
bool HasFractions(const json::Value& value) {
  if (const json::Array* array = value.if_array()) {
    return std::any_of(array->begin(), array->end(), HasFractions);
  }
  if (const json::Object* object = value.if_object()) {
    return std::any_of(object->begin(), object->end(),
                       [](const auto& member) { return HasFractions(member.value()); });
  }
  return value.is_double();
}

// Text from anywhere, such as a file's name, is written so that it can be read.
void CheckText(std::string_view text) {
  json::Object object;
  object["text"] = text;
  Require(json::Parse(json::Write(object)).has_value(), "any text can be written");
  Require(json::Parse(json::WritePretty(object)).has_value(), "in the pretty form too");
}

// What is left out makes no difference to the rest.
void CheckWithout(std::string_view text, const tessera::Result<json::Value>& whole) {
  static constexpr std::string_view kNames[] = {"a", "b"};
  const auto same = json::ParseWithout(text, {});
  Require(same == whole, "nothing is left out");
  const auto part = json::ParseWithout(text, kNames);
  Require(part.has_value() == whole.has_value(), "what is left out must be JSON");
  if (part) Require(json::ParseWithout(json::Write(*part), kNames) == part, "it is left out");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  CheckText(text);
  const auto value = json::Parse(text);
  if (!value || !HasFractions(*value)) CheckWithout(text, value);
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
