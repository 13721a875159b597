// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_reading.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "config/schema/yaml.h"
#include "json/json.h"
#include "os/files.h"

namespace tessera {
namespace {

// Bytes. YAML takes the agent's loop up to a second a megabyte. A document of eight fully divided
// GPUs is a tenth of this.
constexpr size_t kMostJson = 16 << 20;
constexpr size_t kMostYaml = 512 << 10;

// Every other field is text, whatever it looks like: a device may be named 0.
constexpr std::array<std::string_view, 7> kNumbers = {"major", "minor",   "fileMode",      "uid",
                                                      "gid",   "timeout", "additionalGids"};

bool IsYaml(std::string_view name) {
  return name.ends_with(".yaml");
}

// Parses decimal, octal and hexadecimal: 438, 0666 and 0x1b6 are one number.
std::optional<int64_t> NumberIn(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

json::Value ScalarOf(const config::Node& node, std::string_view field) {
  const bool number = !node.quoted && std::ranges::count(kNumbers, field) > 0;
  const auto value = number ? NumberIn(node.scalar) : std::nullopt;
  return value ? json::Value(*value) : json::Value(node.scalar);
}

// The value of a node in this field, or in the field's list.
json::Value ValueOf(const config::Node& node, std::string_view field) {
  switch (node.kind) {
    case config::Node::Kind::kNull:
      return {};
    case config::Node::Kind::kScalar:
      return ScalarOf(node, field);
    case config::Node::Kind::kSequence: {
      json::Array array;
      for (const config::Node& item : node.items) array.push_back(ValueOf(item, field));
      return array;
    }
    case config::Node::Kind::kMap: {
      json::Object object;
      for (const auto& entry : node.entries) {
        const std::string& key = entry.key.scalar;
        // Annotations are text, whatever their names.
        object[key] = ValueOf(entry.value, field == "annotations" ? "" : std::string_view(key));
      }
      return object;
    }
  }
  return {};
}

}  // namespace

bool IsCdiFile(std::string_view name) {
  return name.ends_with(".json") || IsYaml(name);
}

Result<cdi::Document> ReadCdiText(const std::string& name, std::string text) {
  if (!IsYaml(name)) return cdi::Read(text);
  if (text.size() > kMostYaml) {
    return Fail(Reason::kInvalid, "more than {} bytes of YAML, the limit", kMostYaml);
  }
  const config::Document document = config::Document::Parse(name, std::move(text));
  if (!document.ok()) return Fail(Reason::kInvalid, "{}", document.problems().front().message);
  return cdi::Read(json::Write(ValueOf(document.root(), "")));
}

Result<cdi::Document> ReadCdiFile(const std::string& path) {
  return ReadCdiText(path, TRY(os::ReadFile(path, IsYaml(path) ? kMostYaml + 1 : kMostJson)));
}

std::vector<std::string> DevicesIn(const cdi::Document& document) {
  std::vector<std::string> names;
  for (const cdi::Device& device : document.devices) {
    names.push_back(fmt::format("{}={}", document.kind, device.name));
  }
  return names;
}

}  // namespace tessera
