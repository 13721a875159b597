// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "cli/fields.h"

namespace tessera::cli {
namespace {

constexpr size_t kMostProcesses = 64;  // of one container, in the table

uint64_t BytesOf(const VgpuPart& part) {
  return static_cast<uint64_t>(part.memory) << 20;
}

const VgpuPart* PartOf(const VgpuContainer& container, std::string_view uuid) {
  const auto found = std::ranges::find(container.parts, uuid, &VgpuPart::device);
  return found == container.parts.end() ? nullptr : &*found;
}

// Our own library goes by the grant, whatever the region says; HAMi-core by the region.
bool GoesByGrant(const VgpuContainer& container) {
  return container.region.maker == region::Maker::kTessera;
}
uint64_t LimitOf(const VgpuContainer& container, const region::Device& device) {
  const VgpuPart* part = PartOf(container, device.uuid);
  return part != nullptr && GoesByGrant(container) ? BytesOf(*part) : device.limit;
}
int PercentOf(const VgpuContainer& container, const region::Device& device) {
  const VgpuPart* part = PartOf(container, device.uuid);
  return part != nullptr && GoesByGrant(container) ? part->cores : device.percent;
}

std::string NameOf(const VgpuContainer& container) {
  if (!container.pod_name.empty()) return container.pod_name + "/" + container.container;
  if (container.pod.empty() && container.container.empty()) return container.grant;
  return container.pod.empty() ? container.container : container.pod + "/" + container.container;
}

std::string Mib(uint64_t bytes) {
  constexpr uint64_t kMib = uint64_t{1} << 20;
  if (bytes % kMib == 0) return fmt::format("{} MiB", bytes / kMib);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMib));
}

std::string LimitText(uint64_t bytes) {
  return bytes == 0 ? "none" : Mib(bytes);
}
std::string PercentText(int percent) {
  return percent == 0 || percent >= kAllCores ? "all" : fmt::format("{} %", percent);
}
std::string GotText(const std::optional<double>& got) {
  return got ? fmt::format("{:.1f} %", *got) : "";
}

std::string_view StateOf(const std::optional<bool>& alive) {
  if (!alive) return "unknown";
  return *alive ? "runs" : "gone";
}

// It ended in an orderly way, and its slot waits for the next one.
bool IsOver(const VgpuContainer& container, size_t process) {
  return container.alive[process] == false && container.region.processes[process].held.empty();
}

std::string DeviceTable(std::span<const VgpuContainer> containers, const View& view) {
  std::vector<std::vector<Cell>> rows;
  for (const VgpuContainer& container : containers) {
    const std::string name = NameOf(container);
    // What is known of it without its region.
    for (const VgpuPart& part : container.parts) {
      if (!container.problem) break;
      rows.push_back(
          {{name}, {part.device}, {LimitText(BytesOf(part))}, {}, {PercentText(part.cores)}, {}});
    }
    for (size_t i = 0; i < container.region.devices.size(); ++i) {
      const region::Device& device = container.region.devices[i];
      const uint64_t limit = LimitOf(container, device);
      const bool over = limit != 0 && device.used > limit;
      rows.push_back({{name},
                      {device.uuid},
                      {LimitText(limit)},
                      {Mib(device.used), over ? Tone::kWarning : Tone::kPlain},
                      {PercentText(PercentOf(container, device))},
                      {GotText(container.got[i])}});
    }
  }
  const std::vector<Column> columns = {{"CONTAINER", false, true},
                                       {"DEVICE", false, true},
                                       {"LIMIT", true},
                                       {"USED", true},
                                       {"SHARE", true},
                                       {"GOT", true}};
  return rows.empty() ? "" : Table(columns, rows, view);
}

void AddProcess(const VgpuContainer& container, size_t at, std::vector<std::vector<Cell>>& rows) {
  const region::Process& process = container.region.processes[at];
  const std::string state(StateOf(container.alive[at]));
  const Tone tone = container.alive[at] == false ? Tone::kWarning : Tone::kPlain;
  const std::string pid = std::to_string(process.pid);
  for (const region::Held& held : process.held) {
    rows.push_back({{NameOf(container)},
                    {pid},
                    {state, tone},
                    {container.region.devices[held.device].uuid},
                    {Mib(held.context)},
                    {Mib(held.module)},
                    {Mib(held.data)},
                    {held.managed ? Mib(*held.managed) : ""},
                    {Mib(held.total)}});
  }
  if (process.held.empty()) {
    rows.push_back({{NameOf(container)}, {pid}, {state, tone}, {}, {}, {}, {}, {}, {Mib(0)}});
  }
}

std::string ProcessTable(std::span<const VgpuContainer> containers, const View& view) {
  std::vector<std::vector<Cell>> rows;
  for (const VgpuContainer& container : containers) {
    size_t shown = 0;
    for (size_t i = 0; i < container.region.processes.size() && shown < kMostProcesses; ++i) {
      if (IsOver(container, i)) continue;
      AddProcess(container, i, rows);
      ++shown;
    }
  }
  const std::vector<Column> columns = {{"CONTAINER", false, true},
                                       {"PID", true},
                                       {"STATE"},
                                       {"DEVICE", false, true},
                                       {"CONTEXT", true},
                                       {"MODULE", true},
                                       {"DATA", true},
                                       {"MANAGED", true},
                                       {"TOTAL", true}};
  return rows.empty() ? "" : "\n" + Table(columns, rows, view);
}

void AddLimitNotes(const VgpuContainer& container, std::vector<std::string>& notes) {
  for (const region::Device& device : container.region.devices) {
    const VgpuPart* part = PartOf(container, device.uuid);
    if (part == nullptr || BytesOf(*part) == device.limit) continue;
    notes.push_back(fmt::format(
        "{}: its region says a limit of {} for {}, its grant {}; the library goes by the {}",
        NameOf(container), LimitText(device.limit), device.uuid, Mib(BytesOf(*part)),
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
  const std::string name = NameOf(container);
  const region::Region& region = container.region;
  if (container.problem) {
    const std::string& why = container.problem->message;
    const bool of_file = container.problem->reason == Reason::kBadRegion;
    notes.push_back(of_file ? fmt::format("{}: no region: {}: {}; {}", name, container.file, why,
                                          ReasonAdvice(Reason::kBadRegion))
                            : fmt::format("{}: {}", name, why));
  }
  AddLimitNotes(container, notes);
  if (region.odd > 0) {
    notes.push_back(fmt::format("{}: {} in its region cannot be, and {} as none", name,
                                Count(region.odd, "number"), region.odd == 1 ? "counts" : "count"));
  }
  if (const size_t gone = GoneWithMemory(container); gone > 0) {
    notes.push_back(fmt::format(
        "{}: {} gone and still counted; the next process of the container that starts, ends or "
        "allocates takes that back",
        name, gone == 1 ? "1 process is" : fmt::format("{} processes are", gone)));
  }
  if (region.processes.size() > kMostProcesses) {
    notes.push_back(fmt::format("{}: of {} no more than {} are shown; '-o json' has all", name,
                                Count(region.processes.size(), "slot"), kMostProcesses));
  }
  if (region.blocked) {
    notes.push_back(name +
                    ": HAMi's monitor holds it up while somebody of a higher priority works");
  }
  if (!region.switched_on && region.policy != "force") {
    notes.push_back(name +
                    ": its compute time is not limited now; HAMi's monitor has switched that off");
  }
  return notes;
}

json::Object DeviceObject(const VgpuContainer& container, size_t at) {
  const region::Device& device = container.region.devices[at];
  json::Object object{{"uuid", device.uuid},
                      {"limitBytes", LimitOf(container, device)},
                      {"usedBytes", device.used},
                      {"cores", PercentOf(container, device)}};
  if (LimitOf(container, device) != device.limit) object["regionLimitBytes"] = device.limit;
  if (container.got[at]) object["coresGot"] = *container.got[at];
  return object;
}

json::Object ProcessObject(const VgpuContainer& container, size_t at) {
  const region::Process& process = container.region.processes[at];
  json::Array devices;
  for (const region::Held& held : process.held) {
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
                      {"resource", container.resource},   {"region", container.file}};
  if (container.problem) {
    object["problem"] = json::Object{{"reason", ReasonName(container.problem->reason)},
                                     {"message", container.problem->message}};
  }
  json::Array granted;
  for (const VgpuPart& part : container.parts) {
    granted.push_back(
        json::Object{{"uuid", part.device}, {"limitBytes", BytesOf(part)}, {"cores", part.cores}});
  }
  object["granted"] = std::move(granted);
  if (container.problem) return object;
  const region::Region& region = container.region;
  object["library"] = region::MakerName(region.maker);
  object["policy"] = region.policy;
  object["priority"] = region.priority;
  object["switchedOn"] = region.switched_on;
  object["blocked"] = region.blocked;
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
  std::string text = DeviceTable(containers, view) + ProcessTable(containers, view);
  std::string notes;
  for (const VgpuContainer& container : containers) {
    for (const std::string& note : NotesOf(container)) {
      notes += Paint("note: " + note, Tone::kWarning, view) + "\n";
    }
  }
  if (!text.empty() && !notes.empty()) text += "\n";
  return text + notes;
}

void NamePods(const json::Value& ledger, std::span<VgpuContainer> containers) {
  std::map<std::string, std::string> names;
  for (const json::Object* holding : ObjectsIn(ObjectOf(ledger), "holdings")) {
    const std::string pod = TextIn(*holding, "pod");
    if (!pod.empty()) {
      names[TextIn(*holding, "uid")] = TextIn(*holding, "namespace").append("/").append(pod);
    }
  }
  for (VgpuContainer& container : containers) {
    const auto known = names.find(container.pod);
    if (!container.pod.empty() && known != names.end()) container.pod_name = known->second;
  }
}

json::Value VgpuDocument(std::span<const VgpuContainer> containers) {
  json::Array array;
  for (const VgpuContainer& container : containers) array.push_back(ContainerObject(container));
  return json::Object{{"containers", std::move(array)}};
}

}  // namespace tessera::cli
