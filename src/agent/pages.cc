// SPDX-License-Identifier: Apache-2.0
#include "agent/pages.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "agent/pod_page.h"
#include "backend/kind.h"
#include "base/text.h"
#include "device/pci_path.h"
#include "node/device_json.h"
#include "placement/placement.h"
#include "version.h"

namespace tessera::agent {
namespace {

json::Array Strings(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::Object MapOf(const std::map<std::string, std::string>& map) {
  json::Object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

json::Object HoldingOf(const Holding& holding) {
  return {{"namespace", holding.pod_namespace},
          {"pod", holding.pod},
          {"uid", holding.pod_uid},
          {"container", holding.container},
          {"shares", Strings(holding.share_ids)}};
}

// The current offer's shares by device.
using SharesByDevice = std::map<DeviceKey, std::vector<std::string>, DeviceKeyLess>;

SharesByDevice SharesOf(const ServedResources& resources) {
  SharesByDevice shares;
  for (const auto& [name, resource] : resources) {
    OfferPtr offer = resource->offer();
    for (const Share& share : offer->shares) {
      shares[offer->devices[share.device].key].push_back(share.id);
    }
  }
  return shares;
}

using HoldersByDevice = std::map<DeviceKey, std::vector<Holding>, DeviceKeyLess>;

// Each holding under every device of its container, with that device's shares. If kubelet chose
// shares of other devices than were bound, all shares are listed.
HoldersByDevice HoldersOf(const Ledger& ledger) {
  HoldersByDevice holders;
  for (const Holding& holding : ledger.holdings()) {
    std::map<std::string, std::vector<std::string>> by_device;
    if (ledger.HasDrifted(holding)) {
      for (const std::string& device : ledger.DevicesOf(holding)) {
        by_device[device] = holding.share_ids;
      }
    } else {
      for (const std::string& id : holding.share_ids) by_device[DeviceOfShare(id)].push_back(id);
    }
    for (auto& [device, ids] : by_device) {
      Holding part = holding;
      part.share_ids = std::move(ids);
      holders[{holding.resource, device}].push_back(std::move(part));
    }
  }
  return holders;
}

constexpr int kMiB = 20;  // a MiB is 2^20 bytes

// Lookup tables by device.
struct Tables {
  SharesByDevice shares;
  HoldersByDevice holders;
  // Binding records by pod UID, container and resource.
  std::map<std::array<std::string_view, 3>, const BindingRecord*> records;
};

Tables TablesOf(const View& view) {
  Tables tables{SharesOf(view.resources), HoldersOf(view.node.ledger()), {}};
  for (const auto& [grant, record] : view.grants) {
    tables.records[{record->pod_uid, record->container, record->resource}] = record.get();
  }
  return tables;
}

json::Object HolderOf(const Tables& tables, const Holding& holding, const Device& device) {
  json::Object holder = HoldingOf(holding);
  const auto record = tables.records.find({holding.pod_uid, holding.container, holding.resource});
  if (record == tables.records.end()) return holder;
  const auto part = std::ranges::find(record->second->parts, device.key.id, &Fraction::device);
  if (part != record->second->parts.end()) holder["part"] = PartsPage({part, part + 1}).front();
  return holder;
}

// The GPU's capacity for virtual GPUs, and the granted part of it, in percent of compute time.
json::Object RoomOf(const View& view, const Device& device, const FractionRules& fractions) {
  const DeviceCapacity capacity = CapacityOf(device, fractions);
  DeviceUsage taken;
  if (const auto of = view.granted.find(device.key.source); of != view.granted.end()) {
    const auto found = of->second.by_device.find(device.key.id);
    if (found != of->second.by_device.end()) taken = found->second;
  }
  json::Object room{{"memoryBytes", static_cast<uint64_t>(capacity.memory) << kMiB},
                    {"memoryGrantedBytes", static_cast<uint64_t>(taken.memory) << kMiB},
                    {"cores", capacity.cores},
                    {"coresGranted", taken.cores}};
  if (!capacity.has_units) return room;
  room["cores"] = kAllCores;
  room["coresGranted"] = capacity.cores == 0 ? 0 : taken.cores * kAllCores / capacity.cores;
  return room;
}

std::string TimeOf(const View& view, Steady time) {
  return FormatTime(view.wall_now - (view.now - time));
}

json::Object DeviceObject(const View& view, const Device& device, const std::vector<Link>& near,
                          const Tables& tables) {
  const Verdict& verdict = view.node.VerdictOf(device.key);
  std::optional<Error> trouble = view.node.TroubleOf(device);
  json::Object object{
      {"source", device.key.source},
      {"id", device.key.id},
      {"model", device.model},
      {"address", device.address},
      {"visibleAs", device.visible_as},
      {"numaNodes", json::Array(device.numa_nodes.begin(), device.numa_nodes.end())},
      {"present", device.present},
      {"offered", !trouble},
      {"state", HealthStateName(verdict.state)},
      {"reason", trouble ? ReasonName(trouble->reason) : ""},
      {"detail", trouble ? trouble->message : ""},
      {"advice", trouble ? ReasonAdvice(trouble->reason) : ""},
      {"since", verdict.since == Steady{} ? "" : TimeOf(view, verdict.since)},
      {"nodes", NodesJson(device.nodes)},
      {"mounts", MountsJson(device.mounts)}};
  const Cordon* cordon = view.node.CordonOf(device);
  object["cordon"] = cordon == nullptr
                         ? json::Value(nullptr)
                         : json::Value(json::Object{{"reason", cordon->reason},
                                                    {"since", FormatTime(cordon->since)}});
  auto own = tables.shares.find(device.key);
  object["shares"] = own == tables.shares.end() ? json::Array() : Strings(own->second);
  if (!device.traits.empty()) object["traits"] = TraitsJson(*device.traits);
  if (!near.empty()) object["near"] = LinksJson(near);
  if (device.memory > 0) object["memoryBytes"] = static_cast<uint64_t>(device.memory) << kMiB;
  const auto resource = view.resources.find(device.key.source);
  if (resource != view.resources.end()) {
    const auto& fractions = resource->second->resource().rendering.fractions;
    if (fractions) object["vgpu"] = RoomOf(view, device, *fractions);
  }
  json::Array held;
  if (auto at = tables.holders.find(device.key); at != tables.holders.end()) {
    for (const Holding& holding : at->second) held.push_back(HolderOf(tables, holding, device));
  }
  object["holders"] = std::move(held);
  return object;
}

json::Object ResourceObject(const View& view, const std::string& name,
                            const ServedResource& resource) {
  OfferPtr offer = resource.offer();
  size_t held = 0;
  for (const Holding& holding : view.node.ledger().holdings()) {
    if (holding.resource == name) held += holding.share_ids.size();
  }
  json::Object object{
      {"name", name},
      {"policy", DivisionName(resource.policy().division)},
      {"capacity", offer->shares.size()},
      {"allocatable", offer->HealthyShares()},
      {"held", held},
      {"registration", kubelet::RegistrationPathName(resource.offering().plugin().path())},
      {"state", kubelet::PluginStateName(resource.offering().plugin().state())},
      {"socket", resource.offering().plugin().socket_path()},
      {"listBytes", resource.offering().list_bytes()}};
  if (const size_t waiting = resource.waiting(); waiting > 0) {
    object["waiting"] =
        json::Object{{"devices", waiting}, {"policy", PolicyText(resource.resource().policy)}};
  }
  if (resource.trouble()) object["error"] = resource.trouble()->Text();
  return object;
}

json::Array PartNames(const Device& device) {
  json::Array names;
  for (const DeviceKey& part : device.traits->parts) names.emplace_back(part.Text());
  return names;
}

// Why a device is offered, or is not; for `tessera explain`.
json::Object Candidate(const View& view, const Device& device, const SharesByDevice& shares) {
  std::optional<Error> trouble = view.node.TroubleOf(device);
  json::Object object{
      {"source", device.key.source},
      {"id", device.key.id},
      {"model", device.model},
      {"parts", PartNames(device)},
      {"offered", !trouble},
      {"resource", device.key.source},
      {"numaNodes", json::Array(device.numa_nodes.begin(), device.numa_nodes.end())},
      {"grant", nullptr}};
  auto own = shares.find(device.key);
  std::vector<std::string> ids = own == shares.end() ? std::vector<std::string>() : own->second;
  object["shares"] = Strings(ids);
  auto resource = view.resources.find(device.key.source);
  if (trouble) {
    object["why"] = trouble->Text();
    return object;
  }
  if (ids.empty() || resource == view.resources.end()) {
    object["why"] = "healthy, but not in kubelet's list";
    return object;
  }
  const OfferPtr offer = resource->second->offer();
  const bool kept = offer->IsKept(offer->shares.Find(ids.front())->device);
  const auto withheld = std::ranges::count_if(
      ids, [&](const std::string& id) { return offer->withheld.contains(id); });
  object["why"] =
      fmt::format("healthy, offered as {}{}{}", Count(ids.size(), "share"),
                  kept ? " of a former policy until no container holds it" : "",
                  withheld > 0 ? fmt::format("; {} of them do not fit now", withheld) : "");
  auto grant = Allocate(*offer, resource->second->resource().rendering, std::span(ids.data(), 1));
  if (!grant) return object;
  object["grant"] = json::Object{{"envs", MapOf(grant->envs)},
                                 {"mounts", MountsJson(grant->mounts)},
                                 {"devices", NodesJson(grant->devices)},
                                 {"annotations", MapOf(grant->annotations)},
                                 {"cdiDevices", Strings(grant->cdi_devices)}};
  return object;
}

std::vector<HostTree> CdiTreesOf(const View& view) {
  std::vector<HostTree> trees;
  for (const auto& [name, served] : view.resources) {
    const Kind* kind = KindOf(served->resource());
    if (kind == nullptr || kind->cdi == nullptr) continue;
    HostTree tree = kind->cdi->TreeOf(view.root, served->resource());
    if (std::ranges::count(trees, tree) == 0) trees.push_back(std::move(tree));
  }
  return trees;
}

}  // namespace

json::Value InventoryPage(const View& view) {
  json::Array resources;
  for (const auto& [name, resource] : view.resources) {
    resources.push_back(ResourceObject(view, name, *resource));
  }
  const Tables tables = TablesOf(view);
  json::Array devices;
  const DeviceList& known = view.node.inventory()->devices;
  const std::vector<std::vector<Link>> near = PciLinks(known);
  for (size_t i = 0; i < known.size(); ++i) {
    devices.push_back(DeviceObject(view, known[i], near[i], tables));
  }
  return json::Object{{"node", view.node_name},
                      {"generation", view.node.inventory()->generation},
                      {"agent", json::Object{{"version", TESSERA_VERSION},
                                             {"commit", TESSERA_COMMIT},
                                             {"pid", getpid()},
                                             {"writer", view.writer}}},
                      {"resources", std::move(resources)},
                      {"devices", std::move(devices)}};
}

json::Value LedgerPage(const View& view) {
  json::Array holdings;
  for (const Holding& holding : view.node.ledger().holdings()) {
    json::Object object = HoldingOf(holding);
    object["resource"] = holding.resource;
    if (view.node.ledger().HasDrifted(holding)) {
      const auto devices = view.node.ledger().DevicesOf(holding);
      object["devices"] = json::Array(devices.begin(), devices.end());
    }
    holdings.push_back(std::move(object));
  }
  json::Array pending;
  for (const PendingGrant& grant : view.node.ledger().pending()) {
    auto age = std::chrono::duration_cast<std::chrono::seconds>(view.now - grant.since);
    pending.push_back(json::Object{{"resource", grant.resource},
                                   {"shares", Strings(grant.share_ids)},
                                   {"ageSeconds", age.count()}});
  }
  bool reconciled =
      std::all_of(view.resources.begin(), view.resources.end(),
                  [&](const auto& served) { return view.node.ledger().reconciled(served.first); });
  return json::Object{{"reconciled", reconciled},
                      {"podResources", view.ledger_error ? view.ledger_error->Text() : "ok"},
                      {"holdings", std::move(holdings)},
                      {"pending", std::move(pending)}};
}

Result<json::Value> ExplainPage(const View& view, const std::string& device) {
  SharesByDevice shares = SharesOf(view.resources);
  json::Array candidates;
  if (!device.empty()) {
    DeviceKey key = TRY(view.node.Resolve(device));
    candidates.push_back(Candidate(view, *view.node.inventory()->Find(key), shares));
  } else {
    for (const Device& each : view.node.inventory()->devices) {
      candidates.push_back(Candidate(view, each, shares));
    }
  }
  return json::Value(json::Object{{"candidates", std::move(candidates)}});
}

// The resources whose grants name CDI devices, even if another party writes the document.
json::Array CdiResources(const ServedResources& resources) {
  const auto is_cdi = [](Strategy strategy) {
    return strategy == Strategy::kCdiAnnotations || strategy == Strategy::kCdiCri;
  };
  json::Array named;
  for (const auto& [name, resource] : resources) {
    const Rendering& rendering = resource->resource().rendering;
    if (!std::ranges::any_of(rendering.strategies, is_cdi)) continue;
    named.push_back(json::Object{
        {"resource", name}, {"kind", rendering.cdi_kind}, {"write", rendering.cdi_write}});
  }
  return named;
}

json::Value CdiPage(const View& view) {
  json::Array documents;
  for (const auto& [path, entry] : view.cdi.entries()) {
    if (!entry.file.written()) continue;
    std::vector<std::string> resources;
    for (const auto& [name, part] : entry.parts) resources.push_back(name);
    auto document = json::Parse(entry.file.document());
    documents.push_back(
        json::Object{{"path", path},
                     {"resource", Join(resources, ", ")},
                     {"document", document ? *std::move(document) : json::Value(nullptr)}});
  }
  json::Array trees;
  for (const HostTree& tree : CdiTreesOf(view)) {
    trees.push_back(json::Object{{"seen", tree.seen}, {"host", tree.host}});
  }
  return json::Object{{"documents", std::move(documents)},
                      {"trees", std::move(trees)},
                      {"resources", CdiResources(view.resources)}};
}

}  // namespace tessera::agent
