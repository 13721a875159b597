// SPDX-License-Identifier: Apache-2.0
// A fake libdcmi.so. It answers by the description of the node (description.h) that is in the
// library's own tree, and reads it for each call. vNPUs are files, so that they outlive a process.
// Events come on a thread of the library's. Any thread may call any function. A call that hangs
// does so until its fault is gone.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "ascend/dcmi_abi.h"
#include "ascend/description.h"

namespace tessera::ascend {
namespace {

constexpr int kInvalid = -8001, kNotReady = -8012, kBusy = -8020, kNotSupported = -8255;
constexpr unsigned kAny = 0xffffffff;
constexpr std::chrono::milliseconds kPause{2};

// The directory of the node.
const std::string& Directory() {
  static const std::string* const kDirectory = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&CoresOf), &info);
    const std::string path = std::filesystem::canonical(info.dli_fname);
    return new std::string(path.substr(0, path.size() - strlen(kLibraryPath)));
  }();
  return *kDirectory;
}

// The description, read anew once its file is another one: parsing takes longer than a driver's
// answer.
std::shared_ptr<const SimNode> Now() {
  // The thread of events outlives main, so neither is destroyed.
  static std::mutex& mutex = *new std::mutex;
  static std::shared_ptr<const SimNode>& node = *new std::shared_ptr<const SimNode>;
  static struct stat of{};
  const std::string path = Directory() + kDescriptionPath;
  struct stat now{};
  const std::lock_guard lock(mutex);
  if (stat(path.c_str(), &now) != 0) throw BadChange("there is no " + path);
  const bool same = node != nullptr && now.st_ino == of.st_ino && now.st_size == of.st_size &&
                    now.st_mtim.tv_sec == of.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == of.st_mtim.tv_nsec;
  if (!same) node = std::make_shared<const SimNode>(ParseNode(ReadText(path)));
  of = now;
  return node;
}

const SimFault* FaultOf(const SimNode& node, const std::string& function, int card) {
  const auto fault = std::ranges::find_if(node.faults, [&](const SimFault& one) {
    return (one.function == "*" || one.function == function) &&
           (one.card == -1 || one.card == card);
  });
  return fault == node.faults.end() ? nullptr : &*fault;
}

// Calls `answer` with the node as it is after a hang.
template <class Answer>
int Serve(const char* function, int card, const Answer& answer) {
  try {
    for (;;) {
      const std::shared_ptr<const SimNode> node = Now();
      const SimFault* fault = FaultOf(*node, function, card);
      if (fault == nullptr) return answer(*node);
      if (fault->code != 0) return fault->code;
      std::this_thread::sleep_for(kPause);
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "fake libdcmi.so: %s: %s\n", function, error.what());
    return kNotReady;
  }
}

template <class Answer>
int ServeChip(const char* function, int card, int device, const Answer& answer) {
  return Serve(function, card, [&](const SimNode& node) {
    const auto chip = std::ranges::find_if(node.chips, [&](const SimChip& one) {
      return one.card == card && one.device == device && !one.absent;
    });
    return chip == node.chips.end() ? kInvalid : answer(*chip);
  });
}

void Put(unsigned char* out, const std::string& text) {
  std::memcpy(out, text.c_str(), std::min<size_t>(text.size() + 1, 32));
}

std::vector<SimVnpu> Vnpus(int phy) {
  std::vector<SimVnpu> vnpus;
  const std::string directory = Directory() + kVnpusPath;
  if (!std::filesystem::exists(directory)) return vnpus;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().find('.') != std::string::npos) continue;
    const SimVnpu vnpu = ReadVnpu(entry.path());
    if (vnpu.phy == phy) vnpus.push_back(vnpu);
  }
  std::ranges::sort(vnpus, {}, &SimVnpu::id);
  return vnpus;
}

std::string PathOf(unsigned id) {
  return Directory() + kVnpusPath + "/" + std::to_string(id);
}

int Query(const SimChip& chip, unsigned sub, void* buffer, unsigned* size) {
  const std::vector<SimVnpu> vnpus = Vnpus(chip.phy);
  if (sub == 1) {
    dcmi_soc_total_resource total{};
    if (*size < sizeof(total)) return kInvalid;
    for (const SimVnpu& vnpu : vnpus) total.vdev_id[total.vdev_num++] = vnpu.id;
    total.computing.aic = static_cast<float>(chip.cores);
    total.computing.memory_size = chip.memory;
    std::memcpy(buffer, &total, sizeof(total));
    *size = sizeof(total);
    return 0;
  }
  if (sub != 0 || *size < sizeof(dcmi_vdev_query_stru)) return kInvalid;
  dcmi_vdev_query_stru query{};
  std::memcpy(&query, buffer, sizeof(query));
  const auto vnpu = std::ranges::find(vnpus, query.vdev_id, &SimVnpu::id);
  if (vnpu == vnpus.end()) return kInvalid;
  std::memcpy(query.info.name, vnpu->name.data(), std::min<size_t>(vnpu->name.size(), 16));
  query.info.status = 1;
  query.info.is_container_used = vnpu->used ? 1 : 0;
  query.info.computing.aic = static_cast<float>(CoresOf(vnpu->name));
  query.info.computing.memory_size = chip.memory * CoresOf(vnpu->name) / chip.cores;
  std::memcpy(buffer, &query, sizeof(query));
  *size = sizeof(query);
  return 0;
}

std::mutex& MakingVnpus() {
  static auto* const kMutex = new std::mutex;
  return *kMutex;
}

int Create(const SimChip& chip, const dcmi_create_vdev_res_stru& wanted,
           dcmi_create_vdev_out* made) {
  const std::lock_guard lock(MakingVnpus());
  const std::string name(wanted.template_name, strnlen(wanted.template_name, 32));
  const unsigned cores = CoresOf(name);
  if (cores == 0) return kInvalid;
  unsigned used = 0;
  std::vector<SimVnpu> vnpus = Vnpus(chip.phy);
  for (const SimVnpu& vnpu : vnpus) used += CoresOf(vnpu.name);
  if (used + cores > chip.cores) return kBusy;
  const unsigned first = 100 + 16 * static_cast<unsigned>(chip.phy);
  unsigned id = wanted.vdev_id;
  const auto has = [&](unsigned one) { return std::ranges::count(vnpus, one, &SimVnpu::id) > 0; };
  if (id != kAny && Now()->chooses) return kInvalid;
  if (id == kAny) {
    for (id = first; has(id);) ++id;
  }
  if (id < first || id >= first + 16 || has(id)) return kInvalid;
  WriteText(PathOf(id), TextOf(SimVnpu{id, chip.phy, name, false}));
  WriteText(Directory() + "/dev/vdavinci" + std::to_string(id), "");
  *made = {};
  made->vdev_id = id;
  return 0;
}

int Destroy(const SimChip& chip, unsigned id) {
  const std::lock_guard lock(MakingVnpus());
  for (const SimVnpu& vnpu : Vnpus(chip.phy)) {
    if (vnpu.id != id) continue;
    if (vnpu.used) return kBusy;
    std::filesystem::remove(PathOf(id));
    std::filesystem::remove(Directory() + "/dev/vdavinci" + std::to_string(id));
    return 0;
  }
  return kInvalid;
}

// Hands out the events that come after now, until the description is gone.
void Tell(dcmi_fault_event_callback handler, size_t told) {
  const std::string path = Directory() + kDescriptionPath;
  for (; std::filesystem::exists(path); std::this_thread::sleep_for(kPause)) {
    try {
      const std::shared_ptr<const SimNode> node = Now();
      for (; told < node->events.size(); ++told) {
        const SimEvent& event = node->events[told];
        dcmi_event out{};
        out.event_t.dms_event.event_id = event.id;
        out.event_t.dms_event.deviceid = static_cast<unsigned short>(event.logic);
        out.event_t.dms_event.severity = static_cast<unsigned char>(event.severity);
        out.event_t.dms_event.assertion = static_cast<unsigned char>(event.assertion);
        handler(&out);
      }
    } catch (const std::exception&) {
      continue;  // the directory goes
    }
  }
}

}  // namespace
}  // namespace tessera::ascend

using namespace tessera::ascend;  // NOLINT(google-build-using-namespace)

extern "C" {

#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming): these are DCMI's names

int dcmi_init() {
  return Serve(__func__, -1, [](const SimNode&) { return 0; });
}

int dcmi_get_card_list(int* count, int* list, int length) {
  return Serve(__func__, -1, [&](const SimNode& node) {
    *count = 0;
    for (const SimChip& chip : node.chips) {
      if (chip.absent || std::count(list, list + *count, chip.card) > 0) continue;
      if (*count == length) return kInvalid;
      list[(*count)++] = chip.card;
    }
    return 0;
  });
}

int dcmi_get_device_num_in_card(int card, int* count) {
  return Serve(__func__, card, [&](const SimNode& node) {
    *count = static_cast<int>(std::ranges::count_if(
        node.chips, [&](const SimChip& chip) { return chip.card == card && !chip.absent; }));
    return *count == 0 ? kInvalid : 0;
  });
}

int dcmi_get_device_id_in_card(int card, int* most, int* mcu, int* cpu) {
  return Serve(__func__, card, [&](const SimNode& node) {
    *most = static_cast<int>(
        std::ranges::count_if(node.chips, [&](const SimChip& chip) { return chip.card == card; }));
    *mcu = *most;
    *cpu = -1;
    return 0;
  });
}

int dcmi_get_device_type(int card, int device, int* type) {
  return ServeChip(__func__, card, device, [&](const SimChip&) {
    *type = 0;
    return 0;
  });
}

int dcmi_get_device_logic_id(int* logic, int card, int device) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    *logic = chip.logic;
    return 0;
  });
}

int dcmi_get_device_phyid_from_logicid(unsigned logic, unsigned* phy) {
  return Serve(__func__, -1, [&](const SimNode& node) {
    const auto chip = std::ranges::find(node.chips, static_cast<int>(logic), &SimChip::logic);
    if (chip == node.chips.end()) return kInvalid;
    *phy = static_cast<unsigned>(chip->phy);
    return 0;
  });
}

int dcmi_get_device_chip_info_v2(int card, int device, dcmi_chip_info_v2* info) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    *info = {};
    Put(info->chip_type, "Ascend");
    Put(info->chip_name, chip.name);
    Put(info->chip_ver, chip.version);
    info->aicore_cnt = chip.cores;
    return 0;
  });
}

int dcmi_get_device_pcie_info_v2(int card, int device, dcmi_pcie_info_all* info) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    *info = {};
    info->venderid = 0x19e5;
    info->deviceid = chip.pci_device;
    const int read =
        sscanf(chip.address.c_str(), "%x:%x:%x.%x", reinterpret_cast<unsigned*>(&info->domain),
               &info->bdf_busid, &info->bdf_deviceid, &info->bdf_funcid);
    return read == 4 ? 0 : kNotSupported;
  });
}

int dcmi_get_device_die_v2(int card, int device, int kind, dcmi_die_id* die) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    if (chip.die == decltype(chip.die){}) return kNotSupported;
    std::ranges::copy(chip.die, die->soc_die);
    if (kind == 0) die->soc_die[0] ^= 1;  // that of the other kind is another
    return 0;
  });
}

int dcmi_get_device_health(int card, int device, unsigned* health) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    *health = chip.health;
    return 0;
  });
}

int dcmi_get_device_errorcode_v2(int card, int device, int* count, unsigned* list,
                                 unsigned length) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    if (chip.codes.size() > length) return kInvalid;
    *count = static_cast<int>(chip.codes.size());
    std::ranges::copy(chip.codes, list);
    return 0;
  });
}

int dcmi_subscribe_fault_event(int, int, dcmi_event_filter, dcmi_fault_event_callback handler) {
  return Serve(__func__, -1, [&](const SimNode& node) {
    std::thread(Tell, handler, node.events.size()).detach();
    return 0;
  });
}

int dcmi_get_device_hbm_info(int card, int device, dcmi_hbm_info* info) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    if (!chip.has_hbm) return kNotSupported;
    *info = {};
    info->memory_size = chip.memory;
    info->memory_usage = 3300;
    info->temp = 40;
    return 0;
  });
}

int dcmi_get_device_memory_info_v3(int card, int device, dcmi_memory_info* info) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    if (chip.has_hbm) return kNotSupported;
    *info = {};
    info->memory_size = chip.memory;
    info->memory_available = chip.memory;
    return 0;
  });
}

int dcmi_get_device_info(int card, int device, int main, unsigned sub, void* buffer,
                         unsigned* size) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    return main == 52 ? Query(chip, sub, buffer, size) : kNotSupported;
  });
}

int dcmi_create_vdevice(int card, int device, dcmi_create_vdev_res_stru* wanted,
                        dcmi_create_vdev_out* made) {
  return ServeChip(__func__, card, device,
                   [&](const SimChip& chip) { return Create(chip, *wanted, made); });
}

int dcmi_set_destroy_vdevice(int card, int device, unsigned id) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) { return Destroy(chip, id); });
}

int dcmi_get_affinity_cpu_info_by_device_id(int card, int device, char* list, int* length) {
  return ServeChip(__func__, card, device, [&](const SimChip& chip) {
    if (chip.cpus.empty()) return kNotSupported;
    if (static_cast<size_t>(*length) <= chip.cpus.size()) return kInvalid;
    std::memcpy(list, chip.cpus.c_str(), chip.cpus.size() + 1);
    *length = static_cast<int>(chip.cpus.size());
    return 0;
  });
}

int dcmi_get_multi_die_policy(int* policy) {
  return Serve(__func__, -1, [&](const SimNode& node) {
    if (node.die_policy < 0) return kNotSupported;
    *policy = node.die_policy;
    return 0;
  });
}

// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop
}
