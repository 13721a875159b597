// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/faults.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "json/json.h"

namespace tessera::dummy {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kLongestMs = 86'400'000;  // a day

Status ReadText(std::optional<std::string>& out, const json::Value& value, std::string_view key) {
  const auto* text = value.if_string();
  if (text == nullptr) return Fail(Reason::kInvalid, "\"{}\" must be text", key);
  out = std::string(*text);
  return {};
}

Status ReadMilliseconds(Duration& out, const json::Value& value, std::string_view key) {
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < 1 || *number > kLongestMs) {
    return Fail(Reason::kInvalid, "\"{}\" must be milliseconds, 1 to {}", key, kLongestMs);
  }
  out = Duration(*number);
  return {};
}

Status ReadFlag(bool& out, const json::Value& value, std::string_view key) {
  const bool* flag = value.if_bool();
  if (flag == nullptr) return Fail(Reason::kInvalid, "\"{}\" must be true or false", key);
  out = *flag;
  return {};
}

Status ReadMember(Fault& fault, std::string_view key, const json::Value& value) {
  if (key == "fail") return ReadText(fault.fail, value, key);
  if (key == "broken") return ReadText(fault.broken, value, key);
  if (key == "resetFails") return ReadText(fault.reset_fails, value, key);
  if (key == "slowMs") return ReadMilliseconds(fault.slow, value, key);
  if (key == "flapMs") return ReadMilliseconds(fault.flap, value, key);
  if (key == "hidden") return ReadFlag(fault.hidden, value, key);
  return Fail(Reason::kInvalid, "unknown key \"{}\"", key);
}

Status ReadDevices(Faults& faults, const json::Value& value) {
  const json::Object* devices = value.if_object();
  if (devices == nullptr) return Fail(Reason::kInvalid, "\"devices\" must be an object");
  for (const auto& [id, members] : *devices) {
    const std::string where = fmt::format("device \"{}\"", std::string_view(id));
    const json::Object* object = members.if_object();
    if (object == nullptr) return Fail(Reason::kInvalid, "{}: must be an object", where);
    Fault fault;
    for (const auto& [key, member] : *object) TRY_IN(ReadMember(fault, key, member), where);
    if (fault != Fault{}) faults.devices.insert_or_assign(std::string(id), std::move(fault));
  }
  return {};
}

json::Object Document(const Fault& fault) {
  json::Object object;
  if (fault.fail) object["fail"] = *fault.fail;
  if (fault.flap.count() > 0) object["flapMs"] = fault.flap.count();
  if (fault.broken) object["broken"] = *fault.broken;
  if (fault.slow.count() > 0) object["slowMs"] = fault.slow.count();
  if (fault.reset_fails) object["resetFails"] = *fault.reset_fails;
  if (fault.hidden) object["hidden"] = true;
  return object;
}

std::string OrElse(std::string_view detail, std::string_view fallback) {
  return std::string(detail.empty() ? fallback : detail);
}

Status SetDuration(Duration& out, std::string_view detail, Duration fallback) {
  const std::optional<Duration> duration = detail.empty() ? fallback : ParseDuration(detail);
  if (!duration || duration->count() < 1 || duration->count() > kLongestMs) {
    return Fail(Reason::kInvalid, "\"{}\" is not a duration between 1ms and 24h, such as \"2s\"",
                detail);
  }
  out = *duration;
  return {};
}

// A verb that concerns one device.
struct Verb {
  std::string_view name;
  Status (*apply)(Fault& fault, std::string_view detail);
};

constexpr std::array kVerbs = {
    Verb{"fail",
         [](Fault& fault, std::string_view detail) -> Status {
           fault.fail = OrElse(detail, "injected failure");
           return {};
         }},
    Verb{"flap",
         [](Fault& fault, std::string_view detail) -> Status {
           return SetDuration(fault.flap, detail, Duration(2'000));
         }},
    Verb{"slow",
         [](Fault& fault, std::string_view detail) -> Status {
           return SetDuration(fault.slow, detail, Duration(10'000));
         }},
    Verb{"break",
         [](Fault& fault, std::string_view detail) -> Status {
           fault.broken = OrElse(detail, "injected health check error");
           return {};
         }},
    Verb{"reset-fails",
         [](Fault& fault, std::string_view detail) -> Status {
           fault.reset_fails = OrElse(detail, "injected reset failure");
           return {};
         }},
    Verb{"heal",
         [](Fault& fault, std::string_view) -> Status {
           fault = Fault{.hidden = fault.hidden};  // an unplugged device stays so until "show"
           return {};
         }},
    Verb{"hide",
         [](Fault& fault, std::string_view) -> Status {
           fault.hidden = true;
           return {};
         }},
    Verb{"show",
         [](Fault& fault, std::string_view) -> Status {
           fault.hidden = false;
           return {};
         }},
};

}  // namespace

Fault Faults::Of(std::string_view id) const {
  const auto it = devices.find(id);
  return it == devices.end() ? Fault{} : it->second;
}

Result<Faults> ParseFaults(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  const json::Object* object = value.if_object();
  if (object == nullptr) return Fail(Reason::kInvalid, "must be an object");
  if (json::GetInt(*object, "version") != kVersion) {
    return Fail(Reason::kInvalid, "\"version\" must be {}", kVersion);
  }
  Faults faults;
  for (const auto& [key, member] : *object) {
    if (key == "version") continue;
    if (key == "lost") {
      TRY(ReadFlag(faults.lost, member, key));
    } else if (key == "devices") {
      TRY(ReadDevices(faults, member));
    } else {
      return Fail(Reason::kInvalid, "unknown key \"{}\"", std::string_view(key));
    }
  }
  return faults;
}

std::string WriteFaults(const Faults& faults) {
  json::Object devices;
  for (const auto& [id, fault] : faults.devices) devices[id] = Document(fault);
  json::Object document;
  document["version"] = kVersion;
  document["lost"] = faults.lost;
  document["devices"] = std::move(devices);
  return json::WritePretty(document);
}

Status ApplyVerb(Faults& faults, std::string_view verb, std::string_view id,
                 std::string_view detail) {
  if (verb == "lose-all" || verb == "restore") {
    if (!id.empty()) return Fail(Reason::kInvalid, "\"{}\" concerns all devices; name none", verb);
    if (verb == "restore") faults = Faults{};
    if (verb == "lose-all") faults.lost = true;
    return {};
  }
  const auto known = std::ranges::find(kVerbs, verb, &Verb::name);
  if (known == kVerbs.end()) {
    return Fail(Reason::kInvalid, "no fault is called \"{}\"; there are {}", verb,
                Join(FaultVerbs(), ", "));
  }
  if (id.empty()) return Fail(Reason::kInvalid, "\"{}\" needs the id of a device", verb);
  Fault fault = faults.Of(id);
  TRY_IN(known->apply(fault, detail), verb);
  faults.devices.erase(std::string(id));
  if (fault != Fault{}) faults.devices.emplace(id, std::move(fault));
  return {};
}

std::vector<std::string> FaultVerbs() {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  names.insert(names.end(), {"lose-all", "restore"});
  return names;
}

bool InFailingPhase(Duration period, Steady now) {
  return now.time_since_epoch() / period % 2 == 1;
}

Steady NextPhase(Duration period, Steady now) {
  return Steady((now.time_since_epoch() / period + 1) * period);
}

}  // namespace tessera::dummy
