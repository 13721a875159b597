// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml_text.h"

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "json/json.h"

namespace tessera::config {
namespace {

bool IsPlain(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWords = {"null", "Null", "NULL", "true", "false",
                                                       "yes",  "no",   "on",   "off",  "-"};
  const auto safe = [](char c) {
    return IsAlphanumeric(c) || std::string_view("/._:-").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, safe) && text.front() != '-' &&
         text.front() != ':' && text.back() != ':' && std::ranges::count(kWords, text) == 0;
}

}  // namespace

std::string YamlText(std::string_view text) {
  return IsPlain(text) ? std::string(text) : json::Write(json::Value(text));
}

}  // namespace tessera::config
