// SPDX-License-Identifier: Apache-2.0
// RDMA and SR-IOV network cards: `rdma: {}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/rdma/rdma.h"
#include "backend/rdma/select.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kRdma = kKindConfig<RdmaConfig>;
constexpr auto kRdmaChoice = [](auto& config, const At& at) -> auto& {
  return kRdma(config, at).choice;
};
constexpr auto kRdmaInfo = [](auto& config, const At& at) -> auto& {
  return kRdma(config, at).info[at[1]];
};
constexpr auto kRdmaAccess = [](auto& config, const At& at) -> auto& {
  return kRdma(config, at).choice.select[at[1]].access;
};
constexpr auto kRdmaSelector = [](auto& config, const At& at) -> auto& {
  return kRdma(config, at).choice.select[at[1]];
};

Choices<RdmaChoice::Which> Whiches() {
  using Which = RdmaChoice::Which;
  return {{"any", Which::kAny}, {"pf", Which::kPhysical}, {"vf", Which::kVirtual}};
}
Choices<bool> PciClasses() {
  return {{"network", false}, {"accelerator", true}};
}
Choices<RdmaConfig::Names> NicNames() {
  return {{"address", RdmaConfig::Names::kAddress}, {"hca", RdmaConfig::Names::kHca}};
}

std::optional<Misfit> CheckId(std::string_view text) {
  const bool is_hex = text.size() == 4 && text.find_first_not_of("0123456789abcdef") == text.npos;
  if (is_hex) return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format("must be four digits of 0-9 and a-f, not {}", Quoted(text))};
}

std::optional<Misfit> CheckPfText(std::string_view text) {
  if (rdma::ParsePf(text)) return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format(
                    "must be an interface or an address, and may end in numbers of its functions "
                    "as in 'ens3f0np0#0-3,7', not {}",
                    Quoted(text))};
}

std::optional<Misfit> CheckLinkType(std::string_view text) {
  if (text == "ether" || text == "infiniband") return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format("must be 'ether' or 'infiniband', not {}", Quoted(text))};
}

std::vector<Key> SelectorKeys() {
  return {{.name = "vendor",
           .doc = "The PCI vendor.",
           .example = "\"15b3\"",
           .default_note = "any",
           .check = CheckId,
           .field = Bind(kRdmaSelector, &RdmaSelector::vendor)},
          {.name = "device",
           .doc = "The PCI device.",
           .example = "\"101e\"",
           .default_note = "any",
           .check = CheckId,
           .field = Bind(kRdmaSelector, &RdmaSelector::device)},
          {.name = "driver",
           .doc = "The driver that has the function.",
           .example = "mlx5_core",
           .default_note = "any",
           .field = Bind(kRdmaSelector, &RdmaSelector::driver)},
          {.name = "address",
           .doc = "The PCI address, with its domain.",
           .example = "\"0000:af:00.1\"",
           .default_note = "any",
           .field = Bind(kRdmaSelector, &RdmaSelector::address)},
          {.name = "interface",
           .doc = "The function's network interface. The agent remembers it while a pod has it.",
           .example = "ens3f0np0",
           .default_note = "any",
           .field = Bind(kRdmaSelector, &RdmaSelector::interface)},
          {.name = "pf",
           .doc = "The physical function, by its interface or PCI address. Behind `#` the numbers "
                  "of its virtual functions.",
           .example = "\"ens3f0np0#0-3,7\"",
           .default_note = "any",
           .check = CheckPfText,
           .field = Bind(kRdmaSelector, &RdmaSelector::pf)},
          {.name = "pfAddress",
           .doc = "As `pf`, where both must fit: an interface and an address.",
           .example = "\"0000:af:00.0#0-3\"",
           .default_note = "any",
           .check = CheckPfText,
           .field = Bind(kRdmaSelector, &RdmaSelector::pf_address)},
          {.name = "acpiIndex",
           .doc = "The number that the firmware gives the function, in `acpi_index` of sysfs.",
           .example = "\"101\"",
           .default_note = "any",
           .field = Bind(kRdmaSelector, &RdmaSelector::acpi_index)},
          {.name = "link",
           .doc = "`ether` or `infiniband`.",
           .example = "infiniband",
           .default_note = "any",
           .check = CheckLinkType,
           .field = Bind(kRdmaSelector, &RdmaSelector::link)},
          {.name = "pkey",
           .doc = "The partition key of its interface of InfiniBand.",
           .example = "\"0x8001\"",
           .default_note = "any",
           .field = Bind(kRdmaSelector, &RdmaSelector::pkey)}};
}

std::vector<Key> EntryKeys() {
  std::vector<Key> keys = SelectorKeys();
  keys.push_back(
      {.name = "verbs",
       .type = Type::kBool,
       .doc =
           "`false`: the entry's functions are served as with `rdma.verbs: false`, which holds for "
           "all entries.",
       .example = "false",
       .field = Bind(kRdmaAccess, &RdmaAccess::verbs)});
  keys.push_back(
      {.name = "vhost",
       .type = Type::kBool,
       .doc =
           "`true`: the entry's functions are served as with `rdma.vhost: true`, which holds for "
           "all entries.",
       .example = "true",
       .field = Bind(kRdmaAccess, &RdmaAccess::vhost)});
  return keys;
}

std::vector<Key> InfoKeys() {
  return {{.name = "address",
           .doc = "The PCI address of the device that has it.",
           .example = "\"0000:af:00.1\"",
           .default_note = "all devices",
           .field = Bind(kRdmaInfo, &RdmaConfig::Info::address)},
          {.name = "key",
           .doc = "Its name.",
           .example = "site",
           .required = true,
           .field = Bind(kRdmaInfo, &RdmaConfig::Info::key)},
          {.name = "value",
           .doc = "The text.",
           .example = "rack-7",
           .field = Bind(kRdmaInfo, &RdmaConfig::Info::value)}};
}

Key SelectKey() {
  return {.name = "select",
          .type = Type::kList,
          .doc =
              "The functions of the resource: those that match an entry. A function that matches "
              "several resources belongs to the first. The first entry that it matches says its "
              "`verbs` and `vhost`.",
          .default_note = "every function",
          .max = 1024,
          .list = BindList(kRdmaChoice, &RdmaChoice::select),
          .children = EntryKeys};
}

std::vector<Key> RdmaKeys() {
  return {
      SelectKey(),
      {.name = "function",
       .type = Type::kEnum,
       .doc = "`pf`: physical functions. `vf`: virtual functions. A physical one that has virtual "
              "ones is left out, unless `policy` is `replicas`.",
       .example = "vf",
       .values = NamesOf(Whiches()),
       .field = BindEnum(kRdmaChoice, &RdmaChoice::which, Whiches())},
      {.name = "class",
       .type = Type::kEnum,
       .doc = "`network`: network cards. `accelerator`: processing accelerators instead, which "
              "have no RDMA devices.",
       .example = "accelerator",
       .values = NamesOf(PciClasses()),
       .field = BindEnum(kRdmaChoice, &RdmaChoice::accelerators, PciClasses())},
      {.name = "verbs",
       .type = Type::kBool,
       .doc = "Only functions with an RDMA device, whose nodes containers get. `false`: others as "
              "well, for CNI plugins and for vfio.",
       .example = "false",
       .field = Bind(kRdmaChoice, &RdmaChoice::verbs)},
      {.name = "issm",
       .type = Type::kBool,
       .doc = "Containers get the node with which a program is a subnet manager, if there is one.",
       .example = "true",
       .field = Bind(kRdma, &RdmaConfig::issm)},
      {.name = "vhost",
       .type = Type::kBool,
       .doc = "Containers get `/dev/vhost-net` and `/dev/net/tun`.",
       .example = "true",
       .field = Bind(kRdma, &RdmaConfig::vhost)},
      {.name = "cni",
       .type = Type::kBool,
       .doc = "A file of each device in `/var/run/k8s.cni.cncf.io/devinfo/dp`, by which Multus and "
              "other CNI plugins find it.",
       .example = "true",
       .field = Bind(kRdma, &RdmaConfig::cni)},
      {.name = "info",
       .type = Type::kList,
       .doc = "Texts in `PCIDEVICE_..._INFO` of each device, in its `extra_info`.",
       .default_note = "none",
       .max = 16'384,
       .list = BindList(kRdma, &RdmaConfig::info),
       .children = InfoKeys},
      {.name = "names",
       .type = Type::kEnum,
       .doc = "What `env` has of each device. `address`: the PCI address. `hca`: the RDMA device's "
              "name, as `NCCL_IB_HCA` takes it.",
       .example = "hca",
       .values = NamesOf(NicNames()),
       .field = BindEnum(kRdma, &RdmaConfig::names, NicNames())},
  };
}

void CompleteRdma(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  RdmaConfig& own = *resource.kind.As<RdmaConfig>();
  own.choice.verbs &= !own.choice.accelerators;
  std::ranges::stable_sort(own.info, {}, &RdmaConfig::Info::address);
  own.choice.shared = resource.policy.division != Division::kWhole;
  for (size_t i = 0; i < index; ++i) {
    RdmaConfig* const other = config.resources[i].kind.As<RdmaConfig>();
    if (other != nullptr) own.earlier.push_back({config.resources[i].name, other->choice});
  }
}

// An entry without a condition would match everything.
void CheckRdma(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const RdmaConfig& own = *config.resources[index].kind.As<RdmaConfig>();
  if (own.cni && own.choice.shared) {
    findings.Report(Reason::kConfigBadValue, path + ".cni",
                    "is not for a policy that shares devices: a network interface is moved into "
                    "one pod");
  }
  for (size_t i = 0; i < own.choice.select.size(); ++i) {
    const std::string at = fmt::format("{}.select[{}]", path, i);
    const RdmaSelector nothing{.access = own.choice.select[i].access};
    if (own.choice.select[i] != nothing || findings.IsBad(at + ".vendor") ||
        findings.IsBad(at + ".device") || findings.IsBad(at + ".pf") ||
        findings.IsBad(at + ".pfAddress") || findings.IsBad(at + ".link")) {
      continue;
    }
    findings.Report(Reason::kConfigMissing, at,
                    "needs a key that chooses functions, such as 'vendor' or 'pf'");
  }
}

std::shared_ptr<Backend> MakeRdma(const Resource& resource, const Surroundings& at) {
  return std::make_shared<RdmaBackend>(resource.name, *resource.kind.As<RdmaConfig>(), at.root,
                                       at.loop);
}

Kind RdmaKind() {
  return {.section = {.name = "rdma",
                      .type = Type::kSection,
                      .doc = "RDMA and SR-IOV network cards: each function of the PCI bus is a "
                             "device.",
                      .choice = KindChoice<RdmaConfig>(),
                      .children = RdmaKeys},
          .is = IsKind<RdmaConfig>,
          .complete = CompleteRdma,
          .check = CheckRdma,
          .make = MakeRdma,
          .ids_are_of_hardware = true};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::rdma {

Kind Describe() {
  return config::RdmaKind();
}

}  // namespace tessera::rdma
