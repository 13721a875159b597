// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command/fields.h"
#include "cli/room_view.h"

namespace tessera::cli {
namespace {

using monitor::CoresLimitOf;
using monitor::MemoryLimitOf;
using monitor::PartOf;

constexpr size_t kMostProcesses = 64;  // of one container, in the table

uint64_t BytesOf(const Fraction& part) {
  return static_cast<uint64_t>(part.memory) << 20;
}

// Our library limits by the grant, whatever the region says; HAMi-core limits by the region.
bool GoesByGrant(const VgpuContainer& container) {
  return container.region.maker == region::Maker::kTessera;
}

std::string NameOf(const VgpuContainer& container) {
  if (!container.pod_name.empty()) return container.pod_name + "/" + container.container;
  if (container.pod.empty() && container.container.empty()) return container.grant;
  return container.pod.empty() ? container.container : container.pod + "/" + container.container;
}

std::string LimitText(uint64_t bytes) {
  return bytes == 0 ? "none" : MibText(bytes);
}
std::string GotText(const std::optional<double>& got) {
  return got ? fmt::format("{:.1f} %", *got) : "";
}

std::string ShownName(const VgpuContainer& container, const View& view) {
  return Shortened(NameOf(container), view) + (container.ended ? " (ended)" : "");
}

std::string_view StateOf(const std::optional<bool>& alive) {
  if (!alive) return "unknown";
  return *alive ? "runs" : "gone";
}

// The process ended in order, and its slot is free for the next one.
bool IsOver(const VgpuContainer& container, size_t process) {
  return container.alive[process] == false && container.region.processes[process].held.empty();
}

std::string DeviceTable(std::span<const VgpuContainer> containers, const View& view) {
  std::vector<std::vector<Cell>> rows;
  for (const VgpuContainer& container : containers) {
    const std::string name = ShownName(container, view);
    // Without a region only the grant is known.
    for (const Fraction& part : container.parts) {
      if (!container.problem) break;
      rows.push_back({{name},
                      {Shortened(part.device, view)},
                      {LimitText(BytesOf(part))},
                      {},
                      {PercentText(part.cores)},
                      {}});
    }
    for (size_t i = 0; i < container.region.devices.size(); ++i) {
      const region::Device& device = container.region.devices[i];
      const uint64_t limit = MemoryLimitOf(container, device);
      const bool over = limit != 0 && device.used > limit;
      rows.push_back({{name},
                      {Shortened(device.uuid, view)},
                      {LimitText(limit)},
                      {MibText(device.used), over ? Tone::kWarning : Tone::kPlain},
                      {PercentText(CoresLimitOf(container, device))},
                      {GotText(container.got[i])}});
    }
  }
  const std::vector<Column> columns = {{"CONTAINER", false, Cut::kMiddle},
                                       {"DEVICE", false, Cut::kMiddle},
                                       {"LIMIT", true},
                                       {"USED", true},
                                       {"SHARE", true},
                                       {"GOT", true}};
  return rows.empty() ? "" : Table(columns, rows, view);
}

void AddProcess(const VgpuContainer& container, size_t at, const View& view,
                std::vector<std::vector<Cell>>& rows) {
  const region::Process& process = container.region.processes[at];
  const std::string state(StateOf(container.alive[at]));
  const Tone tone = container.alive[at] == false ? Tone::kWarning : Tone::kPlain;
  const std::string pid = std::to_string(process.pid);
  for (const region::ProcessUsage& held : process.held) {
    rows.push_back({{ShownName(container, view)},
                    {pid},
                    {state, tone},
                    {Shortened(container.region.devices[held.device].uuid, view)},
                    {MibText(held.context)},
                    {MibText(held.module)},
                    {MibText(held.data)},
                    {held.managed ? MibText(*held.managed) : ""},
                    {MibText(held.total)}});
  }
  if (process.held.empty()) {
    rows.push_back(
        {{ShownName(container, view)}, {pid}, {state, tone}, {}, {}, {}, {}, {}, {MibText(0)}});
  }
}

std::string ProcessTable(std::span<const VgpuContainer> containers, const View& view) {
  std::vector<std::vector<Cell>> rows;
  for (const VgpuContainer& container : containers) {
    size_t shown = 0;
    for (size_t i = 0; i < container.region.processes.size() && shown < kMostProcesses; ++i) {
      if (IsOver(container, i)) continue;
      AddProcess(container, i, view, rows);
      ++shown;
    }
  }
  const std::vector<Column> columns = {{"CONTAINER", false, Cut::kMiddle},
                                       {"PID", true},
                                       {"STATE"},
                                       {"DEVICE", false, Cut::kMiddle},
                                       {"CONTEXT", true},
                                       {"MODULE", true},
                                       {"DATA", true},
                                       {"MANAGED", true},
                                       {"TOTAL", true}};
  return rows.empty() ? "" : "\n" + Table(columns, rows, view);
}

void AddLimitNotes(const VgpuContainer& container, std::vector<std::string>& notes) {
  for (const region::Device& device : container.region.devices) {
    const Fraction* part = PartOf(container, device.uuid);
    if (part == nullptr || BytesOf(*part) == device.limit) continue;
    notes.push_back(
        fmt::format("its region has the limit {} for {}, its grant {}; the library uses the {}",
                    LimitText(device.limit), device.uuid, MibText(BytesOf(*part)),
                    GoesByGrant(container) ? "grant" : "region"));
  }
}

size_t GoneWithMemory(const VgpuContainer& container) {
  size_t count = 0;
  for (size_t i = 0; i < container.region.processes.size(); ++i) {
    const bool holds = !container.region.processes[i].held.empty();
    if (container.alive[i] == false && holds) ++count;
  }
  return count;
}

std::vector<std::string> NotesOf(const VgpuContainer& container) {
  std::vector<std::string> notes;
  const region::Region& region = container.region;
  if (container.problem) {
    const std::string& why = container.problem->message;
    const bool of_file = container.problem->reason == Reason::kBadRegion;
    notes.push_back(of_file ? fmt::format("no region: {}: {}; {}", container.file, why,
                                          ReasonAdvice(Reason::kBadRegion))
                            : why);
  }
  AddLimitNotes(container, notes);
  if (region.odd > 0) {
    notes.push_back(fmt::format("{} in its region {} impossible and ignored",
                                Count(region.odd, "number"), region.odd == 1 ? "is" : "are"));
  }
  if (const size_t gone = GoneWithMemory(container); gone > 0) {
    notes.push_back(
        fmt::format("{} gone and still counted, until the next process of the container starts, "
                    "ends or allocates",
                    gone == 1 ? "1 process is" : fmt::format("{} processes are", gone)));
  }
  if (region.processes.size() > kMostProcesses) {
    notes.push_back(fmt::format("of {} no more than {} are shown; '-o json' has all",
                                Count(region.processes.size(), "slot"), kMostProcesses));
  }
  if (region.IsBlocked()) {
    notes.emplace_back("its launches wait while a container of higher priority works");
  }
  if (region.IsFree()) {
    notes.emplace_back("it may use more than its share of compute time now");
  }
  return notes;
}

// Each note once, with its containers.
std::string NoteLines(std::span<const VgpuContainer> containers, const View& view) {
  constexpr size_t kNamed = 3;
  constexpr size_t kLongestName = 50;
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const VgpuContainer& container : containers) {
    for (const std::string& text : NotesOf(container)) {
      auto at = std::ranges::find(notes, text, [](const auto& note) { return note.first; });
      if (at == notes.end()) at = notes.insert(at, {text, {}});
      std::string name = ShownName(container, view);
      if (view.columns > 0) name = ElideMiddle(name, kLongestName);
      at->second.push_back(std::move(name));
    }
  }
  std::string lines;
  for (const auto& [text, names] : notes) {
    const size_t named = std::min(names.size(), kNamed);
    std::string who = Join(std::span(names.data(), named), ", ");
    if (named < names.size()) who += fmt::format(" and {} more", names.size() - named);
    lines += Note(fmt::format("{}: {}", who, Shortened(text, view)), view);
  }
  return lines;
}

// The holders by the agent's ledger.
class Holders {
 public:
  explicit Holders(const json::Object& ledger)
      : known_(IsTrue(ledger, "reconciled") && TextIn(ledger, "podResources") == "ok") {
    for (const json::Object* holding : ObjectsIn(ledger, "holdings")) {
      const std::string uid = TextIn(*holding, "uid");
      const std::string pod = TextIn(*holding, "pod");
      if (uid.empty()) known_ = false;  // a holder without a pod's UID
      if (!pod.empty()) names_[uid] = TextIn(*holding, "namespace").append("/").append(pod);
      held_.emplace(uid, TextIn(*holding, "container"));
    }
    for (const json::Object* pending : ObjectsIn(ledger, "pending")) {
      for (std::string& id : ListIn(*pending, "shares")) pending_.insert(std::move(id));
    }
  }

  std::string NameOf(const std::string& uid) const {
    const auto known = names_.find(uid);
    return uid.empty() || known == names_.end() ? "" : known->second;
  }

  // Whether kubelet no longer has it. A new container may not be reported yet.
  bool HasEnded(const VgpuContainer& container) const {
    const bool comes = std::ranges::any_of(
        container.ids, [&](const std::string& id) { return pending_.contains(id); });
    const bool may_come = container.ids.empty() && !pending_.empty();
    return known_ && !container.pod.empty() && !container.fresh && !comes && !may_come &&
           !held_.contains({container.pod, container.container});
  }

 private:
  bool known_;
  std::map<std::string, std::string> names_;            // by UID
  std::set<std::pair<std::string, std::string>> held_;  // UID and container
  std::set<std::string> pending_;                       // shares that kubelet has not confirmed yet
};

json::Object DeviceObject(const VgpuContainer& container, size_t at) {
  const region::Device& device = container.region.devices[at];
  json::Object object{{"uuid", device.uuid},
                      {"limitBytes", MemoryLimitOf(container, device)},
                      {"usedBytes", device.used},
                      {"cores", CoresLimitOf(container, device)}};
  if (MemoryLimitOf(container, device) != device.limit) object["regionLimitBytes"] = device.limit;
  if (container.got[at]) object["coresGot"] = *container.got[at];
  return object;
}

json::Object ProcessObject(const VgpuContainer& container, size_t at) {
  const region::Process& process = container.region.processes[at];
  json::Array devices;
  for (const region::ProcessUsage& held : process.held) {
    json::Object device{{"uuid", container.region.devices[held.device].uuid},
                        {"contextBytes", held.context},
                        {"moduleBytes", held.module},
                        {"dataBytes", held.data},
                        {"totalBytes", held.total}};
    if (held.managed) device["managedBytes"] = *held.managed;
    devices.push_back(std::move(device));
  }
  return {{"slot", process.slot},
          {"pid", process.pid},
          {"state", StateOf(container.alive[at])},
          {"devices", std::move(devices)}};
}

json::Object ContainerObject(const VgpuContainer& container) {
  json::Object object{{"pod", container.pod_name},        {"uid", container.pod},
                      {"container", container.container}, {"grant", container.grant},
                      {"resource", container.resource},   {"region", container.file},
                      {"ended", container.ended}};
  if (container.problem) {
    object["problem"] = json::Object{{"reason", ReasonName(container.problem->reason)},
                                     {"message", container.problem->message}};
  }
  json::Array granted;
  for (const Fraction& part : container.parts) {
    granted.push_back(
        json::Object{{"uuid", part.device}, {"limitBytes", BytesOf(part)}, {"cores", part.cores}});
  }
  object["granted"] = std::move(granted);
  if (container.problem) return object;
  const region::Region& region = container.region;
  object["library"] = region::MakerName(region.maker);
  object["policy"] = region.policy;
  object["priority"] = region.priority;
  object["switchedOn"] = region.words.limited != 0;
  object["blocked"] = region.IsBlocked();
  object["oddNumbers"] = region.odd;
  json::Array devices;
  for (size_t i = 0; i < region.devices.size(); ++i) devices.push_back(DeviceObject(container, i));
  object["devices"] = std::move(devices);
  json::Array processes;
  for (size_t i = 0; i < region.processes.size(); ++i) {
    processes.push_back(ProcessObject(container, i));
  }
  object["processes"] = std::move(processes);
  return object;
}

}  // namespace

std::string VgpuText(std::span<const VgpuContainer> containers, const View& view) {
  std::vector<VgpuContainer> shown;
  for (const VgpuContainer& container : containers) {
    if (!container.ended || view.columns == 0) shown.push_back(container);
  }
  std::string text = DeviceTable(shown, view) + ProcessTable(shown, view);
  std::string notes = NoteLines(shown, view);
  if (const size_t ended = containers.size() - shown.size(); ended > 0) {
    notes += Note(fmt::format("{} that kubelet no longer knows {} left out; '-o wide' shows all",
                              Count(ended, "container"), ended == 1 ? "is" : "are"),
                  view);
  }
  if (!text.empty() && !notes.empty()) text += "\n";
  return text + notes;
}

void CompareWith(const json::Value& ledger, std::span<VgpuContainer> containers) {
  const Holders holders(ObjectOf(ledger));
  for (VgpuContainer& container : containers) {
    container.pod_name = holders.NameOf(container.pod);
    container.ended = holders.HasEnded(container);
  }
}

json::Value VgpuDocument(std::span<const VgpuContainer> containers) {
  json::Array array;
  for (const VgpuContainer& container : containers) array.push_back(ContainerObject(container));
  return json::Object{{"containers", std::move(array)}};
}

}  // namespace tessera::cli
