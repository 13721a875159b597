// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "base/text.h"
#include "config/reference.h"
#include "config/schema.h"

namespace tessera::config {
namespace {

std::string Code(std::string_view text) {
  return fmt::format("`{}`", text);
}

std::string Codes(const std::vector<std::string>& texts) {
  std::vector<std::string> codes;
  for (const std::string& text : texts) codes.push_back(Code(text));
  return Join(codes, ", ");
}

std::string TypeCell(const Key& key) {
  const std::string type(TypeText(key.type));
  switch (key.type) {
    case Type::kInt:
      return fmt::format("{}{}{}, {} to {}", type, key.unit.empty() ? "" : " of ", key.unit,
                         key.min, key.max);
    case Type::kDecimal:
      return fmt::format("{} above {}, at most {}", type, key.min, key.max);
    case Type::kTime:
      return fmt::format("{}, {} to {}", type, FormatDuration(Duration(key.min)),
                         FormatDuration(Duration(key.max)));
    case Type::kEnum:
      return key.values.size() == 1 ? Codes(key.values)
                                    : fmt::format("one of {}", Codes(key.values));
    case Type::kList:
      return fmt::format("{}, at most {}", type, key.max);
    case Type::kEnumList:
      return fmt::format("list of {}", Codes(key.values));
    default:
      return type;
  }
}

std::string DefaultCell(const Schema& schema, const Key& key) {
  if (!key.default_note.empty()) return std::string(key.default_note);
  if (key.required) return "none: it must be there";
  const std::string text = schema.DefaultText(key);
  if (key.type == Type::kEnumList) return Code(fmt::format("[{}]", text));
  return text.empty() ? "none" : Code(text);
}

void AddRows(const Schema& schema, const std::string& prefix, std::string& out) {
  out += "| Key | Type | Default | Example | A change takes effect | Meaning |\n";
  out += "|---|---|---|---|---|---|\n";
  for (const PathKey& key : schema.keys()) {
    if (!key.path.starts_with(prefix)) continue;
    if (!key.key->IsScalar()) {
      out +=
          fmt::format("| {} | {} | | | | {} |\n", Code(key.path), TypeCell(*key.key), key.key->doc);
      continue;
    }
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", Code(key.path), TypeCell(*key.key),
                       DefaultCell(schema, *key.key), Code(key.key->example),
                       EffectText(key.key->effect), key.key->doc);
  }
}

void AddFlags(std::string& out) {
  out += "### Flags and environment variables\n\n| Key | Flag | Variable |\n|---|---|---|\n";
  for (const PathKey& key : FlagKeys()) {
    out += fmt::format("| {} | {} | {} |\n", Code(key.path), Code("--" + FlagName(key.path)),
                       Code(EnvironmentName(key.path)));
  }
}

}  // namespace

std::string MarkdownReference(const Schema& schema) {
  std::string out;
  for (const Key& top : schema.root().children) {
    out += fmt::format("### `{}`\n\n", top.name);
    if (!top.IsScalar()) out += fmt::format("{}\n\n", top.doc);
    const bool is_section = top.type == Type::kSection;
    AddRows(schema, fmt::format("{}{}", top.name, is_section ? "." : ""), out);
    out += "\n";
  }
  AddFlags(out);
  return out;
}

}  // namespace tessera::config
