// SPDX-License-Identifier: Apache-2.0
#include "ascend/node.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>

namespace tessera::ascend {
namespace {

// Renames the function in the library's symbol names, so the loader finds none of that name. The
// new name must be as long as the old one.
std::string Without(const std::string& function, std::string library) {
  const std::string name = '\0' + function + '\0';
  size_t at = library.find(name);
  if (at == std::string::npos) throw BadChange("the fake libdcmi.so has no " + function);
  for (; at != std::string::npos; at = library.find(name, at)) library[at + 1] = 'x';
  return library;
}

std::string Hex(uint32_t number) {
  std::ostringstream text;
  text << "0x" << std::hex << std::setw(4) << std::setfill('0') << number << "\n";
  return text.str();
}

}  // namespace

AscendNode::AscendNode(std::string directory, const SimNode& node)
    : directory_(std::move(directory)), node_(node) {
  for (const char* name : {"davinci_manager", "devmm_svm", "hisi_hdc"}) {
    WriteText(directory_ + "/dev/" + name, "");
  }
  for (const SimChip& chip : node_.chips) WriteChip(chip);
  for (int numa = 0; numa < 8; ++numa) {
    WriteText(directory_ + "/sys/devices/system/node/node" + std::to_string(numa) + "/cpulist",
              std::to_string(24 * numa) + "-" + std::to_string(24 * numa + 23) + "\n");
  }
  const std::string driver = directory_ + "/usr/local/Ascend/driver/";
  WriteText(driver + "version.info", "Version=" + node_.driver + "\n");
  WriteText(driver + "lib64/driver/libdrvdsmi_host.so", "");
  WriteText(directory_ + "/usr/local/bin/npu-smi", "");
  WriteText(directory_ + "/etc/ascend_install.info",
            "Driver_Install_Path_Param=/usr/local/Ascend\n");
  WriteNode();
  InstallDriver();
}

AscendNode::AscendNode(std::string directory)
    : directory_(std::move(directory)), node_(ParseNode(ReadText(directory_ + kDescriptionPath))) {}

void AscendNode::WriteChip(const SimChip& chip) const {
  WriteText(directory_ + "/dev/davinci" + std::to_string(chip.phy), "");
  const std::string function = directory_ + "/sys/bus/pci/devices/" + chip.address;
  WriteText(function + "/vendor", "0x19e5\n");
  WriteText(function + "/device", Hex(chip.pci_device));
  WriteText(function + "/class", "0x120000\n");
  WriteText(function + "/numa_node", std::to_string(chip.numa) + "\n");
}

SimChip& AscendNode::Chip(size_t chip) {
  if (chip >= node_.chips.size()) throw BadChange("there is no chip " + std::to_string(chip));
  return node_.chips[chip];
}

void AscendNode::InstallDriver(const std::string& lacking) {
  std::string library = ReadText(TESSERA_FAKE_DCMI);
  if (!lacking.empty()) library = Without(lacking, std::move(library));
  WriteText(directory_ + kLibraryPath, library);
}

void AscendNode::RemoveDriver() {
  std::filesystem::remove(directory_ + kLibraryPath);
}

void AscendNode::SetHealth(size_t chip, uint32_t health, std::vector<uint32_t> codes) {
  Chip(chip).health = health;
  Chip(chip).codes = std::move(codes);
  WriteNode();
}

void AscendNode::Tell(size_t chip, uint32_t code, int severity, int assertion) {
  node_.events.push_back({code, Chip(chip).logic, severity, assertion});
  WriteNode();
}

void AscendNode::Fail(const std::string& function, int card, int code) {
  node_.faults.push_back({function, card, code});
  WriteNode();
}

void AscendNode::Mend() {
  node_.faults.clear();
  WriteNode();
}

void AscendNode::Unplug(size_t chip) {
  SimChip& gone = Chip(chip);
  gone.absent = true;
  WriteNode();
  std::filesystem::remove(directory_ + "/dev/davinci" + std::to_string(gone.phy));
  const bool stays = std::ranges::any_of(node_.chips, [&](const SimChip& other) {
    return !other.absent && other.address == gone.address;
  });
  if (!stays) std::filesystem::remove_all(directory_ + "/sys/bus/pci/devices/" + gone.address);
}

void AscendNode::Return(size_t chip) {
  Chip(chip).absent = false;
  WriteChip(Chip(chip));
  WriteNode();
}

void AscendNode::MakeVnpu(size_t chip, uint32_t id, const std::string& name) {
  WriteText(directory_ + kVnpusPath + "/" + std::to_string(id),
            TextOf(SimVnpu{id, Chip(chip).phy, name, false}));
  WriteText(directory_ + "/dev/vdavinci" + std::to_string(id), "");
}

void AscendNode::RefuseNumbers() {
  node_.chooses = true;
  WriteNode();
}

void AscendNode::UseVnpu(uint32_t id, bool used) {
  const std::string path = directory_ + kVnpusPath + "/" + std::to_string(id);
  SimVnpu vnpu = ReadVnpu(path);
  vnpu.used = used;
  WriteText(path, TextOf(vnpu));
}

void AscendNode::DestroyVnpu(uint32_t id) {
  std::filesystem::remove(directory_ + kVnpusPath + "/" + std::to_string(id));
  std::filesystem::remove(directory_ + "/dev/vdavinci" + std::to_string(id));
}

std::vector<std::string> AscendNode::Vnpus() const {
  std::vector<std::string> vnpus;
  if (!std::filesystem::exists(directory_ + kVnpusPath)) return vnpus;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + kVnpusPath)) {
    vnpus.push_back(entry.path().filename().string() + " " + ReadVnpu(entry.path()).name);
  }
  std::ranges::sort(vnpus);
  return vnpus;
}

}  // namespace tessera::ascend
