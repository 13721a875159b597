// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/quote.h"
#include "base/text.h"
#include "config/schema/scalar.h"
#include "config/schema/yaml_tree.h"
#include "os/files.h"

namespace tessera::config {
namespace {

// The most bytes of a line that a problem keeps: enough to show, and a bound on the cost of many
// problems.
constexpr size_t kMaxKept = 256;
constexpr Duration kLongest{std::chrono::hours(24 * 365)};

std::string KindText(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return Quoted(node.scalar);
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

// "steps[2].after", or "the file" for the root.
std::string Place(std::string_view path) {
  return std::string(path.empty() ? "the file" : path);
}

// The length of the text's start that is UTF-8 without zero bytes.
size_t Utf8Prefix(const std::string& text) {
  const std::string valid = ValidUtf8(text);
  const auto [bad, replaced] = std::mismatch(text.begin(), text.end(), valid.begin(), valid.end());
  return std::min(static_cast<size_t>(bad - text.begin()), text.find('\0'));
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines = Split(text, '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

}  // namespace

const Node* Node::Find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key.scalar == key) return &entry.value;
  }
  return nullptr;
}

Document Document::Parse(std::string name, std::string text) {
  Document document;
  document.name_ = std::move(name);
  const auto whole = [&](std::string message) {
    document.problems_.push_back(
        {.reason = Reason::kConfigSyntax, .origin = document.name_, .message = std::move(message)});
  };
  if (text.size() > kMaxBytes) {
    whole(fmt::format("more than {} bytes, the limit of a file", kMaxBytes));
    return document;
  }
  if (const size_t valid = Utf8Prefix(text); valid < text.size()) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(valid), '\n');
    whole(fmt::format("byte {} (on line {}) is not text in UTF-8", valid + 1, line + 1));
    return document;
  }
  document.lines_ = LinesOf(text);
  YamlTree tree = BuildTree(text);
  document.root_ = std::move(tree.root);
  for (YamlTree::Trouble& trouble : tree.troubles) {
    Node at;
    at.line = trouble.line;
    at.column = trouble.column;
    at.scalar = std::move(trouble.text);
    if (trouble.reason == Reason::kConfigSyntax && document.IsTabIndented(trouble.line)) {
      trouble.message += "; the line is indented with a tab, where YAML wants spaces";
    }
    document.Report(trouble.reason, at, std::move(trouble.message));
  }
  return document;
}

bool Document::IsTabIndented(int line) const {
  const auto index = static_cast<size_t>(line) - 1;
  if (line <= 0 || index >= lines_.size()) return false;
  const size_t text = lines_[index].find_first_not_of(" \t");
  return lines_[index].substr(0, text).find('\t') != std::string::npos;
}

Result<std::string> ReadText(const std::string& path) {
  // A link to /dev/null means an empty file; NVIDIA's config-manager makes such links.
  const Result<os::FileInfo> info = os::InspectTarget(path);
  if (info && info->type == os::FileInfo::Type::kCharDevice && info->rdev == makedev(1, 3)) {
    return "";
  }
  return os::ReadFile(path, Document::kMaxBytes + 1);
}

std::string ObjectTrouble(const Node& root) {
  const Node* kind = root.Find("kind");
  if (kind == nullptr || !kind->IsScalar() || root.Find("apiVersion") == nullptr) return "";
  return fmt::format(
      "the file is a Kubernetes object of kind {}, not a configuration{}", Quoted(kind->scalar),
      kind->scalar == "ConfigMap" ? "; put the text below its 'data' into a file of its own" : "");
}

Document Document::Read(const std::string& path) {
  Result<std::string> text = ReadText(path);
  if (text) return Parse(path, *std::move(text));
  Document document;
  document.name_ = path;
  document.problems_.push_back(
      {.reason = Reason::kConfigUnreadable,
       .origin = path,
       .message = text.error().reason == Reason::kNotFound
                      ? "there is no such file"
                      : fmt::format("cannot be read: {}", text.error().message)});
  return document;
}

Problem Document::ProblemAt(Reason reason, const Node& at, std::string message,
                            std::string suggestion) const {
  Problem problem{.reason = reason,
                  .origin = name_,
                  .line = at.line,
                  .column = at.column,
                  .text = at.scalar.substr(0, kMaxKept),
                  .message = std::move(message),
                  .suggestion = std::move(suggestion)};
  const auto index = static_cast<size_t>(at.line) - 1;
  if (at.line > 0 && index < lines_.size()) problem.excerpt = lines_[index].substr(0, kMaxKept);
  return problem;
}

void Document::Report(Reason reason, const Node& at, std::string message, std::string suggestion) {
  problems_.push_back(ProblemAt(reason, at, std::move(message), std::move(suggestion)));
}

void Document::AllowKeys(const Node& map, std::string_view path,
                         std::initializer_list<std::string_view> known) {
  AllowKeys(map, path, std::vector<std::string>(known.begin(), known.end()));
}

void Document::AllowKeys(const Node& map, std::string_view path,
                         std::span<const std::string> known) {
  if (map.IsNull()) return;
  if (!map.IsMap()) {
    Report(Reason::kConfigWrongType, map,
           fmt::format("{} takes a map of keys, not {}", Place(path), KindText(map)));
    return;
  }
  for (const Node::Entry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key.scalar) != known.end()) continue;
    const std::string where = path.empty() ? "" : fmt::format(" in {}", path);
    Report(Reason::kConfigUnknownKey, entry.key,
           fmt::format("unknown key {}{}", Quoted(entry.key.scalar), where),
           Closest(entry.key.scalar, known).value_or(""));
  }
}

namespace {

// Reads a scalar's text with `read`.
template <class T, class F>
std::optional<T> Scalar(Document& document, const Node& node, std::string_view path,
                        std::string_view wanted, bool plain, F read) {
  if (!node.IsScalar() || (plain && node.quoted)) {
    document.Report(Reason::kConfigWrongType, node,
                    fmt::format("{} takes {}, not {}{}", path, wanted,
                                node.quoted ? "the text " : "", KindText(node)));
    return std::nullopt;
  }
  Parsed<T> value = read(node.scalar);
  if (value) return *std::move(value);
  document.Report(value.error().reason, node, fmt::format("{} {}", path, value.error().message),
                  value.error().suggestion);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Document::Text(const Node& node, std::string_view path) {
  return Scalar<std::string>(*this, node, path, "text", false,
                             [](const std::string& text) { return Parsed<std::string>(text); });
}

std::optional<bool> Document::Bool(const Node& node, std::string_view path) {
  return Scalar<bool>(*this, node, path, "true or false", true, ReadBool);
}

std::optional<int64_t> Document::Int(const Node& node, std::string_view path, int64_t min,
                                     int64_t max) {
  return Scalar<int64_t>(*this, node, path, fmt::format("a whole number from {} to {}", min, max),
                         true, [&](const std::string& text) { return ReadInt(text, min, max); });
}

std::optional<double> Document::Number(const Node& node, std::string_view path) {
  return Scalar<double>(*this, node, path, "a number", true, ReadNumber);
}

std::optional<Duration> Document::Time(const Node& node, std::string_view path) {
  return Scalar<Duration>(
      *this, node, path, "a time such as 250ms, 10s, 5m or 2h", false,
      [](const std::string& text) { return ReadTime(text, Duration(0), kLongest); });
}

std::optional<std::string> Document::OneOf(const Node& node, std::string_view path,
                                           std::span<const std::string> values) {
  return Scalar<std::string>(*this, node, path, Listed(values), false,
                             [&](const std::string& text) { return ReadOneOf(text, values); });
}

std::span<const Node> Document::List(const Node* node, std::string_view path) {
  if (node == nullptr || node->IsNull()) return {};
  if (node->IsSequence()) return node->items;
  Report(Reason::kConfigWrongType, *node,
         fmt::format("{} takes a list, not {}", Place(path), KindText(*node)));
  return {};
}

}  // namespace tessera::config
