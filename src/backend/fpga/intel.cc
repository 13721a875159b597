// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/intel.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "backend/fpga/names.h"
#include "backend/pci_function.h"
#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::fpga {
namespace {

// Where a driver's units are, and the beginnings of the names of what it makes.
struct Layout {
  std::string_view directory;
  std::string_view unit;
  std::string_view fme;
  std::string_view port;
};
constexpr auto kLayouts = std::to_array<Layout>({
    {"/sys/class/fpga_region", "region", "dfl-fme.", "dfl-port."},
    {"/sys/class/fpga", "intel-fpga-dev.", "intel-fpga-fme.", "intel-fpga-port."},
});

// Arria 10 and Stratix 10 cards, N3000, N6000.
constexpr auto kDevices = std::to_array<std::string_view>({"09c4", "0b2b", "0b30", "bcce"});

struct Part {
  std::string name{};                // "dfl-port.0", which is its node's as well
  std::string path{};                // below /sys/devices
  std::string function{};            // on the PCI bus
  std::optional<unsigned> number{};  // of a port on its card
};

// A card, as far as this node sees it.
struct Whole {
  std::vector<Part> fmes{};
  std::vector<Part> ports{};
};

// What a driver made of one PCI function.
struct Unit {
  const Layout* layout;
  std::string name;                // "region0"
  std::string path;                // below /sys/devices
  std::vector<std::string> parts;  // names
};

std::vector<Unit> ReadUnits(const os::Root& root) {
  std::vector<Unit> units;
  for (const Layout& layout : kLayouts) {
    const std::string directory(layout.directory);
    for (const std::string& name : sysfs::Names(root.Path(directory))) {
      if (!NumberBehind(layout.unit, name)) continue;
      const std::string link = root.Path(fmt::format("{}/{}", directory, name));
      Unit unit{&layout, name, root.WithoutPrefix(os::FollowBelow(root.prefix(), link)), {}};
      for (const std::string& part : sysfs::Names(link)) {
        const bool counts = NumberBehind(layout.fme, part) || NumberBehind(layout.port, part);
        if (counts) unit.parts.push_back(part);
      }
      // The regions of an FME are in the class as well, without parts.
      if (!unit.parts.empty()) units.push_back(std::move(unit));
    }
  }
  return units;
}

// By the PCI addresses of cards. Virtual functions' ports are their cards'. Ports are in the order
// of their numbers.
std::map<std::string, Whole> ReadWholes(const os::Root& root) {
  std::map<std::string, Whole> wholes;
  for (const Unit& unit : ReadUnits(root)) {
    const std::string function = PciAddressIn(unit.path);
    const std::string parent = ReadPciFunction(root, function).physical_function;
    const std::string& own = function.empty() ? unit.name : function;
    Whole& whole = wholes[parent.empty() ? own : parent];
    for (const std::string& name : unit.parts) {
      Part part{name, fmt::format("{}/{}", unit.path, name), function, {}};
      const bool is_fme = NumberBehind(unit.layout->fme, name).has_value();
      if (!is_fme) part.number = sysfs::Number<unsigned>(sysfs::Text(root.Path(part.path + "/id")));
      (is_fme ? whole.fmes : whole.ports).push_back(std::move(part));
    }
  }
  for (auto& [address, whole] : wholes) {
    std::ranges::sort(whole.ports, [](const Part& a, const Part& b) {
      return std::tie(a.number, a.name) < std::tie(b.number, b.name);
    });
  }
  return wholes;
}

Result<Identity> ReadId(const os::Root& root, const std::string& path) {
  constexpr size_t kMost = 64;
  const auto text = os::ReadFile(root.Path(path), kMost);
  if (!text) return Fail(Reason::kUnreadable, "{}", text.error().message);
  const auto id = ParseId(*text);
  if (!id) return Fail(Reason::kUnreadable, "{} has no id", path);
  if (IsOnes(*id)) {
    return Fail(Reason::kUnreadable, "{} reads as ones: the card does not answer", path);
  }
  return Identity{path, *id};
}

// Where an FME has the id of its interface: once for each region, and for OPAE once.
std::vector<std::string> InterfacesOf(const os::Root& root, const Part& fme) {
  if (fme.name.starts_with(kLayouts[1].fme)) return {fme.path + "/pr/interface_id"};
  std::vector<std::string> paths;
  for (const std::string& name : sysfs::Names(root.Path(fme.path))) {
    if (!name.starts_with("dfl-fme-region.")) continue;
    const std::string regions = fmt::format("{}/{}/fpga_region", fme.path, name);
    for (const std::string& region : sysfs::Names(root.Path(regions))) {
      paths.push_back(fmt::format("{}/{}/compat_id", regions, region));
    }
  }
  return paths;
}

Result<Identity> ReadInterface(const os::Root& root, const Whole& whole,
                               const std::string& address) {
  if (whole.fmes.empty()) {
    return Fail(Reason::kUnreadable, "{} has no FME, so its interface is unknown", address);
  }
  if (whole.fmes.size() > 1) {
    return Fail(Reason::kUnreadable, "{} has {}, one of which is right", address,
                Count(whole.fmes.size(), "FME"));
  }
  const std::vector<std::string> paths = InterfacesOf(root, whole.fmes.front());
  if (paths.empty()) return Fail(Reason::kUnreadable, "{} has no region", address);
  const Identity first = TRY(ReadId(root, paths.front()));
  for (const std::string& path : paths) {
    if (TRY(ReadId(root, path)).text == first.text) continue;
    return Fail(Reason::kUnreadable, "the regions of {} have several interfaces", address);
  }
  return first;
}

// What a card has without its ports. `address`: the card's.
Card Begin(const os::Root& root, const Whole& whole, const std::string& address) {
  Card card{.id = address, .address = address, .functions = {address}};
  card.model = fmt::format("Intel FPGA {}", ReadPciFunction(root, address).device);
  for (const Part& fme : whole.fmes) card.registers.push_back(fme.path + "/errors/catfatal_errors");
  if (PciAddressIn(address).empty()) {
    card.trouble = {Reason::kUnreadable, fmt::format("{} is not on the PCI bus", address)};
  }
  return card;
}

void Blame(const Error& error, Card& card) {
  if (!card.trouble) card.trouble = error;
}

void AddPort(const std::string& address, const Part& port, Card& card) {
  card.nodes.push_back(NodeAt("/dev/" + port.name, "rw"));
  card.registers.push_back(port.path + "/errors/errors");
  if (std::ranges::count(card.functions, port.function) == 0) {
    card.functions.push_back(port.function);
  }
  if (port.number) {
    card.takes.push_back(fmt::format("fpga/{}/{}", address, *port.number));
  } else {
    Blame({Reason::kUnreadable, port.path + "/id has no number"}, card);
  }
}

Card DescribePort(const os::Root& root, const Whole& whole, const Result<Identity>& interface,
                  const std::string& address, const Part& port) {
  Card card = Begin(root, whole, address);
  card.address = port.function;
  AddPort(address, port, card);
  card.id = port.number ? fmt::format("{}-{}", address, *port.number)
                        : fmt::format("{}-{}", address, port.name);
  const auto function = ReadId(root, port.path + "/afu_id");
  if (!interface) Blame(interface.error(), card);
  if (!function) Blame(function.error(), card);
  if (!interface || !function) return card;
  card.profile = AfProfile(interface->text, function->text);
  card.identity = {*interface, *function};
  return card;
}

Card DescribeRegion(const os::Root& root, const Whole& whole, const Result<Identity>& interface,
                    const std::string& address, FpgaConfig::Mode mode) {
  Card card = Begin(root, whole, address);
  for (const Part& port : whole.ports) AddPort(address, port, card);
  if (mode == FpgaConfig::Mode::kRegionDevel) {
    for (const Part& fme : whole.fmes) card.nodes.push_back(NodeAt("/dev/" + fme.name, "rw"));
  }
  if (whole.ports.empty()) {
    Blame({Reason::kUnreadable, fmt::format("{} has no port", address)}, card);
  }
  if (!interface) {
    Blame(interface.error(), card);
    return card;
  }
  card.profile = RegionProfile(interface->text);
  card.identity = {*interface};
  return card;
}

}  // namespace

std::vector<Card> ReadIntel(const os::Root& root, FpgaConfig::Mode mode) {
  std::vector<Card> cards;
  for (const auto& [address, whole] : ReadWholes(root)) {
    const auto interface = ReadInterface(root, whole, address);
    if (mode != FpgaConfig::Mode::kAf) {
      cards.push_back(DescribeRegion(root, whole, interface, address, mode));
      continue;
    }
    for (const Part& port : whole.ports) {
      cards.push_back(DescribePort(root, whole, interface, address, port));
    }
  }
  return cards;
}

std::vector<std::string> TracesOfIntel(const os::Root& root) {
  std::vector<std::string> traces;
  for (const Unit& unit : ReadUnits(root)) {
    traces.push_back(fmt::format("{} {} {}", unit.name, unit.path, Join(unit.parts, " ")));
  }
  return traces;
}

bool HasIntel(const os::Root& root) {
  const std::vector<std::string> addresses = sysfs::Names(root.Path("/sys/bus/pci/devices"));
  return std::ranges::any_of(addresses, [&](const std::string& address) {
    const PciFunction function = ReadPciFunction(root, address);
    return function.vendor == "8086" && function.driver.empty() &&
           std::ranges::count(kDevices, function.device) > 0;
  });
}

}  // namespace tessera::fpga
