// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/xilinx.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "backend/fpga/names.h"
#include "backend/pci_function.h"
#include "backend/sysfs.h"
#include "base/characters.h"

namespace tessera::fpga {
namespace {

constexpr char kBus[] = "/sys/bus/pci/devices";

// Xilinx, Advantech, AWS and Arista.
constexpr auto kVendors = std::to_array<std::string_view>({"10ee", "13fe", "1d0f", "3475"});

// The functions of one device on the bus.
struct Functions {
  std::vector<std::string> users{};
  std::string management{};  // empty: it has none
};

std::string DirectoryOf(std::string_view address) {
  return fmt::format("{}/{}", kBus, address);
}

// Whether a driver of XRT's has the function, as the one that this file marks.
bool IsMarked(const os::Root& root, const std::string& address, const char* file) {
  const std::string directory = root.Path(DirectoryOf(address));
  return os::Exists(fmt::format("{}/{}", directory, file)) &&
         std::ranges::count(kVendors, sysfs::HexText(directory + "/vendor")) > 0;
}

// By the address without the function.
std::map<std::string, Functions> ReadFunctions(const os::Root& root) {
  std::map<std::string, Functions> devices;
  for (const std::string& address : sysfs::Names(root.Path(kBus))) {
    const std::string device = address.substr(0, address.rfind('.'));
    if (IsMarked(root, address, "user_pf")) {
      devices[device].users.push_back(address);
    } else if (IsMarked(root, address, "mgmt_pf")) {
      devices[device].management = address;
    }
  }
  return devices;
}

// The first name with one of the beginnings, as numbers behind them change.
std::string FirstBeginning(const os::Root& root, const std::string& directory,
                           std::initializer_list<std::string_view> beginnings) {
  const std::vector<std::string> names = sysfs::Names(root.Path(directory));
  for (const std::string_view beginning : beginnings) {
    const auto found = std::ranges::find_if(
        names, [&](const std::string& name) { return name.starts_with(beginning); });
    if (found != names.end()) return *found;
  }
  return "";
}

std::string RenderOf(const os::Root& root, const std::string& directory) {
  const std::string name = FirstBeginning(root, directory + "/drm", {"renderD"});
  return NumberBehind("renderD", name) ? name : "";
}

std::string SensorsOf(const os::Root& root, const std::string& directory) {
  return FirstBeginning(root, directory, {"xmc.u.", "hwmon_sdm.u."});
}

// The serial number of a U30, which both devices of the card have.
void ReadBundle(const os::Root& root, const std::string& directory, Card& card) {
  const std::string sensors = SensorsOf(root, directory);
  if (sensors.empty()) {
    card.trouble = {Reason::kUnreadable,
                    fmt::format("{} is still loading: it has no serial number yet", card.address)};
    return;
  }
  const std::string file = fmt::format("{}/{}/serial_num", directory, sensors);
  const std::string serial = sysfs::Text(root.Path(file));
  if (!serial.empty() && std::ranges::all_of(serial, IsAlphanumeric)) {
    card.bundle = serial;
  } else {
    card.trouble = {Reason::kUnreadable, file + " has no serial number"};
  }
}

void ReadShell(const os::Root& root, const std::string& directory, Card& card) {
  const std::string rom = FirstBeginning(root, directory, {"rom."});
  const std::string shell_file = fmt::format("{}/{}/VBNV", directory, rom);
  const std::string time_file = fmt::format("{}/{}/timestamp", directory, rom);
  const std::string shell = rom.empty() ? "" : sysfs::Text(root.Path(shell_file));
  const std::string time = rom.empty() ? "" : sysfs::Text(root.Path(time_file));
  if (shell.empty() || time.empty()) {
    card.trouble = {Reason::kUnreadable,
                    fmt::format("{} is still loading: its shell has no name yet", card.address)};
    return;
  }
  const auto profile = ShellProfile(shell, time);
  if (!profile) {
    card.trouble = {
        Reason::kUnreadable,
        fmt::format("the name of the shell of {} cannot be a resource's", card.address)};
    return;
  }
  card.profile = *profile;
  card.model = shell;
  card.identity = {{shell_file, shell}, {time_file, time}};
  if (shell.find("xilinx_u30") != std::string::npos) ReadBundle(root, directory, card);
}

void AddManagement(const os::Root& root, const std::string& address, Card& card) {
  card.functions.push_back(address);
  const std::string file = DirectoryOf(address) + "/instance";
  const auto instance = sysfs::Number<uint64_t>(sysfs::Text(root.Path(file)));
  if (instance) {
    card.nodes.push_back(NodeAt(fmt::format("/dev/xclmgmt{}", *instance), "rwm"));
  } else if (!card.trouble) {
    card.trouble = {Reason::kUnreadable, file + " has no number"};
  }
}

// `management`: the address of that function; empty: there is none.
Card Describe(const os::Root& root, const std::string& address, const std::string& management) {
  const std::string directory = DirectoryOf(address);
  Card card{.id = address,
            .address = address,
            .model = "FPGA",
            .takes = {"fpga/" + address},
            .functions = {address}};
  ReadShell(root, directory, card);
  const std::string render = RenderOf(root, directory);
  if (!render.empty()) {
    card.nodes.push_back(NodeAt("/dev/dri/" + render, "rwm"));
  } else if (!card.trouble) {
    card.trouble = {Reason::kUnreadable,
                    fmt::format("{} is still loading: it has no node yet", address)};
  }
  if (!management.empty()) AddManagement(root, management, card);
  const auto instance = InstanceOf(address);
  if (instance && !FirstBeginning(root, directory, {"dma.qdma.u"}).empty()) {
    card.nodes.push_back(NodeAt(fmt::format("/dev/xfpga/dma.qdma.u{}.0", *instance), "rwm"));
  }
  return card;
}

}  // namespace

std::vector<Card> ReadXilinx(const os::Root& root) {
  std::vector<Card> cards;
  for (const auto& [device, functions] : ReadFunctions(root)) {
    for (const std::string& user : functions.users) {
      cards.push_back(Describe(root, user, functions.management));
    }
  }
  return cards;
}

std::vector<std::string> TracesOfXilinx(const os::Root& root) {
  std::vector<std::string> traces;
  for (const auto& [device, functions] : ReadFunctions(root)) {
    traces.push_back(functions.management);
    for (const std::string& user : functions.users) {
      const std::string directory = DirectoryOf(user);
      traces.push_back(fmt::format("{} {} {} {}", user, FirstBeginning(root, directory, {"rom."}),
                                   SensorsOf(root, directory), RenderOf(root, directory)));
    }
  }
  return traces;
}

bool HasXilinx(const os::Root& root) {
  const std::vector<std::string> addresses = sysfs::Names(root.Path(kBus));
  return std::ranges::any_of(addresses, [&](const std::string& address) {
    const bool is_accelerator =
        sysfs::Text(root.Path(DirectoryOf(address) + "/class")).starts_with("0x12");
    const PciFunction function = ReadPciFunction(root, address);
    return std::ranges::count(kVendors, function.vendor) > 0 && is_accelerator &&
           function.driver.empty();
  });
}

}  // namespace tessera::fpga
