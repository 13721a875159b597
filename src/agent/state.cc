// SPDX-License-Identifier: Apache-2.0
#include "agent/state.h"

#include "agent/device_json.h"
#include "json/json.h"

namespace tessera::agent {
namespace {

constexpr size_t kMaxTimes = 64;  // of failures and falls read from a file

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
  if (!device.present) object["present"] = false;
  if (device.defect) object["defect"] = ErrorObject(*device.defect);
  json::Array numa(device.numa_nodes.begin(), device.numa_nodes.end());
  if (!numa.empty()) object["numaNodes"] = std::move(numa);
  if (!device.nodes.empty()) object["nodes"] = NodesJson(device.nodes);
  if (!device.mounts.empty()) object["mounts"] = MountsJson(device.mounts);
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
  device.visible_as = json::GetString(object, "visibleAs").value_or(key.id);
  device.key = std::move(key);
  device.present = json::GetBool(object, "present").value_or(true);
  device.defect = ReadError(json::GetObject(object, "defect"));
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
  return object;
}

// Nothing when the state is none we know: such a device is verified anew.
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
  return verdict;
}

template <class F>
void EachKeyed(const json::Object& object, std::string_view name, F f) {
  const json::Array* array = json::GetArray(object, name);
  if (array == nullptr) return;
  for (const json::Value& value : *array) {
    if (!value.is_object()) continue;
    if (auto key = ReadKey(value.get_object())) f(*std::move(key), value.get_object());
  }
}

void ReadPolicies(const json::Object& object, SavedState& state) {
  const json::Array* array = json::GetArray(object, "policies");
  if (array == nullptr) return;
  for (const json::Value& value : *array) {
    if (!value.is_object()) continue;
    const json::Object& item = value.get_object();
    std::string source = json::GetString(item, "source").value_or("");
    bool whole = json::GetString(item, "division") == DivisionName(Division::kWhole);
    auto replicas = static_cast<int>(json::GetInt(item, "replicas").value_or(1));
    if (source.empty() || replicas < 1) continue;
    state.policies[source] = {whole ? Division::kWhole : Division::kReplicas, replicas};
  }
}

}  // namespace

std::string WriteState(const SavedState& state) {
  json::Array devices;
  for (const Device& device : state.devices) devices.push_back(DeviceObject(device));
  json::Array verdicts;
  for (const auto& [key, verdict] : state.verdicts) verdicts.push_back(VerdictObject(key, verdict));
  json::Array cordons;
  for (const auto& [key, cordon] : state.cordons) {
    cordons.push_back(json::Object{{"source", key.source},
                                   {"id", key.id},
                                   {"reason", cordon.reason},
                                   {"since", cordon.since.time_since_epoch().count()}});
  }
  json::Array policies;
  for (const auto& [source, policy] : state.policies) {
    policies.push_back(json::Object{{"source", source},
                                    {"division", DivisionName(policy.division)},
                                    {"replicas", policy.replicas}});
  }
  return json::Write(json::Object{{"version", kStateVersion},
                                  {"bootId", state.boot_id},
                                  {"devices", std::move(devices)},
                                  {"verdicts", std::move(verdicts)},
                                  {"cordons", std::move(cordons)},
                                  {"policies", std::move(policies)}});
}

Result<SavedState> ParseState(std::string_view text) {
  auto value = json::Parse(text);
  if (!value) return Fail(Reason::kStateCorrupt, "{}", value.error().message);
  if (!value->is_object()) return Fail(Reason::kStateCorrupt, "it is not a JSON object");
  const json::Object& object = value->get_object();
  int64_t version = json::GetInt(object, "version").value_or(0);
  if (version > kStateVersion) {
    return Fail(Reason::kStateNewer, "it has version {}, this agent knows {}", version,
                kStateVersion);
  }
  if (version < 1) return Fail(Reason::kStateCorrupt, "it has no version");
  SavedState state;
  state.boot_id = json::GetString(object, "bootId").value_or("");
  EachKeyed(object, "devices", [&](DeviceKey key, const json::Object& item) {
    state.devices.push_back(ReadDevice(std::move(key), item));
  });
  EachKeyed(object, "verdicts", [&](const DeviceKey& key, const json::Object& item) {
    if (auto verdict = ReadVerdict(item)) state.verdicts[key] = *std::move(verdict);
  });
  EachKeyed(object, "cordons", [&](const DeviceKey& key, const json::Object& item) {
    state.cordons[key] = {json::GetString(item, "reason").value_or(""),
                          Wall(Duration(json::GetInt(item, "since").value_or(0)))};
  });
  ReadPolicies(object, state);
  return state;
}

}  // namespace tessera::agent
