// SPDX-License-Identifier: Apache-2.0
#include "fpga/node.h"

#include <fmt/core.h>

#include <utility>

namespace tessera::fpga {
namespace {

const std::string kOnes(32, 'f');

std::string AddressIn(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// XRT's number of a function of the first domain.
unsigned InstanceOf(const std::string& address) {
  const auto hex = [&](size_t at, size_t digits) {
    return static_cast<unsigned>(std::stoul(address.substr(at, digits), nullptr, 16));
  };
  return hex(5, 2) << 8U | hex(8, 2) << 3U | hex(11, 1);
}

// The first 64 bytes of a function's configuration space.
std::string ConfigOf(bool is_lost, const std::string& vendor, const std::string& device) {
  constexpr size_t kBytes = 64;
  std::string bytes(kBytes, is_lost ? '\xff' : '\0');
  if (is_lost) return bytes;
  const auto put = [&](size_t at, const std::string& digits) {
    const int value = std::stoi(digits, nullptr, 16);
    bytes[at] = static_cast<char>(value & 0xff);
    bytes[at + 1] = static_cast<char>(value >> 8);
  };
  put(0, vendor);
  put(2, device);
  return bytes;
}

}  // namespace

FpgaNode::FpgaNode(std::string directory, SimNode node)
    : directory_(std::move(directory)),
      node_(std::move(node)),
      states_(node_.intel.size() + node_.xilinx.size()) {
  Write();
}

FpgaNode::FpgaNode(std::string directory, SimNode node, const std::vector<Words>& past)
    : directory_(std::move(directory)),
      node_(std::move(node)),
      states_(node_.intel.size() + node_.xilinx.size()),
      is_past_(true) {
  for (const Words& change : past) Apply(change);
  is_past_ = false;
  written_ = Files();
}

void FpgaNode::Lose(size_t card) {
  StateOf(card).is_lost = true;
  Write();
}

void FpgaNode::Unplug(size_t card) {
  StateOf(card).is_absent = true;
  Write();
}

void FpgaNode::Return(size_t card) {
  StateOf(card) = {};
  Write();
}

void FpgaNode::Unbind(size_t card) {
  StateOf(card).is_unbound = true;
  Write();
}

void FpgaNode::SetAfu(size_t card, size_t port, const std::string& id) {
  PortAt(card, port).afu_id = id;
  Write();
}

void FpgaNode::SetInterface(size_t card, const std::string& id) {
  IntelAt(card).interface_id = id;
  Write();
}

void FpgaNode::SetErrors(size_t card, size_t port, uint64_t errors) {
  PortAt(card, port).errors = errors;
  Write();
}

void FpgaNode::Load(size_t card) {
  XilinxAt(card);
  StateOf(card).is_loading = true;
  Write();
}

void FpgaNode::Loaded(size_t card, const std::string& shell) {
  XilinxAt(card).shell = shell;
  StateOf(card).is_loading = false;
  Write();
}

void FpgaNode::Renumber(int first) {
  first_ = first;
  Write();
}

void FpgaNode::RemoveDriver() {
  has_driver_ = false;
  Write();
}

void FpgaNode::InstallDriver() {
  has_driver_ = true;
  Write();
}

FpgaNode::State& FpgaNode::StateOf(size_t card) {
  if (card >= states_.size()) throw BadChange(fmt::format("there is no card {}", card));
  return states_[card];
}

SimIntel& FpgaNode::IntelAt(size_t card) {
  if (card >= node_.intel.size()) throw BadChange(fmt::format("card {} is not Intel's", card));
  return node_.intel[card];
}

SimPort& FpgaNode::PortAt(size_t card, size_t port) {
  SimIntel& intel = IntelAt(card);
  if (port >= intel.ports.size()) throw BadChange(fmt::format("there is no port {}", port));
  return intel.ports[port];
}

SimXilinx& FpgaNode::XilinxAt(size_t card) {
  const size_t index = card - node_.intel.size();
  if (index >= node_.xilinx.size()) throw BadChange(fmt::format("card {} is not Xilinx's", card));
  return node_.xilinx[index];
}

void FpgaNode::Write() {
  if (is_past_) return;
  amd::Tree files = Files();
  files.Replace(written_, directory_);
  written_ = std::move(files);
}

amd::Tree FpgaNode::Files() const {
  amd::Tree tree;
  tree.AddDirectory("/dev");
  tree.AddDirectory("/sys/bus/pci/devices");
  int ports = first_;
  for (size_t card = 0; card < states_.size(); ++card) {
    if (states_[card].is_absent) continue;
    card < node_.intel.size() ? AddIntel(tree, card, ports) : AddXilinx(tree, card);
  }
  return tree;
}

// `files`: by name, besides those of every function. They have vendor and device.
void FpgaNode::AddFunction(amd::Tree& tree, const std::string& path, const State& state,
                           const std::map<std::string, std::string>& files,
                           const std::string& driver) const {
  for (const auto& [name, text] : files) tree.AddLine(path + "/" + name, text);
  tree.AddFile(path + "/config", ConfigOf(state.is_lost, files.at("vendor"), files.at("device")));
  tree.AddLine(path + "/power/runtime_status", "active");
  tree.AddLink("/sys/bus/pci/devices/" + AddressIn(path), path);
  if (state.is_unbound || !has_driver_) return;
  tree.AddDirectory("/sys/bus/pci/drivers/" + driver);
  tree.AddLink(path + "/driver", "/sys/bus/pci/drivers/" + driver);
}

void FpgaNode::AddIntel(amd::Tree& tree, size_t card, int& ports) const {
  const SimIntel& intel = node_.intel[card];
  const State& state = states_[card];
  const std::string family = intel.is_opae ? "fpga" : "fpga_region";
  const std::string unit = intel.is_opae ? "intel-fpga-dev." : "region";
  const std::string parts = intel.is_opae ? "intel-fpga-" : "dfl-";
  const std::string driver = intel.is_opae ? "intel-fpga-pci" : "dfl-pci";
  const std::string path = fmt::format("/sys/devices/{}/{}", intel.root, intel.address);
  std::map<std::string, std::string> files = {{"vendor", "0x8086"},
                                              {"device", "0x09c4"},
                                              {"class", "0x120000"},
                                              {"numa_node", std::to_string(intel.numa)}};
  AddFunction(tree, path, state, files, driver);
  const bool has_files = has_driver_ && !state.is_unbound;
  const auto unit_at = [&](const std::string& function, int number) {
    const std::string name = unit + std::to_string(number);
    const std::string at = fmt::format("{}/{}/{}", function, family, name);
    tree.AddLink(fmt::format("/sys/class/{}/{}", family, name), at);
    tree.AddLink(at + "/device", function);
    return at;
  };
  const int number = static_cast<int>(card) + first_;
  std::string own;
  if (has_files) {
    own = unit_at(path, number * 4);
    const std::string fme = fmt::format("{}fme.{}", parts, number);
    tree.AddLine("/dev/" + fme, "");
    const std::string id = state.is_lost ? kOnes : intel.interface_id;
    const std::string region = fmt::format("{}/{}/dfl-fme-region.{}/fpga_region/region{}", own, fme,
                                           number, number * 4 + 1);
    if (intel.is_opae) {
      tree.AddLine(fmt::format("{}/{}/pr/interface_id", own, fme), id);
    } else {
      tree.AddLine(region + "/compat_id", id);
      tree.AddLink(fmt::format("/sys/class/fpga_region/region{}", number * 4 + 1), region);
      tree.AddLine(fmt::format("{}/{}/errors/catfatal_errors", own, fme), "0x0");
    }
    tree.AddLine(fmt::format("{}/{}/bitstream_id", own, fme), "0x23000110010309");
    tree.AddLine(fmt::format("{}/{}/ports_num", own, fme), std::to_string(intel.ports.size()));
  }
  for (const SimPort& port : intel.ports) {
    std::string at = own;
    if (!port.function.empty()) {
      const std::string function = fmt::format("/sys/devices/{}/{}", intel.root, port.function);
      files["device"] = "0x09c5";
      AddFunction(tree, function, state, files, driver);
      tree.AddLink(function + "/physfn", path);
      if (has_files) at = unit_at(function, number * 4 + 2);
    }
    if (!has_files) continue;
    const std::string name = fmt::format("{}port.{}", parts, ports++);
    tree.AddLine("/dev/" + name, "");
    tree.AddLine(fmt::format("{}/{}/id", at, name),
                 std::to_string(state.is_lost ? 3 : port.number));
    tree.AddLine(fmt::format("{}/{}/afu_id", at, name), state.is_lost ? kOnes : port.afu_id);
    tree.AddLine(fmt::format("{}/{}/errors/errors", at, name), fmt::format("{:#x}", port.errors));
    tree.AddLine(fmt::format("{}/{}/errors/first_error", at, name), "0x0");
  }
}

void FpgaNode::AddXilinx(amd::Tree& tree, size_t card) const {
  const SimXilinx& xilinx = node_.xilinx[card - node_.intel.size()];
  const State& state = states_[card];
  const bool has_files = has_driver_ && !state.is_unbound;
  std::map<std::string, std::string> files = {{"vendor", "0x10ee"},
                                              {"device", "0x5004"},
                                              {"class", "0x120000"},
                                              {"numa_node", std::to_string(xilinx.numa)}};
  if (!xilinx.management.empty()) {
    std::map<std::string, std::string> own = files;
    if (has_files) {
      own["mgmt_pf"] = "";
      own["instance"] = std::to_string(InstanceOf(xilinx.management));
      tree.AddLine("/dev/xclmgmt" + own["instance"], "");
    }
    AddFunction(tree, fmt::format("/sys/devices/{}/{}", xilinx.root, xilinx.management), state, own,
                "xclmgmt");
  }
  const std::string path = fmt::format("/sys/devices/{}/{}", xilinx.root, xilinx.user);
  files["device"] = "0x5005";
  if (has_files) files["user_pf"] = "";
  AddFunction(tree, path, state, files, "xocl");
  if (!has_files || state.is_loading) return;
  tree.AddLine(fmt::format("/dev/dri/renderD{}", xilinx.render + first_), "");
  tree.AddDirectory(fmt::format("{}/drm/renderD{}", path, xilinx.render + first_));
  tree.AddLine(path + "/rom.u.16777216.0/VBNV", xilinx.shell);
  tree.AddLine(path + "/rom.u.16777216.0/timestamp", xilinx.time);
  tree.AddLine(path + "/logic_uuids", "862c7020a250293e32036f19956669e5");
  if (!xilinx.serial.empty()) tree.AddLine(path + "/xmc.u.19922944/serial_num", xilinx.serial);
  if (xilinx.queues.empty()) return;
  tree.AddDirectory(path + "/" + xilinx.queues);
  tree.AddLine(fmt::format("/dev/xfpga/dma.qdma.u{}.0", InstanceOf(xilinx.user)), "");
}

}  // namespace tessera::fpga
