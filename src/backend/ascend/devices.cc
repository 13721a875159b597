// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "backend/node_facts.h"
#include "backend/pci_place.h"
#include "backend/sysfs.h"
#include "base/characters.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::ascend {
namespace {

constexpr int kSamePackage = 20, kSameNetwork = 10;

// The driver's files for a container that has no runtime of Huawei's; those that are there.
// The chart mounts the node's /etc below kHost.
constexpr std::string_view kHost = "/host";
constexpr std::array<std::string_view, 8> kDriverFiles = {"/usr/local/Ascend/driver/lib64",
                                                          "/usr/local/Ascend/driver/include",
                                                          "/usr/local/Ascend/driver/version.info",
                                                          "/usr/local/dcmi",
                                                          "/usr/local/bin/npu-smi",
                                                          "/etc/ascend_install.info",
                                                          "/etc/hccn.conf",
                                                          "/etc/vnpu.cfg"};

bool Is310b(const Chip& chip) {
  return chip.Model() == "Ascend310B";
}

std::vector<WantedNode> CommonNodes(const os::Root& root, const Chip& chip) {
  const auto same = [](const std::string& path, bool optional) {
    return WantedNode{{.host_path = path, .container_path = path}, optional};
  };
  if (Is310b(chip)) {
    // Containers have a manager of their own there.
    constexpr const char* kOwn = "/dev/davinci_manager_docker";
    constexpr const char* kManager = "/dev/davinci_manager";
    std::vector<WantedNode> nodes = {
        {{.host_path = os::Exists(root.Path(kOwn)) ? kOwn : kManager, .container_path = kManager}}};
    for (const char* path :
         {"/dev/dvpp_cmdlist", "/dev/svm0", "/dev/ts_aisle", "/dev/upgrade", "/dev/sys",
          "/dev/vdec", "/dev/vpc", "/dev/pngd", "/dev/venc", "/dev/log_drv", "/dev/acodec",
          "/dev/ai", "/dev/ao", "/dev/vo", "/dev/hdmi"}) {
      nodes.push_back(same(path, true));
    }
    return nodes;
  }
  const bool is_950 = chip.Model().starts_with("Ascend950");
  std::vector<WantedNode> nodes = {same("/dev/davinci_manager", false)};
  if (!is_950) nodes.push_back(same("/dev/devmm_svm", true));
  nodes.push_back(same("/dev/hisi_hdc", true));
  if (!is_950) nodes.push_back(same("/dev/dvpp_cmdlist", true));
  // Of nodes whose chips are on Huawei's unified bus.
  for (const std::string directory : {"/dev/uburma", "/dev/ummu"}) {
    for (const std::string& name : sysfs::Names(root.Path(directory))) {
      nodes.push_back(same(fmt::format("{}/{}", directory, name), true));
    }
  }
  return nodes;
}

std::vector<Mount> DriverFiles(const os::Root& root) {
  std::vector<Mount> mounts;
  for (const std::string_view path : kDriverFiles) {
    const std::string on_host = fmt::format("{}{}", kHost, path);
    if (!os::Exists(root.Path(path)) && !os::Exists(root.Path(on_host))) continue;
    mounts.push_back({.host_path = std::string(path), .container_path = std::string(path)});
  }
  return mounts;
}

// Pieces of the chip, of which whole chips have all, so that one container at most has each. They
// are named by the chip's node, because its id changes if the driver tells the die later.
std::string Piece(const Chip& chip, unsigned piece) {
  return fmt::format("ascend/davinci{}/{}", chip.physical, piece);
}

std::string PieceOf(const Vnpu& vnpu) {
  return fmt::format("ascend/vdavinci{}", vnpu.id);
}

std::vector<std::string> Pieces(const Chip& chip, unsigned first, unsigned count) {
  std::vector<std::string> pieces;
  for (unsigned piece = first; piece < first + count; ++piece) {
    pieces.push_back(Piece(chip, piece));
  }
  return pieces;
}

// A chip has no more vNPUs and AI cores than that.
unsigned PiecesOf(const Chip& chip) {
  return std::clamp(chip.cores, 1U, 64U);
}

// The model that all chips have; empty: there are several, or none is known.
std::string SoleModel(const Chips& chips) {
  std::string sole;
  for (const Chip& chip : chips.chips) {
    if (chip.trouble) continue;
    if (!sole.empty() && sole != chip.Model()) return "";
    sole = chip.Model();
  }
  return sole;
}

// Makes devices of one node for one resource.
class Maker {
 public:
  Maker(const os::Root& root, const std::string& resource, const AscendConfig& config,
        const Chips& chips, const OwnVnpus& own, const std::map<std::string, Found>& before)
      : root_(root),
        resource_(resource),
        config_(config),
        chips_(chips),
        own_(own),
        before_(before),
        sole_(SoleModel(chips)) {}

  void Add(const Chip& chip, std::vector<Found>& found) const {
    if (chip.trouble) return AddUnread(chip, found);
    if (config_.Makes()) return AddSlots(chip, found);
    if (config_.fixed) return AddFixed(chip, found);
    if (IsChosen(chip.Model(), chip.Model())) found.push_back(Whole(chip));
  }

 private:
  // A resource of a family has the devices of its profile, the family itself those of all.
  bool IsChosen(const std::string& model, const std::string& profile) const {
    const std::string& wanted = config_.profile;
    if (!wanted.empty() && wanted != profile && wanted != model) return false;
    if (profile.empty()) return config_.family.empty();
    return config_.family.empty() || resource_ == config_.family ||
           resource_ == config::MemberName(config_.family, profile);
  }

  Found Base(const Chip& chip, const std::string& profile) const {
    Found found{.device = {},
                .place = chip.place,
                .die = chip.die,
                .logic = chip.logic,
                .physical = chip.physical};
    Device& device = found.device;
    device.key = {config_.family.empty() ? resource_ : config::MemberName(config_.family, profile),
                  chip.Id()};
    device.model = profile;
    device.address = chip.address;
    device.visible_as = std::to_string(chip.physical);
    device.order = static_cast<int>(chip.physical) * kOrderStep;
    device.numa_nodes = chip.numa_nodes;
    device.memory = chip.memory;
    // HAMi's scheduler grants so much as a whole chip, whatever the driver keeps of it.
    if (config_.vgpu != nullptr && !chip.name.empty()) {
      device.memory = config_.vgpu->rules.sizes.back();
    }
    return found;
  }

  // A chip that cannot be read has the model of all others, as far as it has not told its own.
  void AddUnread(const Chip& chip, std::vector<Found>& found) const {
    const std::string model = chip.name.empty() ? sole_ : chip.Model();
    const std::string profile = ProfileOfUnread(model);
    if (!IsChosen(model, profile)) return;
    const auto add = [&](std::string id) {
      Found one = Base(chip, profile);
      Device& device = one.device;
      device.key.id = std::move(id);
      if (profile.empty()) device.model = "Ascend NPU";
      device.visible_as = chip.Id();
      // Its number is unknown, so it comes after the others, with an order of its own.
      device.order = kOrderStep * (kOrderStep + static_cast<int>(found.size()));
      device.defect = chip.trouble;
      DeviceTraits traits;
      if (IsBundled(chip)) traits.bundle = Bundle(chip);
      device.traits = std::move(traits);
      found.push_back(std::move(one));
    };
    add(chip.Id());
    if (!config_.Makes()) return;
    for (const auto& [grant, vnpu] : own_) {
      if (vnpu.place == chip.place && vnpu.name == config_.vnpu_template) add(vnpu.device);
    }
  }
  std::string ProfileOfUnread(const std::string& model) const {
    if (model.empty() || config_.IsWhole()) return model;
    if (!config_.vnpu_template.empty()) {
      return fmt::format("{}-{}", model, config_.vnpu_template);
    }
    if (config_.profile.starts_with(model + "-")) return config_.profile;
    // A family of fixed vNPUs has no resource of the chip's name.
    return config_.family.empty() ? model : "";
  }

  // Gives the device its traits, nodes and files. `node`: of the chip or the vNPU, in /dev; empty:
  // it comes later.
  void Complete(const Chip& chip, DeviceTraits traits, unsigned cores, const std::string& node,
                Device& device) const {
    if (!chip.address.empty()) ReadPciPlace(root_, chip.address, traits);
    if (cores > 0) traits.capacities["aicores"] = cores;
    if (config_.mode == AscendConfig::Mode::kRuntime) {
      if (Is310b(chip)) traits.variables["ASCEND_ALLOW_LINK"] = "True";
      device.traits = std::move(traits);
      return;
    }
    device.traits = std::move(traits);
    std::vector<WantedNode> nodes;
    if (!node.empty()) {
      // A container knows a vNPU as a chip of the same number.
      const std::string inside = node[0] == 'v' ? node.substr(1) : node;
      nodes.push_back({{.host_path = "/dev/" + node, .container_path = "/dev/" + inside}});
    }
    for (WantedNode& common : CommonNodes(root_, chip)) nodes.push_back(std::move(common));
    AddNodes(root_, nodes, device);
    device.mounts = DriverFiles(root_);
  }

  Found Whole(const Chip& chip) const {
    Found found = Base(chip, chip.Model());
    DeviceTraits traits;
    traits.takes = Pieces(chip, 0, PiecesOf(chip));
    if (config_.vgpu == nullptr) {
      for (const Vnpu& vnpu : chip.vnpus) traits.takes.push_back(PieceOf(vnpu));
    }
    if (IsBundled(chip)) traits.bundle = Bundle(chip);
    found.device.links = LinksOf(chip);
    const std::string node = "davinci" + std::to_string(chip.physical);
    Complete(chip, std::move(traits), chip.cores, node, found.device);
    if (config_.Divides()) {
      // The preparer gives each container the chip's node, or that of its vNPU.
      std::erase_if(found.device.nodes,
                    [&](const DeviceNode& one) { return one.host_path == "/dev/" + node; });
    }
    // Huawei's runtime makes vNPUs of its own.
    const bool is_runtimes =
        config_.vgpu != nullptr && config_.mode == AscendConfig::Mode::kRuntime;
    if (!is_runtimes && !ForeignVnpus(chip).empty()) {
      found.device.defect =
          Error{Reason::kUnavailable,
                fmt::format("chip {} has vNPUs that the agent did not make", chip.physical)};
    }
    return found;
  }

  static std::string Bundle(const Chip& chip) {
    return fmt::format("ascend/card{}", chip.place.card);
  }
  // Whether kubelet's choice of dies matters: with `policy: vgpu` the scheduler chooses them.
  bool IsBundled(const Chip& chip) const {
    return config_.IsWhole() && config_.vgpu == nullptr && InPackage(chip);
  }
  // A die that cannot be read belongs to the package of the others.
  bool InPackage(const Chip& chip) const {
    if (!chips_.dies_together) return false;
    size_t dies = 0;
    bool is_package = false;
    for (const Chip& other : chips_.chips) {
      if (other.place.card != chip.place.card) continue;
      ++dies;
      is_package = is_package || other.Model() == "Ascend910C";
    }
    return is_package && dies > 1;
  }

  std::vector<Link> LinksOf(const Chip& chip) const {
    std::vector<Link> links;
    if (!chip.Model().starts_with("Ascend910")) return links;
    for (const Chip& other : chips_.chips) {
      if (other.place == chip.place || other.trouble || other.Model() != chip.Model()) continue;
      const bool one_package = other.place.card == chip.place.card;
      if (!one_package && NetworkOf(other) != NetworkOf(chip)) continue;
      links.push_back({other.Id(), one_package ? kSamePackage : kSameNetwork});
    }
    std::ranges::sort(links, NaturalLess(), &Link::peer);
    return links;
  }

  // Whether the agent has made the vNPU.
  bool IsOwn(uint32_t id) const {
    return std::ranges::any_of(own_, [&](const auto& one) {
      return one.second.id == id && one.second.state != VnpuState::kLost;
    });
  }
  // The vNPUs of this template that the agent has made, or is making, and whose numbers it does not
  // know yet.
  size_t Numberless(const Chip& chip, const std::string& name) const {
    return static_cast<size_t>(std::ranges::count_if(own_, [&](const auto& one) {
      const OwnVnpu& vnpu = one.second;
      return !vnpu.id && vnpu.state != VnpuState::kLost && vnpu.place == chip.place &&
             vnpu.name == name;
    }));
  }
  std::vector<Vnpu> ForeignVnpus(const Chip& chip) const {
    std::vector<Vnpu> foreign;
    std::map<std::string, size_t> unknown;  // by template: how many may be the agent's
    for (const Vnpu& vnpu : chip.vnpus) {
      if (IsOwn(vnpu.id)) continue;
      const size_t numberless = Numberless(chip, vnpu.name);
      if (++unknown[vnpu.name] > numberless) foreign.push_back(vnpu);
    }
    return foreign;
  }
  unsigned ForeignCores(const Chip& chip) const {
    unsigned cores = 0;
    for (const Vnpu& vnpu : ForeignVnpus(chip)) cores += std::max(vnpu.cores, 1U);
    return cores;
  }
  unsigned OwnCores(const Chip& chip) const {
    unsigned cores = 0;
    for (const auto& [grant, vnpu] : own_) {
      const bool is_there = vnpu.place == chip.place && vnpu.state != VnpuState::kLost;
      if (is_there) cores += TemplateCores(vnpu.name);
    }
    return cores;
  }

  // The vNPUs that the agent could make of the chip at once.
  void AddSlots(const Chip& chip, std::vector<Found>& found) const {
    const std::string& name = config_.vnpu_template;
    const unsigned cores = TemplateCores(name);
    const std::string profile = fmt::format("{}-{}", chip.Model(), name);
    if (cores == 0 || chip.cores < cores || !IsChosen(chip.Model(), profile)) return;
    const unsigned foreign = ForeignCores(chip);
    const unsigned taken = std::min(foreign + OwnCores(chip), chip.cores);
    // Without others, the pieces alone tell what fits.
    unsigned room = foreign == 0 ? chip.cores : (chip.cores - taken) / cores;
    for (unsigned slot = 0; slot < chip.cores / cores; ++slot) {
      Found one = Base(chip, profile);
      Device& device = one.device;
      device.key.id = fmt::format("{}-{}-{}", chip.Id(), name, slot);
      device.parent = chip.Id();
      device.order += static_cast<int>(slot);
      device.memory = chip.memory * cores / chip.cores;
      DeviceTraits traits;
      traits.takes = Pieces(chip, slot * cores, cores);
      Complete(chip, std::move(traits), cores, "", device);
      if (!IsMade(device.key.id)) {
        if (room > 0) {
          --room;
        } else {
          device.defect = Error{
              Reason::kUnavailable,
              fmt::format("vNPUs of other programs have the AI cores of chip {}", chip.physical)};
        }
      }
      found.push_back(std::move(one));
    }
  }
  bool IsMade(const std::string& device) const {
    return std::ranges::any_of(own_, [&](const auto& one) { return one.second.device == device; });
  }

  void AddFixed(const Chip& chip, std::vector<Found>& found) const {
    for (const Vnpu& vnpu : chip.vnpus) {
      if (IsOwn(vnpu.id)) continue;
      if (!config_.vnpu_template.empty() && config_.vnpu_template != vnpu.name) continue;
      const std::string id = fmt::format("{}-{}", chip.Id(), vnpu.id);
      // It may be the agent's.
      if (Numberless(chip, vnpu.name) > 0 && !before_.contains(id)) continue;
      const std::string profile =
          vnpu.name.empty() ? chip.Model() : fmt::format("{}-{}", chip.Model(), vnpu.name);
      if (!IsChosen(chip.Model(), profile)) continue;
      Found one = Base(chip, profile);
      Device& device = one.device;
      one.vnpu = vnpu.id;
      device.key.id = id;
      device.parent = chip.Id();
      device.visible_as = std::to_string(vnpu.id);
      device.order += static_cast<int>(vnpu.id % kOrderStep);
      device.memory = vnpu.memory;
      DeviceTraits traits;
      traits.takes = {PieceOf(vnpu)};
      Complete(chip, std::move(traits), vnpu.cores, "vdavinci" + std::to_string(vnpu.id), device);
      found.push_back(std::move(one));
    }
  }

  const os::Root& root_;
  const std::string& resource_;
  const AscendConfig& config_;
  const Chips& chips_;
  const OwnVnpus& own_;
  const std::map<std::string, Found>& before_;
  const std::string sole_;
};

}  // namespace

unsigned TemplateCores(std::string_view name) {
  if (!name.starts_with("vir")) return 0;
  name.remove_prefix(3);
  size_t digits = 0;
  while (digits < name.size() && IsDigit(name[digits])) ++digits;
  const auto cores = sysfs::Number<uint8_t>(name.substr(0, digits));
  return cores.value_or(0);
}

int NetworkOf(const Chip& chip) {
  constexpr uint32_t kHalf = 4;
  const std::string model = chip.Model();
  return model.starts_with("Ascend910") && model != "Ascend910C" && chip.physical >= kHalf ? 1 : 0;
}

std::vector<Found> DevicesOf(const os::Root& root, const std::string& resource,
                             const AscendConfig& config, const Chips& chips, const OwnVnpus& own,
                             const std::map<std::string, Found>& before) {
  const Maker maker(root, resource, config, chips, own, before);
  std::vector<Found> found;
  for (const Chip& chip : chips.chips) maker.Add(chip, found);
  return found;
}

bool HasChip(const os::Root& root) {
  const std::string bus = root.Path("/sys/bus/pci/devices");
  return std::ranges::any_of(sysfs::Names(bus), [&](const std::string& address) {
    const std::string function = bus + "/" + address;
    // Huawei's other functions are displays, disks and NICs.
    return sysfs::HexText(function + "/vendor") == "19e5" &&
           sysfs::HexText(function + "/class").starts_with("12");
  });
}

}  // namespace tessera::ascend
