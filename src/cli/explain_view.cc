// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command/fields.h"

namespace tessera::cli {
namespace {

constexpr size_t kNames = 14;         // the column of names, with its indent
constexpr size_t kUsualColumns = 80;  // also in a file, for reading

std::string Line(std::string_view name, std::string_view text) {
  return fmt::format("  {:{}}{}\n", name, kNames - 2, text);
}

std::string PairLines(std::string_view name, const json::Object& grant, std::string_view key) {
  std::string out;
  const json::Object* pairs = json::GetObject(grant, key);
  if (pairs == nullptr) return out;
  for (const auto& [left, right] : *pairs) {
    out += Line(name, std::string(std::string_view(left)) + "=" + TextIn(*pairs, left));
  }
  return out;
}

// "/dev/a -> /dev/b", or one path when both are the same.
std::string Route(const json::Object& edit) {
  std::string host = TextIn(edit, "hostPath");
  std::string container = TextIn(edit, "containerPath");
  return host == container ? host : host + " -> " + container;
}

std::string GrantLines(const json::Object& grant) {
  std::string out = PairLines("env", grant, "envs");
  for (const json::Object* mount : ObjectsIn(grant, "mounts")) {
    out += Line("mount",
                Route(*mount) + (IsTrue(*mount, "readOnly") ? " (read-only)" : " (writable)"));
  }
  for (const json::Object* node : ObjectsIn(grant, "devices")) {
    out += Line("device", fmt::format("{} ({})", Route(*node), TextIn(*node, "permissions")));
  }
  out += PairLines("annotation", grant, "annotations");
  for (const std::string& name : ListIn(grant, "cdiDevices")) out += Line("cdi", name);
  return out;
}

std::string Candidate(const json::Object& candidate, const View& view) {
  bool offered = IsTrue(candidate, "offered");
  std::string verdict = offered ? "offered as " + TextIn(candidate, "resource") : "not offered";
  std::string out = fmt::format("{}: {}\n", Paint(DeviceName(candidate), Tone::kTitle, view),
                                Paint(verdict, offered ? Tone::kGood : Tone::kBad, view));
  out += Sentence("model", TextIn(candidate, "model"), view);
  const auto parts = ListIn(candidate, "parts");
  if (!parts.empty()) out += Sentence("parts", Join(parts, " "), view);
  out += Sentence("why", TextIn(candidate, "why"), view);
  auto shares = ListIn(candidate, "shares");
  if (!shares.empty()) out += Sentence("ids", Join(shares, " "), view);
  auto numa = ListIn(candidate, "numaNodes");
  if (!numa.empty()) out += Line("numa", Join(numa, ","));
  const json::Object* grant = json::GetObject(candidate, "grant");
  return grant == nullptr ? out : out + GrantLines(*grant);
}

}  // namespace

std::string Sentence(std::string_view name, std::string_view text, const View& view) {
  if (text.empty()) return "";
  size_t columns = view.columns > 0 ? static_cast<size_t>(view.columns) : kUsualColumns;
  auto lines = Wrap(text, std::max(columns, kNames + 20) - kNames);
  return Line(name, Join(lines, "\n" + std::string(kNames, ' ')));
}

std::string ExplainText(const json::Value& answer, const View& view) {
  std::string out;
  for (const json::Object* candidate : ObjectsIn(ObjectOf(answer), "candidates")) {
    if (!out.empty()) out += "\n";
    out += Candidate(*candidate, view);
  }
  return out.empty() ? "no devices were found\n" : out;
}

}  // namespace tessera::cli
