// SPDX-License-Identifier: Apache-2.0
#include "node/state.h"

#include "json/json.h"
#include "node/device_json.h"

namespace tessera {
namespace {

constexpr size_t kMaxTimes = 128;  // the most failures and falls read from a file

int64_t Ms(Steady time) {
  return time.time_since_epoch().count();
}

json::Array Times(const std::vector<Steady>& times) {
  json::Array array;
  for (Steady time : times) array.push_back(Ms(time));
  return array;
}

std::vector<Steady> ReadTimes(const json::Object& object, std::string_view key) {
  std::vector<Steady> times;
  const json::Array* array = json::GetArray(object, key);
  if (array == nullptr) return times;
  for (const json::Value& value : *array) {
    if (value.is_int64() && times.size() < kMaxTimes) {
      times.emplace_back(Duration(value.get_int64()));
    }
  }
  return times;
}

json::Object ErrorObject(const Error& error) {
  return {{"reason", ReasonName(error.reason)}, {"message", error.message}};
}

json::Object DeviceObject(const Device& device) {
  json::Object object{{"source", device.key.source},
                      {"id", device.key.id},
                      {"model", device.model},
                      {"visibleAs", device.visible_as}};
  if (!device.address.empty()) object["address"] = device.address;
  if (device.order != 0) object["order"] = device.order;
  if (device.memory != 0) object["memory"] = device.memory;
  if (!device.parent.empty()) object["parent"] = device.parent;
  if (!device.present) object["present"] = false;
  if (device.defect) object["defect"] = ErrorObject(*device.defect);
  json::Array numa(device.numa_nodes.begin(), device.numa_nodes.end());
  if (!numa.empty()) object["numaNodes"] = std::move(numa);
  if (!device.nodes.empty()) object["nodes"] = NodesJson(device.nodes);
  if (!device.mounts.empty()) object["mounts"] = MountsJson(device.mounts);
  if (!device.traits.empty()) object["traits"] = TraitsJson(*device.traits);
  return object;
}

std::optional<DeviceKey> ReadKey(const json::Object& object) {
  auto source = json::GetString(object, "source");
  auto id = json::GetString(object, "id");
  if (!source || !id || source->empty() || id->empty()) return std::nullopt;
  return DeviceKey{*std::move(source), *std::move(id)};
}

std::optional<Error> ReadError(const json::Object* object) {
  if (object == nullptr) return std::nullopt;
  Reason reason =
      ReasonFromName(json::GetString(*object, "reason").value_or("")).value_or(Reason::kUnreadable);
  return Error{reason, json::GetString(*object, "message").value_or("")};
}

void ReadFiles(const json::Object& object, Device& device) {
  if (const json::Array* nodes = json::GetArray(object, "nodes")) {
    for (const json::Value& value : *nodes) {
      if (!value.is_object()) continue;
      const json::Object& node = value.get_object();
      device.nodes.push_back({json::GetString(node, "hostPath").value_or(""),
                              json::GetString(node, "containerPath").value_or(""),
                              json::GetString(node, "permissions").value_or("rw")});
    }
  }
  if (const json::Array* mounts = json::GetArray(object, "mounts")) {
    for (const json::Value& value : *mounts) {
      if (!value.is_object()) continue;
      const json::Object& mount = value.get_object();
      device.mounts.push_back({json::GetString(mount, "hostPath").value_or(""),
                               json::GetString(mount, "containerPath").value_or(""),
                               json::GetBool(mount, "readOnly").value_or(true)});
    }
  }
}

Device ReadDevice(DeviceKey key, const json::Object& object) {
  Device device;
  device.model = json::GetString(object, "model").value_or("");
  device.address = json::GetString(object, "address").value_or("");
  device.visible_as = json::GetString(object, "visibleAs").value_or(key.id);
  device.order = static_cast<int>(json::GetInt(object, "order").value_or(0));
  device.memory = json::GetInt(object, "memory").value_or(0);
  device.parent = json::GetString(object, "parent").value_or("");
  device.key = std::move(key);
  device.present = json::GetBool(object, "present").value_or(true);
  device.defect = ReadError(json::GetObject(object, "defect"));
  if (const json::Object* traits = json::GetObject(object, "traits")) {
    device.traits = ReadTraits(*traits);
  }
  if (const json::Array* numa = json::GetArray(object, "numaNodes")) {
    for (const json::Value& value : *numa) {
      if (value.is_int64()) device.numa_nodes.push_back(static_cast<int>(value.get_int64()));
    }
  }
  ReadFiles(object, device);
  return device;
}

json::Object VerdictObject(const DeviceKey& key, const Verdict& verdict) {
  json::Object object{{"source", key.source},
                      {"id", key.id},
                      {"state", HealthStateName(verdict.state)},
                      {"since", Ms(verdict.since)}};
  if (verdict.state != HealthState::kHealthy) {
    object["reason"] = ReasonName(verdict.reason);
    object["detail"] = verdict.detail;
    object["passes"] = verdict.passes;
  }
  if (!verdict.failures.empty()) object["failures"] = Times(verdict.failures);
  if (!verdict.falls.empty()) object["falls"] = Times(verdict.falls);
  if (verdict.held_until != Steady{}) object["heldUntil"] = Ms(verdict.held_until);
  if (verdict.remedy != Remedy::kNone) object["remedy"] = RemedyName(verdict.remedy);
  return object;
}

// Nothing if the state is unknown: the device is then verified again.
std::optional<Verdict> ReadVerdict(const json::Object& object) {
  auto state = HealthStateFromName(json::GetString(object, "state").value_or(""));
  if (!state) return std::nullopt;
  Verdict verdict;
  verdict.state = *state;
  verdict.reason =
      ReasonFromName(json::GetString(object, "reason").value_or("")).value_or(Reason::kNotChecked);
  verdict.detail = json::GetString(object, "detail").value_or("");
  verdict.passes = static_cast<int>(json::GetInt(object, "passes").value_or(0));
  verdict.since = Steady(Duration(json::GetInt(object, "since").value_or(0)));
  verdict.failures = ReadTimes(object, "failures");
  verdict.falls = ReadTimes(object, "falls");
  verdict.held_until = Steady(Duration(json::GetInt(object, "heldUntil").value_or(0)));
  // An unknown remedy counts as the strongest known one.
  verdict.remedy =
      RemedyFromName(json::GetString(object, "remedy").value_or("none")).value_or(Remedy::kReboot);
  return verdict;
}

// Appends the object as a line, without a copy of it.
void AddLine(const json::Value& object, std::string& text) {
  text += json::Write(object);
  text += '\n';
}

// Passes the first line, which has the version, to `header`, and every other line to `each`.
template <class Header, class Each>
Status ReadLines(std::string_view text, Header header, Each each) {
  bool first = true;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return Fail(Reason::kStateCorrupt, "line {} has no end", number);
    }
    auto value = json::Parse(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!value) return Fail(Reason::kStateCorrupt, "line {}: {}", number, value.error().message);
    if (!value->is_object()) {
      return Fail(Reason::kStateCorrupt, "line {} is not a JSON object", number);
    }
    const json::Object& object = value->get_object();
    if (!first) {
      each(object);
      continue;
    }
    first = false;
    const int64_t version = json::GetInt(object, "version").value_or(0);
    if (version > kStateVersion) {
      return Fail(Reason::kStateNewer, "it has version {}, this agent knows {}", version,
                  kStateVersion);
    }
    if (version < 1) return Fail(Reason::kStateCorrupt, "it has no version");
    header(object);
  }
  if (first) return Fail(Reason::kStateCorrupt, "it is empty");
  return {};
}

Division DivisionNamed(std::string_view name) {
  for (const Division division : {Division::kWhole, Division::kMps, Division::kVgpu}) {
    if (name == DivisionName(division)) return division;
  }
  return Division::kReplicas;
}

void ReadPlan(const json::Object& item, Plans& plans) {
  std::string source = json::GetString(item, "source").value_or("");
  const std::string division = json::GetString(item, "division").value_or("");
  const auto replicas = static_cast<int>(json::GetInt(item, "replicas").value_or(1));
  if (source.empty() || replicas < 1) return;
  const bool dash = json::GetString(item, "separator") == SeparatorName(Separator::kDash);
  Plan plan{{DivisionNamed(division), replicas, dash ? Separator::kDash : Separator::kColons}};
  if (const json::Array* kept = json::GetArray(item, "kept")) {
    for (const json::Value& value : *kept) {
      if (!value.is_string() || value.get_string().empty()) continue;
      const std::string id(value.get_string());
      plan.kept[DeviceOfShare(id)].insert(id);
    }
  }
  plans[source] = std::move(plan);
}

json::Object PlanObject(const std::string& source, const Plan& plan) {
  json::Object object{{"source", source},
                      {"division", DivisionName(plan.policy.division)},
                      {"replicas", plan.policy.replicas},
                      {"separator", SeparatorName(plan.policy.separator)}};
  json::Array kept;
  for (const auto& [device, ids] : plan.kept) kept.insert(kept.end(), ids.begin(), ids.end());
  if (!kept.empty()) object["kept"] = std::move(kept);
  return object;
}

void ReadFact(const json::Object& line, Facts& facts) {
  if (const json::Object* device = json::GetObject(line, "device")) {
    if (auto key = ReadKey(*device)) facts.devices.push_back(ReadDevice(*std::move(key), *device));
  }
  if (const json::Object* cordon = json::GetObject(line, "cordon")) {
    if (auto key = ReadKey(*cordon)) {
      facts.cordons[*std::move(key)] = {json::GetString(*cordon, "reason").value_or(""),
                                        Wall(Duration(json::GetInt(*cordon, "since").value_or(0)))};
    }
  }
  if (const json::Object* policy = json::GetObject(line, "policy")) {
    ReadPlan(*policy, facts.plans);
  }
}

}  // namespace

std::string WriteFacts(const DeviceList& devices, const Cordons& cordons, const Plans& plans) {
  std::string text;
  AddLine({{"version", kStateVersion}}, text);
  for (const Device& device : devices) AddLine({{"device", DeviceObject(device)}}, text);
  for (const auto& [key, cordon] : cordons) {
    AddLine({{"cordon", json::Object{{"source", key.source},
                                     {"id", key.id},
                                     {"reason", cordon.reason},
                                     {"since", cordon.since.time_since_epoch().count()}}}},
            text);
  }
  for (const auto& [source, plan] : plans) AddLine({{"policy", PlanObject(source, plan)}}, text);
  return text;
}

Result<Facts> ParseFacts(std::string_view text) {
  Facts facts;
  TRY(ReadLines(
      text, [](const json::Object&) {}, [&](const json::Object& line) { ReadFact(line, facts); }));
  return facts;
}

std::string VerdictsHeader(std::string_view boot_id) {
  std::string text;
  AddLine({{"version", kStateVersion}, {"bootId", boot_id}}, text);
  return text;
}

std::string VerdictLine(const DeviceKey& key, const Verdict& verdict) {
  std::string text;
  AddLine(VerdictObject(key, verdict), text);
  return text;
}

Result<Verdicts> ParseVerdicts(std::string_view text, std::string_view boot_id,
                               std::optional<Error>* torn) {
  Verdicts verdicts;
  bool begun = false;
  bool same_boot = false;
  Status read = ReadLines(
      text,
      [&](const json::Object& header) {
        begun = true;
        same_boot = json::GetString(header, "bootId").value_or("") == boot_id;
      },
      [&](const json::Object& line) {
        auto key = ReadKey(line);
        if (!same_boot || !key) return;
        if (auto verdict = ReadVerdict(line)) {
          verdicts[*std::move(key)] = *std::move(verdict);
        } else {
          verdicts.erase(*key);
        }
      });
  if (read) return verdicts;
  if (!begun) return Fail(read.error());
  if (torn != nullptr && same_boot) *torn = read.error();
  std::erase_if(verdicts, [](const auto& item) { return item.second.offered(); });
  return verdicts;
}

}  // namespace tessera
