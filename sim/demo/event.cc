// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/event.h"

#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "share/share.h"

namespace tessera::demo {
namespace {

using Kind = kubelet::KubeletEvent::Kind;

// Shorter waits get no line for people.
constexpr Duration kNoticed{20};

// kubelet's events that other observations do not show.
struct Telling {
  Tone tone;
  std::string_view name;
};
std::optional<Telling> TellingOf(Kind kind) {
  switch (kind) {
    case Kind::kRegistered:
      return Telling{Tone::kGood, "registered"};
    case Kind::kRegisterRefused:
      return Telling{Tone::kWarning, "register-refused"};
    case Kind::kStreamEnded:
      return Telling{Tone::kBad, "stream-ended"};
    default:
      return std::nullopt;
  }
}

// A whole number; null: none.
std::optional<int> NumberIn(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

// Shares of GPUs by index, ascending; others by id.
std::vector<std::string> Named(const std::vector<std::string>& ids, const HardwareNames& names) {
  std::vector<std::pair<std::string, std::string>> shares;  // device, rest of the share
  for (const std::string& id : ids) {
    const std::string device = DeviceOfShare(id);
    const std::string name = names.Of(device);
    shares.push_back(name == device ? std::pair(id, std::string())
                                    : std::pair(name, id.substr(device.size())));
  }
  std::ranges::stable_sort(shares, NaturalLess(), [](const auto& share) { return share.first; });
  std::vector<std::string> named;
  for (const auto& [device, share] : shares) named.push_back(device + share);
  return named;
}

// "24576 MiB and 30% of GPU 0, 8192 MiB and 10% of GPU 1".
std::string PartsText(const std::vector<Fraction>& parts, const HardwareNames& names) {
  std::vector<std::string> texts;
  for (const Fraction& part : parts) {
    texts.push_back(
        fmt::format("{} MiB and {}% of GPU {}", part.memory, part.cores, names.Of(part.device)));
  }
  return Join(texts, ", ");
}

std::string GrantsText(const kubelet::Admission& admission, const HardwareNames& names,
                       const Worth& worth) {
  std::string text;
  for (const kubelet::ContainerGrant& grant : admission.grants) {
    if (!text.empty()) text += "; ";
    if (grant.container != kMainContainer) text += grant.container + " ";
    const std::vector<Fraction> parts = worth.Of(grant.resource, grant.ids);
    text +=
        fmt::format("{} {}", grant.resource,
                    parts.empty() ? ShortIds(Named(grant.ids, names)) : PartsText(parts, names));
  }
  return text.empty() ? "no devices" : text;
}

json::Array PartsJson(const std::vector<Fraction>& parts, const HardwareNames& names) {
  json::Array array;
  for (const Fraction& part : parts) {
    array.push_back(json::Object{{"gpu", names.Of(part.device)},
                                 {"memory_mib", part.memory},
                                 {"compute_percent", part.cores}});
  }
  return array;
}

json::Array GrantsJson(const kubelet::Admission& admission, const HardwareNames& names,
                       const Worth& worth) {
  json::Array grants;
  for (const kubelet::ContainerGrant& grant : admission.grants) {
    json::Array ids;
    for (const std::string& id : grant.ids) ids.emplace_back(id);
    json::Object envs;
    for (const auto& [name, value] : grant.response.envs) envs[name] = value;
    json::Object told = {{"container", grant.container},
                         {"resource", grant.resource},
                         {"ids", std::move(ids)},
                         {"env", std::move(envs)}};
    const std::vector<Fraction> parts = worth.Of(grant.resource, grant.ids);
    if (!parts.empty()) told["parts"] = PartsJson(parts, names);
    grants.push_back(std::move(told));
  }
  return grants;
}

// Part of another device.
bool IsPart(const HardwareDevice& device) {
  return device.index.find(':') != std::string::npos;
}

std::string PartWord(const HardwareDevice& device) {
  if (device.id.starts_with("MIG-")) return "MIG device";
  return device.name == "virtual function" ? device.name : "partition";
}

// "8 x NVIDIA A100-SXM4-80GB".
std::string HardwareText(const std::vector<HardwareDevice>& devices) {
  std::map<std::string, size_t> models, words;
  for (const HardwareDevice& device : devices) {
    ++(IsPart(device) ? words[PartWord(device)] : models[device.name]);
  }
  std::vector<std::string> parts;
  for (const auto& [model, count] : models) parts.push_back(fmt::format("{} x {}", count, model));
  for (const auto& [word, count] : words) parts.push_back(Count(count, word));
  return "hardware: " + Join(parts, ", ");
}

// "GPU 6 is divided into 3g.40gb, 2g.20gb".
std::string DivisionText(const std::vector<HardwareDevice>& devices) {
  std::map<std::string, std::vector<std::string>, NaturalLess> profiles;  // by GPU
  for (const HardwareDevice& device : devices) {
    const size_t colon = device.index.find(':');
    std::vector<std::string>& of = profiles[device.index.substr(0, colon)];
    if (IsPart(device) && !device.index.ends_with(":-")) of.push_back(device.name);
  }
  std::vector<std::string> parts;
  for (const auto& [gpu, of] : profiles) {
    parts.push_back(
        fmt::format("GPU {} is divided into {}", gpu, of.empty() ? "nothing" : Join(of, ", ")));
  }
  return Join(parts, "; ");
}

std::string FaultText(const Fault& fault) {
  const std::string device = fault.resource + " " + fault.device;
  if (fault.verb == "fail") return "device " + device + " fails";
  if (fault.verb == "heal") return "device " + device + " heals";
  if (fault.verb == "flap") return "device " + device + " begins to flap";
  if (fault.verb == "hide") return "device " + device + " is pulled out";
  if (fault.verb == "show") return "device " + device + " is back in";
  if (fault.verb == "slow") return "health checks of " + device + " become slow";
  if (fault.verb == "break") return "health checks of " + device + " break";
  if (fault.verb == "reset-fails") return "resets of " + device + " fail";
  if (fault.verb == "lose-all") return "all devices of " + fault.resource + " are lost";
  return "all devices of " + fault.resource + " are restored";
}

}  // namespace

std::vector<Event> Narrator::EventsOf(const Observation& observation) {
  events_.clear();
  at_ = observation.at;
  worth_.Learn(observation);
  std::visit([this](const auto& what) { Narrate(what); }, observation.what);
  if (!observation.scenario_line.empty()) {
    for (Event& event : events_) event.details["step"] = observation.scenario_line;
  }
  NarrateCounts(observation.resources);
  return std::move(events_);
}

Event Narrator::EventsOf(Duration at, const Breach& breach) {
  Event event{.at = at, .tone = Tone::kBroken, .name = "law-broken", .text = {}, .details = {}};
  event.text = fmt::format("LAW BROKEN: {}: {}", LawText(breach.law), breach.text);
  event.details["law"] = LawName(breach.law);
  return event;
}

void Narrator::Narrate(const Caption& said) {
  Add(Tone::kStory, "say", said.text);
}

void Narrator::Narrate(const KubeletTold& told) {
  const std::optional<Telling> telling = TellingOf(told.event.kind);
  if (!telling) return;
  // kubelet's sentence has a socket's long path.
  std::string text = told.event.text;
  if (told.event.kind == Kind::kRegistered) text = told.event.resource + " registered";
  Event& event = Add(telling->tone, std::string(telling->name), std::move(text));
  event.details["resource"] = told.event.resource;
  event.details["kubelet"] = told.event.text;
}

void Narrator::Narrate(const KubeletMoved& moved) {
  Add(moved.up ? Tone::kGood : Tone::kBad, moved.up ? "kubelet-up" : "kubelet-down",
      "kubelet " + moved.how);
}

void Narrator::Narrate(const AgentMoved& moved) {
  const Tone tone = moved.up ? Tone::kGood : moved.wanted ? Tone::kBad : Tone::kBroken;
  Event& event = Add(tone, moved.up ? "agent-up" : "agent-down",
                     fmt::format("agent {} {}", moved.pid, moved.how));
  event.details["pid"] = moved.pid;
}

void Narrator::Narrate(const PodTried& tried) {
  const std::string pod = PodText(tried.pod.pod_namespace, tried.pod.name);
  const kubelet::Admission& admission = tried.admission;
  if (!admission.admitted) {
    Event& event =
        Add(Tone::kWarning, "pod-refused",
            fmt::format("pod {} refused: {}: {}", pod, admission.reason, admission.message));
    event.details["pod"] = pod;
    event.details["reason"] = admission.reason;
    event.details["message"] = admission.message;
    return;
  }
  Event& event =
      Add(Tone::kPlain, "pod-admitted",
          fmt::format("pod {} runs with {}", pod, GrantsText(admission, names_, worth_)));
  event.details["pod"] = pod;
  event.details["grants"] = GrantsJson(admission, names_, worth_);
  for (const auto& [container, message] : admission.start_failures) {
    Event& failure = Add(Tone::kBad, "start-failed",
                         fmt::format("pod {}: {} did not start: {}", pod, container, message));
    failure.details["pod"] = pod;
  }
}

void Narrator::Narrate(const PodEnded& ended) {
  Add(Tone::kPlain, "pod-ended", "pod " + ended.pod + " ended").details["pod"] = ended.pod;
}

void Narrator::Narrate(const ContainerRestarted& restarted) {
  std::string text = fmt::format("pod {}: {} ", restarted.pod, restarted.container);
  text +=
      restarted.error ? "did not start: " + restarted.error->message : "restarted with its devices";
  Event& event = Add(restarted.error ? Tone::kBad : Tone::kPlain, "container-restarted", text);
  event.details["pod"] = restarted.pod;
  event.details["container"] = restarted.container;
}

void Narrator::Narrate(const FaultMade& made) {
  const bool good =
      made.fault.verb == "heal" || made.fault.verb == "show" || made.fault.verb == "restore";
  Event& event = Add(good ? Tone::kGood : Tone::kBad, "fault", FaultText(made.fault));
  event.details["verb"] = made.fault.verb;
  event.details["resource"] = made.fault.resource;
  event.details["device"] = made.fault.device;
}

void Narrator::Narrate(const HardwareMade& made) {
  names_.Learn(made.devices);
  if (!made.change) {
    Add(Tone::kGood, "hardware", HardwareText(made.devices));
    return;
  }
  const std::string_view text = Trim(made.change->yaml);
  const bool mig = made.change->what == ChangeHardware::What::kMig;
  std::string told = mig            ? DivisionText(made.devices)
                     : text.empty() ? "hardware: all faults are cleared"
                                    : fmt::format("hardware: {}", text);
  const Tone tone = text.empty() ? Tone::kGood : Tone::kWarning;
  Event& event = Add(tone, mig ? "mig" : "hardware", std::move(told));
  event.details["yaml"] = made.change->yaml;
}

void Narrator::Narrate(const CordonMade& made) {
  const SetCordon& cordon = made.cordon;
  std::string text = fmt::format("device {} {} {}", cordon.resource, cordon.device,
                                 cordon.out ? "cordoned" : "uncordoned");
  if (cordon.out && !cordon.reason.empty()) text += ": " + cordon.reason;
  Event& event = Add(Tone::kWarning, cordon.out ? "cordon" : "uncordon", std::move(text));
  event.details["resource"] = cordon.resource;
  event.details["device"] = cordon.device;
}

void Narrator::Narrate(const Refused& refused) {
  Add(Tone::kBroken, "step-failed", refused.what + ": " + refused.error.Text());
}

void Narrator::Narrate(const Configured& configured) {
  if (configured.first) return;
  if (configured.broken) {
    Add(Tone::kWarning, "configured", "a broken configuration is written");
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, env] : configured.envs) names.push_back(name);
  Add(Tone::kPlain, "configured", "new configuration: " + Join(names, ", "));
}

void Narrator::Narrate(const LedgerRead& read) {
  Add(Tone::kPlain, "ledger",
      fmt::format("the ledger has {}", Count(read.holdings.size(), "holding")));
}

void Narrator::Narrate(const LimitsRead&) {}
void Narrator::Narrate(const InventoryRead&) {}
void Narrator::Narrate(const Waiting&) {}

void Narrator::Narrate(const Expected& expected) {
  const std::string waited = MeasuredText(expected.waited);
  std::string text = expected.met ? fmt::format("as expected after {}: {}", waited, expected.text)
                                  : fmt::format("NOT AS EXPECTED after {}: {}; seen: {}", waited,
                                                expected.text, expected.seen);
  Event& event = Add(expected.met ? Tone::kGood : Tone::kBroken,
                     expected.met ? "expected" : "not-expected", std::move(text));
  event.details["waited_ms"] = expected.waited.count();
  event.quiet = expected.met && expected.waited < kNoticed;
}

void Narrator::NarrateCounts(const std::vector<kubelet::ResourceStatus>& resources) {
  for (const kubelet::ResourceStatus& resource : resources) {
    const std::pair<int, int> now = {resource.capacity, resource.allocatable};
    const auto [entry, fresh] = counts_.try_emplace(resource.name, std::pair(0, 0));
    if (entry->second == now) continue;
    const bool fewer = now.second < entry->second.second;
    entry->second = now;
    Event& event =
        Add(fewer ? Tone::kWarning : Tone::kGood, "list",
            fmt::format("{}: {} of {} allocatable", resource.name, now.second, now.first));
    event.details["resource"] = resource.name;
    event.details["capacity"] = now.first;
    event.details["allocatable"] = now.second;
  }
}

Event& Narrator::Add(Tone tone, std::string name, std::string_view text) {
  events_.push_back({at_, tone, std::move(name), OneLine(text), {}});
  return events_.back();
}

std::string ClockText(Duration at) {
  const int64_t ms = at.count();
  return fmt::format("{:02}:{:02}.{:03}", ms / 60'000, ms / 1'000 % 60, ms % 1'000);
}

std::string PlainLine(const Event& event) {
  const std::string_view mark = event.tone == Tone::kStory ? "-- " : "";
  return fmt::format("{}  {}{}", ClockText(event.at), mark, event.text);
}

std::string JsonLine(const Event& event) {
  json::Object object;
  object["time_ms"] = event.at.count();
  object["event"] = event.name;
  object["text"] = event.text;
  for (const auto& detail : event.details) object[detail.key()] = detail.value();
  return json::Write(object);
}

std::string ShortIds(const std::vector<std::string>& ids, size_t limit) {
  std::string text;
  size_t runs = 0;
  for (size_t i = 0; i < ids.size();) {
    size_t last = i;
    while (last + 1 < ids.size()) {
      const std::optional<int> here = NumberIn(ids[last]);
      const std::optional<int> next = NumberIn(ids[last + 1]);
      if (!here || !next || *next != *here + 1) break;
      ++last;
    }
    if (runs++ == limit) return text + ",...";
    if (!text.empty()) text += ",";
    text += last > i + 1 ? ids[i] + "-" + ids[last] : ids[i];
    i = last > i + 1 ? last + 1 : i + 1;
  }
  return text;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return out;
}

}  // namespace tessera::demo
