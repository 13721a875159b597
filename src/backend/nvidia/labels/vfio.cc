// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/vfio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/labels/facts.h"
#include "backend/nvidia/labels/pci_file.h"
#include "backend/pci_function.h"
#include "base/text.h"

namespace tessera::nvidia {
namespace {

constexpr std::string_view kVfioDriver = "vfio-pci";
constexpr uint64_t kDisplayClass = 0x03;          // controllers, also GPUs
constexpr std::string_view kVendorLine = "10de";  // its form in the database
// The database's places: pciutils, Debian, Red Hat, and a node's own update.
constexpr std::array<std::string_view, 4> kDatabases = {
    "/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/usr/share/pci.ids",
    "/var/lib/pciutils/pci.ids"};
constexpr size_t kMostDatabase = 16 << 20;

constexpr size_t kWindows = 6;           // lines of the file; later lines are other windows
constexpr uint64_t kIs64Bit = 0x100000;  // a flag of a window
constexpr int kNoCapability = -1;        // cannot be read from the GPU

// The versions of a driver that does not exist.
constexpr char kNoDriver[] = "unknown.unknown.unknown";

std::string Database(const os::Root& root, const std::string& driver_root) {
  for (const std::string& directory : {driver_root, std::string("/")}) {
    for (const std::string_view path : kDatabases) {
      auto text = os::ReadFile(root.Path(Below(directory, path)), kMostDatabase);
      if (text) return *std::move(text);
    }
  }
  return {};
}

bool IsPassedThrough(const os::Root& root, const std::string& address) {
  const auto pci_class = ReadPciNumber(root, address, "class");
  if (!pci_class || *pci_class >> 16 != kDisplayClass) return false;
  // A virtual function of a GPU does not count.
  const PciFunction function = ReadPciFunction(root, address);
  return function.physical_function.empty() && function.driver == kVfioDriver;
}

}  // namespace

std::string ModelIn(std::string_view database, uint64_t device) {
  // Below the vendor's line, a device's line starts with one tab and a subsystem's with two.
  const std::string wanted = fmt::format("\t{:04x}  ", device);
  bool ours = false;
  while (!database.empty()) {
    const size_t end = std::min(database.find('\n'), database.size());
    const std::string_view line = database.substr(0, end);
    database.remove_prefix(std::min(end + 1, database.size()));
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != '\t') ours = line.starts_with(kVendorLine);
    if (ours && line.starts_with(wanted)) return std::string(Trim(line.substr(wanted.size())));
  }
  return {};
}

uint64_t LargestWindow(std::string_view resource) {
  uint64_t largest = 0;
  const std::vector<std::string> lines = Split(resource, '\n');
  for (size_t i = 0; i < std::min(lines.size(), kWindows); ++i) {
    const std::vector<std::string> parts = Split(Trim(lines[i]), ' ');
    if (parts.size() != 3) continue;
    const auto first = HexNumber(parts[0]);
    const auto last = HexNumber(parts[1]);
    const auto flags = HexNumber(parts[2]);
    if (!first || !last || !flags || *last <= *first || (*flags & kIs64Bit) == 0) continue;
    largest = std::max(largest, *last - *first + 1);
  }
  return largest >> 20;
}

std::vector<GpuFacts> ReadPassedThrough(const os::Root& root, const std::string& driver_root) {
  std::vector<GpuFacts> gpus;
  std::string database;
  for (const std::string& address : NvidiaAddresses(root)) {
    if (!IsPassedThrough(root, address)) continue;
    if (gpus.empty()) database = Database(root, driver_root);
    GpuFacts& gpu = gpus.emplace_back();
    const uint64_t device = ReadPciNumber(root, address, "device").value_or(0);
    gpu.model = ModelIn(database, device);
    if (gpu.model.empty()) gpu.model = fmt::format("NVIDIA Device {:04x}", device);
    gpu.memory_mib = LargestWindow(os::ReadFile(PciFile(root, address, "resource")).value_or(""));
    gpu.compute_major = kNoCapability;
    gpu.pci_class = PciClass(root, address);
  }
  return gpus;
}

VfioLabeller::VfioLabeller(const config::Config& config)
    : root_(config.root_prefix),
      driver_root_(DriverRoot(config)),
      machine_file_(config.labels.machine_type_file),
      policy_(LabelPolicyOf(config)),
      timestamp_(TimestampOf(config)) {}

Result<Labels> VfioLabeller::Read() {
  NodeFacts facts{.driver = kNoDriver,
                  .machine = MachineIn(root_, machine_file_),
                  .gpus = ReadPassedThrough(root_, driver_root_)};
  ReadVgpu(root_, facts);
  return MakeLabels(facts, policy_, timestamp_);
}

Labels VfioLabeller::WithoutDevices() {
  NodeFacts facts;
  ReadVgpu(root_, facts);
  return MakeLabels(facts, policy_, timestamp_);
}

}  // namespace tessera::nvidia
