// SPDX-License-Identifier: Apache-2.0
#include "nvml/yaml.h"

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>

namespace tessera::nvml {
namespace {

template <class T>
T Number(const Yaml& yaml) {
  const auto text = yaml.As<std::string>();
  std::string_view digits = text;
  int base = 10;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  }
  T number{};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole) yaml.Refuse(fmt::format("\"{}\" is no number that is expected here", text));
  return number;
}

std::string InQuotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

// Owns libyaml's parser and its last event. It reads events: libyaml's own tree would double the
// fake driver's start-up time.
struct Yaml::Reader {
  explicit Reader(const std::string& text) {
    yaml_parser_initialize(&parser);
    const auto* input = reinterpret_cast<const unsigned char*>(text.data());
    yaml_parser_set_input_string(&parser, input, text.size());
  }
  ~Reader() {
    yaml_event_delete(&event);
    yaml_parser_delete(&parser);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  yaml_event_type_t Next() {
    yaml_event_delete(&event);
    if (yaml_parser_parse(&parser, &event) == 0) {
      const std::string problem = parser.problem == nullptr ? "no YAML" : parser.problem;
      throw std::runtime_error(fmt::format("line {}: {}", parser.problem_mark.line + 1, problem));
    }
    return event.type;
  }

  // Reads the value that begins with the last event.
  Yaml Read(int depth = 0) {
    constexpr int kDeepest = 16;
    Yaml yaml;
    yaml.line_ = static_cast<int>(event.start_mark.line) + 1;
    if (depth > kDeepest) yaml.Refuse("this is nested too deeply");
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        yaml.text_.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const bool null = scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                          (yaml.text_.empty() || yaml.text_ == "~" || yaml.text_ == "null");
        yaml.kind_ = null ? Kind::kNothing : Kind::kScalar;
        break;
      }
      case YAML_SEQUENCE_START_EVENT:
        yaml.kind_ = Kind::kList;
        while (Next() != YAML_SEQUENCE_END_EVENT) yaml.items_.push_back(Read(depth + 1));
        break;
      case YAML_MAPPING_START_EVENT:
        yaml.kind_ = Kind::kMap;
        while (Next() != YAML_MAPPING_END_EVENT) {
          Yaml key = Read(depth + 1);
          Next();
          yaml.entries_.emplace_back(std::move(key), Read(depth + 1));
        }
        break;
      default:
        yaml.Refuse("an alias is not read here");
    }
    return yaml;
  }

  yaml_parser_t parser{};
  yaml_event_t event{};
};

Yaml Yaml::Parse(const std::string& text) {
  Reader reader(text);
  Yaml root;
  for (auto type = reader.Next(); type != YAML_STREAM_END_EVENT; type = reader.Next()) {
    if (type == YAML_DOCUMENT_START_EVENT && reader.Next() != YAML_DOCUMENT_END_EVENT) {
      root = reader.Read();
      if (reader.Next() != YAML_DOCUMENT_END_EVENT) root.Refuse("one document is read here");
    }
  }
  return root;
}

const Yaml& Yaml::operator[](std::string_view key) const {
  static const Yaml kNothing;
  const auto found = std::ranges::find(
      entries_, key, [](const Entry& entry) -> std::string_view { return entry.first.text_; });
  return found == entries_.end() ? kNothing : found->second;
}

const Yaml& Yaml::operator[](size_t place) const {
  if (place >= items_.size()) Refuse(fmt::format("there is no item {} here", place));
  return items_[place];
}

void Yaml::Set(const std::string& key, Yaml value) {
  kind_ = Kind::kMap;
  for (auto& [known, former] : entries_) {
    if (known.text_ == key) {
      former = std::move(value);
      return;
    }
  }
  entries_.emplace_back(Yaml(key), std::move(value));
}

template <>
std::string Yaml::As() const {
  if (kind_ != Kind::kScalar) Refuse("a text or a number is expected here");
  return text_;
}
template <>
bool Yaml::As() const {
  const auto text = As<std::string>();
  if (text != "true" && text != "false") Refuse("true or false is expected here");
  return text == "true";
}
template <>
int Yaml::As() const {
  return Number<int>(*this);
}
template <>
unsigned Yaml::As() const {
  return Number<unsigned>(*this);
}
template <>
uint64_t Yaml::As() const {
  return Number<uint64_t>(*this);
}

std::vector<std::string> Yaml::Strings() const {
  std::vector<std::string> strings;
  for (const Yaml& item : items_) strings.push_back(item.As<std::string>());
  return strings;
}

std::string Yaml::Text() const {
  std::string text;
  const auto part = [&] { text += text.size() > 1 ? ", " : ""; };
  switch (kind_) {
    case Kind::kNothing:
      return "~";
    case Kind::kScalar:
      return InQuotes(text_);
    case Kind::kList:
      text = "[";
      for (const Yaml& item : items_) {
        part();
        text += item.Text();
      }
      return text + "]";
    case Kind::kMap:
      text = "{";
      for (const auto& [key, value] : entries_) {
        part();
        text += key.Text() + ": " + value.Text();
      }
      return text + "}";
  }
  return text;
}

void Yaml::Refuse(const std::string& message) const {
  throw std::runtime_error(line_ == 0 ? message : fmt::format("line {}: {}", line_, message));
}

void Yaml::CheckKeys(std::string_view of, std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : entries_) {
    if (std::ranges::count(known, key.text_) == 0) {
      key.Refuse(fmt::format("{} has no key \"{}\"", of, key.text_));
    }
  }
}

}  // namespace tessera::nvml
