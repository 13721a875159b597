// SPDX-License-Identifier: Apache-2.0
#include "card/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "json/json.h"

namespace tessera::card {
namespace {

constexpr std::string_view kStart = R"({"part":)";
constexpr std::string_view kKinds[] = {"part", "fact", "figure", "trouble"};
constexpr size_t kMostCell = 400;        // bytes of a table's cell
constexpr size_t kLongestRow = 100'000;  // bytes; what is longer is no row

std::vector<double> Numbers(const json::Array& array) {
  std::vector<double> numbers;
  for (const json::Value& value : array) {
    if (value.is_number()) numbers.push_back(value.to_number<double>());
  }
  return numbers;
}

// False where it is no row.
bool ReadRow(const json::Object& object, Row& row) {
  const std::pair<const char*, std::string*> members[] = {
      {"part", &row.part},   {"kind", &row.kind}, {"name", &row.name},
      {"value", &row.value}, {"unit", &row.unit}, {"note", &row.note}};
  for (const auto& [key, to] : members) {
    *to = json::GetString(object, key).value_or("");
  }
  if (const json::Array* samples = json::GetArray(object, "samples"))
    row.samples = Numbers(*samples);
  if (const auto* seconds = object.if_contains("seconds"); seconds && seconds->is_number()) {
    row.samples = {seconds->to_number<double>()};
  }
  return std::ranges::count(kKinds, row.kind) > 0 && !row.name.empty();
}

bool ReadRow(std::string_view line, Row& row) {
  if (line.size() > kLongestRow && line.find(R"("samples":[)") == std::string_view::npos)
    return false;
  const auto value = json::Parse(line);
  return value && value->is_object() && ReadRow(value->get_object(), row);
}

// The row of the same figure takes the samples.
void Add(Row row, Report& report) {
  if (row.kind == "figure") {
    const auto same = std::ranges::find_if(report.rows, [&](const Row& other) {
      return other.kind == row.kind && other.part == row.part && other.name == row.name &&
             other.unit == row.unit;
    });
    if (same != report.rows.end()) {
      same->samples.insert(same->samples.end(), row.samples.begin(), row.samples.end());
      return;
    }
  }
  report.rows.push_back(std::move(row));
}

// At most `most`, evenly from all.
json::Array Thinned(const std::vector<double>& samples, size_t most) {
  json::Array kept;
  const size_t count = std::min(samples.size(), most);
  for (size_t i = 0; i < count; ++i) kept.push_back(samples[i * samples.size() / count]);
  return kept;
}

json::Object Members(const Row& row, size_t most_samples) {
  json::Object object{{"part", row.part}, {"name", row.name}};
  if (row.kind == "figure") {
    object["unit"] = row.unit;
    object["n"] = row.samples.size();
    object["p50"] = Percentile(row.samples, 0.5);
    object["p99"] = Percentile(row.samples, 0.99);
    object["samples"] = Thinned(row.samples, most_samples);
  } else {
    object["value"] = row.value;
    if (row.kind == "part") object["seconds"] = row.samples.empty() ? 0 : row.samples[0];
  }
  if (!row.note.empty()) object["note"] = row.note;
  return object;
}

std::string Json(const Report& report, size_t most_samples) {
  std::string text = fmt::format("{{\"date\":{},\n\"unread\":{}",
                                 json::Write(json::Value(report.date)), report.unread);
  for (const std::string_view kind : kKinds) {
    text += fmt::format(",\n\"{}s\":[", kind);
    const char* between = "\n";
    for (const Row& row : report.rows) {
      if (row.kind != kind) continue;
      text += std::exchange(between, ",\n") + json::Write(Members(row, most_samples));
    }
    text += "]";
  }
  return text + "}\n";
}

std::string Number(double value) {
  return fmt::format("{:.4g}", value);
}

// A cell of a table.
std::string Cell(std::string_view text) {
  std::string cell(text.substr(0, kMostCell));
  if (text.size() > kMostCell) cell += " ...";
  for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
    cell.insert(at, 1, '\\');
  return cell;
}

using Line = std::vector<std::string>;

// Nothing where there are no lines; `title` may be empty.
std::string Table(std::string_view title, const Line& head, const std::vector<Line>& lines) {
  if (lines.empty()) return "";
  std::string text = title.empty() ? "" : fmt::format("\n### {}\n\n", title);
  const auto add = [&text](const Line& cells) {
    for (const std::string& cell : cells) text += "| " + Cell(cell) + " ";
    text += "|\n";
  };
  add(head);
  add(Line(head.size(), "---"));
  for (const Line& line : lines) add(line);
  return text;
}

std::string Shown(const Row& row) {
  return row.kind == "figure"    ? Number(Percentile(row.samples, 0.5)) + " " + row.unit
         : row.kind == "trouble" ? "trouble: " + row.value
                                 : row.value;
}

// What a report has of each name; of several rows of a name all that they say. A figure is apart
// from a fact of its name.
struct Said {
  std::string part;
  std::string name;
  std::string text;
  const Row* figure = nullptr;

  bool IsOfOneNameWith(const Said& other) const {
    return part == other.part && name == other.name &&
           (figure == nullptr) == (other.figure == nullptr);
  }
};

std::vector<Said>::iterator Find(std::vector<Said>& all, const Said& one) {
  return std::ranges::find_if(all, [&](const Said& said) { return said.IsOfOneNameWith(one); });
}

std::vector<Said> AllSaid(const Report& report) {
  std::vector<Said> all;
  for (const Row& row : report.rows) {
    if (row.part == "run" || row.kind == "part") continue;
    Said said{row.part, row.name, Shown(row), row.kind == "figure" ? &row : nullptr};
    const auto same = Find(all, said);
    if (same == all.end()) {
      all.push_back(std::move(said));
    } else {
      same->text += "; " + said.text;
    }
  }
  return all;
}

}  // namespace

double Percentile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const double rank = std::ceil(share * static_cast<double>(samples.size()));
  return samples[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Report ReadRows(std::string_view lines, std::string date) {
  Report report{.date = std::move(date), .rows = {}};
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    Row row;
    if (ReadRow(line, row)) {
      Add(std::move(row), report);
      continue;
    }
    ++report.unread;
    // A row behind the beginning of one whose process was killed.
    const size_t last = line.rfind(kStart);
    row = {};
    if (last != 0 && last != std::string_view::npos && ReadRow(line.substr(last), row)) {
      Add(std::move(row), report);
    }
  }
  return report;
}

Report ReadJson(std::string_view text) {
  Report report;
  const auto value = json::Parse(text);
  if (!value || !value->is_object()) return report;
  const json::Object& object = value->get_object();
  report.date = json::GetString(object, "date").value_or("");
  report.unread = static_cast<size_t>(json::GetInt(object, "unread").value_or(0));
  for (const std::string_view kind : kKinds) {
    const json::Array* rows = json::GetArray(object, std::string(kind) + "s");
    if (rows == nullptr) continue;
    for (const json::Value& member : *rows) {
      Row row;
      if (!member.is_object()) continue;
      ReadRow(member.get_object(), row);
      row.kind = kind;
      report.rows.push_back(std::move(row));
    }
  }
  return report;
}

std::string Json(const Report& report) {
  std::string text;
  for (const size_t most : {100'000, 10'000, 1'000, 100, 10, 1}) {
    text = Json(report, most);
    if (text.size() <= kMostBytes) break;
  }
  return text;
}

std::string Markdown(const Report& report) {
  std::string text = fmt::format("# A run of {}\n\n", report.date);
  std::vector<Line> lines;
  std::vector<std::string> parts;
  for (const Row& row : report.rows) {
    if (std::ranges::count(parts, row.part) == 0) parts.push_back(row.part);
    if (row.kind != "part") continue;
    const auto troubles = std::ranges::count_if(report.rows, [&](const Row& other) {
      return other.part == row.part && other.kind == "trouble";
    });
    lines.push_back({row.part, row.value, Number(row.samples.empty() ? 0 : row.samples[0]),
                     fmt::format("{}", troubles)});
  }
  text += Table("", {"part", "how it ended", "seconds", "troubles"}, lines);
  if (report.unread > 0) text += fmt::format("\n{} lines could not be read.\n", report.unread);
  for (const std::string& part : parts) {
    std::map<std::string_view, std::vector<Line>> by_kind;
    for (const Row& row : report.rows) {
      if (row.part != part || row.kind == "part") continue;
      if (row.kind == "figure") {
        by_kind["figure"].push_back({row.name, fmt::format("{}", row.samples.size()),
                                     Number(Percentile(row.samples, 0.5)),
                                     Number(Percentile(row.samples, 0.99)), row.unit, row.note});
      } else {
        by_kind[row.kind].push_back({row.name, row.value, row.note});
      }
    }
    if (by_kind.empty()) continue;
    text += fmt::format("\n## {}\n", part);
    text += Table("Facts", {"what", "answer", "note"}, by_kind["fact"]);
    text += Table("Figures", {"what", "n", "p50", "p99", "unit", "note"}, by_kind["figure"]);
    text += Table("Troubles", {"what", "answer", "note"}, by_kind["trouble"]);
    if (text.size() > kMostBytes - 1'000'000) return text + "\nThe rest is in card.json.\n";
  }
  return text;
}

std::string Compare(const Report& a, const Report& b) {
  std::vector<Said> all_a = AllSaid(a);
  std::vector<Said> all_b = AllSaid(b);
  std::vector<Line> differ, figures, only_a, only_b;
  for (const Said& said : all_a) {
    const auto other = Find(all_b, said);
    if (other == all_b.end()) {
      only_a.push_back({said.part, said.name, said.text});
    } else if (said.figure != nullptr) {
      const double of_a = Percentile(said.figure->samples, 0.5);
      const double of_b = Percentile(other->figure->samples, 0.5);
      if (of_a == of_b) continue;
      figures.push_back(
          {said.part, said.name, said.text, other->text, of_b > 0 ? Number(of_a / of_b) : "-"});
    } else if (said.text != other->text) {
      differ.push_back({said.part, said.name, said.text, other->text});
    }
  }
  for (const Said& said : all_b) {
    if (Find(all_a, said) == all_a.end()) only_b.push_back({said.part, said.name, said.text});
  }
  std::string text =
      Table("What differs", {"part", "what", "first", "second"}, differ) +
      Table("Figures, by their medians", {"part", "what", "first", "second", "ratio"}, figures) +
      Table("Only in the first", {"part", "what", "answer"}, only_a) +
      Table("Only in the second", {"part", "what", "answer"}, only_b);
  return text.empty() ? "nothing differs\n" : text.substr(1);
}

}  // namespace tessera::card
