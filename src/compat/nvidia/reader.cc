// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "compat/nvidia/scalars.h"
#include "config/schema.h"

namespace tessera::config::nvidia {
namespace {

bool IsSameInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

void Reader::ReadAll(bool shared) {
  if (!document_.ok() && document_.root().IsNull()) return;
  const std::string trouble = ObjectTrouble(document_.root());
  if (!trouble.empty()) return Report(Reason::kConfigVersion, document_.root(), trouble);
  std::vector<Field> fields = {
      {"version", [this](const Node& node, const std::string&) { ReadVersion(node); }},
      {"flags", [this](const Node& node, const std::string& path) { ReadFlags(node, path); }},
      {"resources",
       [this](const Node& node, const std::string& path) {
         ReadMap(
             node, path, Spelling::kAny,
             {{"gpus", [this](const Node& list,
                              const std::string& at) { ReadPatterns(list, at, settings_.gpus); }},
              {"mig", [this](const Node& list, const std::string& at) {
                 ReadPatterns(list, at, settings_.migs);
               }}});
       }},
      {"sharing", [this](const Node& node, const std::string& path) { ReadSharing(node, path); }},
      {"imex", [this](const Node& node, const std::string& path) {
         ReadMap(node, path, Spelling::kAny, OptionsIn(path));
       }}};
  ReadMap(document_.root(), "", Spelling::kAny, fields, shared);
}

void Reader::ReadMap(const Node& map, const std::string& path, Spelling spelling,
                     const std::vector<Field>& fields, bool others) {
  if (map.IsNull()) return;
  if (!map.IsMap()) return ReportType(map, path.empty() ? "the file" : path, "a map of keys");
  for (const Node::Entry& entry : map.entries) {
    const std::string& name = entry.key.scalar;
    const auto field = std::ranges::find_if(fields, [&](const Field& each) {
      return spelling == Spelling::kAny ? IsSameInAnyCase(each.name, name) : each.name == name;
    });
    if (field != fields.end()) {
      const std::string at = JoinPath(path, field->name);
      // In Go's JSON, "null" leaves the field unset.
      if (entry.value.IsNull()) continue;
      findings_.SetInFile(at, entry.value);
      field->read(entry.value, at);
      continue;
    }
    if (others) continue;
    std::vector<std::string> names;
    for (const Field& each : fields) names.push_back(each.name);
    findings_.AddWarning(
        document_.ProblemAt(Reason::kConfigUnknownKey, entry.key,
                            fmt::format("unknown key {}{} has no effect", Quoted(name),
                                        path.empty() ? "" : " in " + path),
                            Closest(name, names).value_or("")));
  }
}

std::vector<Reader::Field> Reader::OptionsIn(const std::string& path) {
  std::vector<Field> fields;
  for (const Option& option : Options()) {
    const size_t dot = option.key.rfind('.');
    if (option.key.empty() || option.key.substr(0, dot) != path) continue;
    fields.push_back(
        {option.key.substr(dot + 1),
         [this, &option](const Node& node, const std::string&) { ReadOption(option, node); }});
  }
  return fields;
}

void Reader::ReadOption(const Option& option, const Node& node) {
  findings_.SetInFile(option.key, node, false);
  if (const auto* text_member = std::get_if<std::string Settings::*>(&option.member)) {
    const auto text = Text(node, option.key, true);
    if (!text) return;
    settings_.** text_member = *text;
  } else if (const auto* bool_member = std::get_if<bool Settings::*>(&option.member)) {
    const auto truth = Bool(node, option.key);
    if (!truth) return;
    settings_.** bool_member = *truth;
  } else if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&option.member)) {
    std::vector<std::string> texts;
    // A single text is a list of one. It is not split, unlike in flags and variables.
    const std::span<const Node> items =
        node.IsSequence() ? std::span(node.items) : std::span(&node, 1);
    for (const Node& item : items) {
      const auto text = Text(item, option.key);
      if (!text) return;
      texts.push_back(*text);
    }
    settings_.** list = std::move(texts);
  } else if (const auto* interval_member = std::get_if<Duration Settings::*>(&option.member)) {
    const auto interval = Interval(node, option.key);
    if (!interval) return;
    settings_.** interval_member = *interval;
  } else {
    std::vector<int64_t> numbers;
    if (!node.IsSequence()) return ReportType(node, option.key, "a list of whole numbers");
    for (const Node& item : node.items) {
      const auto number = Int(item, option.key);
      if (!number) return;
      numbers.push_back(*number);
    }
    settings_.*std::get<std::vector<int64_t> Settings::*>(option.member) = std::move(numbers);
  }
  findings_.SetInFile(option.key, node);
}

void Reader::ReadVersion(const Node& node) {
  const auto version = Text(node, "version", true);
  if (!version || version->empty() || *version == "v1") return;
  const std::string told =
      fmt::format("unknown version {}: NVIDIA's format is 'v1'", Quoted(*version));
  Report(Reason::kConfigBadValue, node,
         *version == kVersion ? told +
                                    ", and this is Tessera's own, which is for 'tessera agent "
                                    "--config'"
                              : told);
}

void Reader::ReadFlags(const Node& node, const std::string& path) {
  std::vector<Field> fields = OptionsIn(path);
  fields.push_back({"plugin", [this](const Node& plugin, const std::string& at) {
                      ReadMap(plugin, at, Spelling::kAny, OptionsIn(at));
                    }});
  fields.push_back({"gfd", [this](const Node& gfd, const std::string& at) {
                      ReadMap(gfd, at, Spelling::kAny, OptionsIn(at));
                    }});
  ReadMap(node, path, Spelling::kAny, fields);
}

void Reader::ReadPatterns(const Node& node, const std::string& path,
                          std::vector<NamedPattern>& patterns) {
  if (!node.IsSequence()) return ReportType(node, path, "a list");
  for (const Node& item : node.items) {
    const std::string at = fmt::format("{}[{}]", path, patterns.size());
    NamedPattern& pattern = patterns.emplace_back();
    findings_.SetInFile(at, item);
    if (!HasAll(item, at, {"pattern", "name"})) continue;
    ReadMap(item, at, Spelling::kExact,
            {{"pattern",
              [&](const Node& value, const std::string& key) {
                pattern.pattern = Text(value, key).value_or("");
              }},
             {"name", [&](const Node& value, const std::string& key) {
                pattern.name = Name(value, key).value_or("");
              }}});
  }
}

void Reader::ReadSharing(const Node& node, const std::string& path) {
  ReadMap(node, path, Spelling::kAny,
          {{"timeSlicing",
            [this](const Node& value, const std::string& at) {
              ReadReplication(value, at, settings_.time_slicing);
            }},
           {"mps", [this](const Node& value, const std::string& at) {
              ReadReplication(value, at, settings_.mps);
            }}});
}

void Reader::ReadReplication(const Node& node, const std::string& path,
                             std::optional<Replication>& replication) {
  if (!node.IsMap()) return ReportType(node, path, "a map of keys");
  Replication& read = replication.emplace();
  const auto resources = [&](const Node& list, const std::string& at) {
    if (!list.IsSequence()) return ReportType(list, at, "a list");
    for (const Node& item : list.items) {
      const std::string place = fmt::format("{}[{}]", at, read.resources.size());
      findings_.SetInFile(place, item);
      ReadReplicated(item, place, read.resources.emplace_back());
    }
  };
  ReadMap(node, path, Spelling::kExact,
          {{"renameByDefault",
            [&](const Node& value, const std::string& at) {
              read.rename_by_default = Bool(value, at).value_or(false);
            }},
           {"failRequestsGreaterThanOne",
            [&](const Node& value, const std::string& at) {
              read.fail_requests_greater_than_one = Bool(value, at);
            }},
           {"resources", resources}});
  const Node* list = node.Find("resources");
  if (list == nullptr || list->IsNull() || (list->IsSequence() && list->items.empty())) {
    Report(Reason::kConfigMissing, node,
           fmt::format("no resources specified: {} needs at least one in 'resources', or must be "
                       "left out",
                       path));
  }
}

void Reader::ReadReplicated(const Node& node, const std::string& path,
                            ReplicatedResource& resource) {
  if (!HasAll(node, path, {"name", "replicas"})) return;
  ReadMap(
      node, path, Spelling::kExact,
      {{"name", [&](const Node& value,
                    const std::string& at) { resource.name = Name(value, at).value_or(""); }},
       {"rename", [&](const Node& value,
                      const std::string& at) { resource.rename = Name(value, at).value_or(""); }},
       {"devices", [&](const Node& value,
                       const std::string& at) { ReadDevices(value, at, resource.devices); }},
       {"replicas", [&](const Node& value, const std::string& at) {
          const auto replicas = Int(value, at);
          if (!replicas) return;
          resource.replicas = *replicas;
          if (*replicas >= 2) return;
          Report(Reason::kConfigBadValue, value,
                 fmt::format("{} must be at least 2, not {}", at, *replicas));
        }}});
}

void Reader::ReadDevices(const Node& node, const std::string& path, ReplicatedDevices& devices) {
  constexpr std::string_view kWanted = "'all', a number of devices, or a list of indices and UUIDs";
  if (node.IsScalar() && TypeOf(node) == ScalarType::kText) {
    if (node.scalar != "all") ReportType(node, path, kWanted);
    return;
  }
  devices.all = false;
  if (node.IsScalar()) {
    devices.count = WholeNumber(node.scalar).value_or(0);
    if (devices.count <= 0) ReportType(node, path, kWanted);
    return;
  }
  if (!node.IsSequence()) return ReportType(node, path, kWanted);
  for (const Node& item : node.items) {
    const bool is_reference = item.IsScalar() && (TypeOf(item) == ScalarType::kNumber
                                                      ? WholeNumber(item.scalar).value_or(-1) >= 0
                                                      : IsDeviceReference(item.scalar));
    if (!is_reference) {
      return ReportType(item, path,
                        "a GPU's index, '<gpu>:<mig>', 'GPU-<uuid>', 'MIG-<uuid>' or "
                        "'MIG-GPU-<uuid>/<gi>/<ci>'");
    }
    devices.list.push_back(item.scalar);
  }
}

std::optional<Duration> Reader::Interval(const Node& node, const std::string& path) {
  constexpr int64_t kNanoseconds = 1'000'000;  // in a millisecond
  std::optional<Duration> interval;
  if (node.IsScalar() && TypeOf(node) == ScalarType::kNumber) {
    interval = Duration(WholeNumber(node.scalar).value_or(0) / kNanoseconds);
  } else if (node.IsScalar() && TypeOf(node) == ScalarType::kText) {
    interval = SleepInterval(node.scalar);
  }
  if (!interval) ReportType(node, path, kInterval);
  return interval;
}

std::optional<std::string> Reader::Text(const Node& node, const std::string& path, bool converted) {
  const bool is_text = node.IsScalar() && TypeOf(node) == ScalarType::kText;
  if (is_text) return node.scalar;
  if (node.IsScalar() && converted) {
    const std::optional<bool> truth = Truth(node.scalar);
    return !truth ? node.scalar : *truth ? "true" : "false";
  }
  ReportType(node, path, "text");
  return std::nullopt;
}

std::optional<bool> Reader::Bool(const Node& node, const std::string& path) {
  const bool is_bool = node.IsScalar() && TypeOf(node) == ScalarType::kBool;
  if (is_bool) return Truth(node.scalar);
  ReportType(node, path, "true or false");
  return std::nullopt;
}

std::optional<int64_t> Reader::Int(const Node& node, const std::string& path) {
  if (node.IsScalar() && !node.quoted) {
    if (const auto number = WholeNumberOrFloat(node.scalar)) return number;
  }
  ReportType(node, path, "a whole number");
  return std::nullopt;
}

std::optional<std::string> Reader::Name(const Node& node, const std::string& path) {
  const auto text = Text(node, path);
  if (!text) return std::nullopt;
  Parsed<std::string> name = ReadResourceName(*text);
  if (name) return *std::move(name);
  Report(name.error().reason, node, fmt::format("{} {}", path, name.error().message));
  return std::nullopt;
}

bool Reader::HasAll(const Node& map, const std::string& path,
                    std::initializer_list<std::string_view> keys) {
  if (!map.IsMap()) {
    ReportType(map, path, "a map of keys");
    return false;
  }
  bool all = true;
  for (const std::string_view key : keys) {
    const Node* value = map.Find(key);
    if (value != nullptr && !value->IsNull()) continue;
    Report(Reason::kConfigMissing, map, fmt::format("{} needs the key '{}'", path, key));
    all = false;
  }
  return all;
}

void Reader::Report(Reason reason, const Node& at, std::string message) {
  findings_.Add(document_.ProblemAt(reason, at, std::move(message)));
}

void Reader::ReportType(const Node& node, const std::string& path, std::string_view wanted) {
  Report(Reason::kConfigWrongType, node,
         fmt::format("{} takes {}, not {}", path, wanted, Described(node)));
}

}  // namespace tessera::config::nvidia
