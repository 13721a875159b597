// SPDX-License-Identifier: Apache-2.0
#include "cli/command/yaml.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::cli {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kInside =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@+-:,()' ";
constexpr std::array<std::string_view, 10> kWords = {"true", "false", "null", "yes", "no",
                                                     "on",   "off",   "y",    "n",   "nan"};

bool IsWord(std::string_view text) {
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return std::equal(word.begin(), word.end(), text.begin(), text.end(),
                      [](char a, char b) { return a == (b | 0x20); });
  });
}

// Whether a text without quotes is the same text in YAML 1.1 and 1.2.
bool IsPlain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text.back() == ':') return false;
  if (kLetters.find(text.front()) == text.npos && text.front() != '/') return false;
  if (text.find_first_not_of(kInside) != text.npos || text.find(": ") != text.npos) return false;
  return !IsWord(text);
}

std::string Text(std::string_view text) {
  // A JSON string is a double-quoted scalar of YAML.
  return IsPlain(text) ? std::string(text) : json::Write(json::Value(text));
}

bool IsBlock(const json::Value& value) {
  return (value.is_object() && !value.as_object().empty()) ||
         (value.is_array() && !value.as_array().empty());
}

std::string Scalar(const json::Value& value) {
  if (value.is_string()) return Text(std::string_view(value.as_string()));
  return json::Write(value);  // numbers, true, false, null, {} and []
}

void WriteBlock(std::string& out, const json::Value& value, size_t indent);

// Writes the value after "key:" or "-". `first_inline` puts a map's first key on the same line.
void WriteAfter(std::string& out, const json::Value& value, size_t indent, bool first_inline) {
  if (!IsBlock(value)) {
    out += " " + Scalar(value) + "\n";
  } else if (first_inline) {
    std::string block;
    WriteBlock(block, value, indent);
    out += " " + block.substr(indent);
  } else {
    out += "\n";
    WriteBlock(out, value, indent);
  }
}

void WriteBlock(std::string& out, const json::Value& value, size_t indent) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      out.append(indent, ' ') += Text(std::string_view(key)) + ":";
      // Lists start at their key's column, as Kubernetes writes them.
      WriteAfter(out, member, member.is_array() ? indent : indent + 2, false);
    }
    return;
  }
  for (const json::Value& item : value.as_array()) {
    out.append(indent, ' ') += "-";
    WriteAfter(out, item, indent + 2, true);
  }
}

}  // namespace

std::string WriteYaml(const json::Value& value) {
  if (!IsBlock(value)) return Scalar(value) + "\n";
  std::string out;
  WriteBlock(out, value, 0);
  return out;
}

}  // namespace tessera::cli
