// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "config/schema.h"
#include "config/schema/yaml_text.h"
#include "config/show.h"
#include "json/json.h"

namespace tessera::config {
namespace {

// The column of comments, unless a line is longer.
constexpr size_t kCommentColumn = 44;

std::string Scalar(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return YamlText(*text);
  }
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    return fmt::format("[{}]", Join(*items, ", "));
  }
  return ValueText(value);
}

// A source may be a file with any name.
std::string Comment(const std::string& source) {
  std::string quoted = Quote(source);
  return quoted.size() == source.size() + 2 ? source : quoted;
}

using SourcesByPath = std::map<std::string, std::string>;

SourcesByPath SourcesOf(const LoadResult& result) {
  SourcesByPath sources;
  for (const Setting& setting : result.Settings()) sources[setting.path] = setting.source;
  return sources;
}

// The values left out: all defaults, even if set, or only unset values.
enum class LeftOut : bool { kDefault, kUnset };

// Whether the configuration needs the value in the file. A default that depends on other keys is
// unknown here.
bool IsChanged(const Schema& schema, const Shown& shown, const SourcesByPath& sources,
               LeftOut left_out) {
  const Key& key = *shown.key;
  const bool set = sources.at(shown.path) != "default";
  const bool same =
      !key.default_note.empty() ? !set : ValueText(shown.value) == schema.DefaultText(key);
  return key.required || !same || (set && left_out == LeftOut::kUnset);
}

// Leaves out unneeded values and empty sections. A section that chooses the resource's kind stays.
void KeepChanged(const Schema& schema, Shown& section, const SourcesByPath& sources,
                 LeftOut left_out) {
  std::erase_if(section.children, [&](Shown& child) {
    if (child.key->IsScalar()) return !IsChanged(schema, child, sources, left_out);
    KeepChanged(schema, child, sources, left_out);
    return child.children.empty() && !child.is_item && !child.key->choice.chosen;
  });
}

class YamlPrinter {
 public:
  explicit YamlPrinter(SourcesByPath sources) : sources_(std::move(sources)) {}

  void Section(const Shown& section, std::string first, const std::string& indent) {
    if (section.is_item && section.children.empty()) out_ += first + "{}\n";
    for (const Shown& child : section.children) {
      One(child, first.empty() ? indent : first);
      first.clear();
    }
  }

  std::string TakeText() { return std::move(out_); }

 private:
  // `lead` is the text before the key; its children are two spaces further in.
  void One(const Shown& shown, const std::string& lead) {
    const std::string_view name = shown.key->name;
    const std::string inner(lead.size() + 2, ' ');
    if (shown.key->IsScalar()) {
      const std::string line = fmt::format("{}{}: {}", lead, name, Scalar(shown.value));
      out_ += fmt::format("{:<{}}  # {}\n", line, kCommentColumn, Comment(sources_[shown.path]));
    } else if (shown.children.empty()) {
      out_ += fmt::format("{}{}: {}\n", lead, name, shown.key->type == Type::kList ? "[]" : "{}");
    } else if (shown.key->type == Type::kSection) {
      out_ += fmt::format("{}{}:\n", lead, name);
      Section(shown, "", inner);
    } else {
      out_ += fmt::format("{}{}:\n", lead, name);
      for (const Shown& item : shown.children) Section(item, inner + "- ", inner + "  ");
    }
  }

  SourcesByPath sources_;
  std::string out_;
};

json::Value ToJson(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    json::Array array;
    for (const std::string& item : *items) array.emplace_back(item);
    return array;
  }
  return json::Value(ValueText(value));
}

json::Value ToJson(const Shown& shown) {
  if (shown.key->IsScalar()) return ToJson(shown.value);
  if (shown.key->type == Type::kList && !shown.is_item) {
    json::Array array;
    for (const Shown& item : shown.children) array.push_back(ToJson(item));
    return array;
  }
  json::Object object;
  for (const Shown& child : shown.children) object[child.key->name] = ToJson(child);
  return object;
}

}  // namespace

std::string PrintYaml(const LoadResult& result) {
  YamlPrinter printer(SourcesOf(result));
  printer.Section(Show(*result.schema, result.config), "", "");
  return printer.TakeText();
}

// Some keys require others, and some defaults depend on unset keys. So the text is read again, and
// more is printed if the result differs.
std::string PrintChangedYaml(const LoadResult& result) {
  for (const LeftOut left_out : {LeftOut::kDefault, LeftOut::kUnset}) {
    SourcesByPath sources = SourcesOf(result);
    Shown shown = Show(*result.schema, result.config);
    KeepChanged(*result.schema, shown, sources, left_out);
    YamlPrinter printer(std::move(sources));
    printer.Section(shown, "", "");
    std::string text = printer.TakeText();
    const LoadResult again = Load(*result.schema, {.file = Document::Parse("", text)});
    if (again.ok() && again.config == result.config) return text;
  }
  return PrintYaml(result);
}

std::string PrintJson(const LoadResult& result) {
  json::Object sources;
  for (const Setting& setting : result.Settings()) sources[setting.path] = setting.source;
  json::Object whole;
  whole["config"] = ToJson(Show(*result.schema, result.config));
  whole["sources"] = std::move(sources);
  return json::WritePretty(whole);
}

}  // namespace tessera::config
