// SPDX-License-Identifier: Apache-2.0
// Annotations as HAMi's scheduler and plugin write them, or any user who may change a pod. Each
// text is read in all formats. A value that is read, written and read again must be the same.

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "hami/go_time.h"
#include "hami/handshake.h"
#include "hami/link_scores.h"
#include "hami/mig_allocations.h"
#include "hami/node_devices.h"
#include "hami/node_lock.h"
#include "hami/node_register.h"
#include "hami/part_templates.h"
#include "hami/pod_devices.h"
#include "hami/pod_placement.h"
#include "hami/vendor_table.h"
#include "placement/quantity.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace tessera::hami {
namespace {

// True if the text was read; an error must have a message.
template <class T>
bool IsRead(const Result<T>& read) {
  if (read) return true;
  Require(!read.error().message.empty(), "a refusal says why");
  return false;
}

void SortDevices(std::vector<RegisteredDevice>& devices) {
  std::ranges::stable_sort(devices, {}, [](const RegisteredDevice& device) {
    return std::tuple(device.index, std::string_view(device.id));
  });
}

void CheckRegister(std::string_view text) {
  if (auto devices = DecodeRegister(text); IsRead(devices)) {
    SortDevices(*devices);
    Require(DecodeRegister(EncodeRegister(*devices)) == *devices, "devices read as written");
  }
  if (auto devices = DecodeOldRegister(text); IsRead(devices) && !devices->empty()) {
    SortDevices(*devices);
    Require(DecodeOldRegister(EncodeOldRegister(*devices)) == *devices, "old ones as well");
  }
}

// Reads the text as each vendor's registration of a node's devices.
void CheckNodeDevices(std::string_view text) {
  static const VendorTable table([] {
    std::vector<VendorConfig> all;
    for (const std::string_view family : kFamilies) {
      const auto usual = UsualConfigs(family);
      all.push_back(usual.back());
    }
    return all;
  }());
  for (const ServedVendor& row : table.rows()) {
    const kube::Texts annotations{{std::string(row.vendor->node_register), std::string(text)}};
    const auto devices = NodeDevicesOf(annotations, *row.vendor);
    if (!IsRead(devices)) continue;
    for (const CandidateDevice& device : *devices) {
      Require(device.closeness.empty() || device.closeness.size() == devices->size(),
              "links are to the node's devices");
    }
  }
}

// Makes a pod whose containers ask for exactly the devices in `entries`.
void CheckPod(const std::vector<Entry>& entries) {
  std::vector<kube::Container> containers;
  for (const Entry& entry : entries) {
    containers.push_back({.name = fmt::format("{}", containers.size())});
    if (!entry.empty()) containers.back().limits["nvidia.com/gpu"] = "1";
  }
  const auto by_container =
      EntriesByContainer(containers, {.count_name = "nvidia.com/gpu"}, kNvidia, entries);
  Require(by_container && *by_container == entries, "every container finds its own");
  std::string left = EncodePodDevices(entries);
  // Each call parses the whole text, so the number of calls is bounded.
  for (size_t i = 0; i < std::min<size_t>(entries.size(), 16); ++i) {
    auto rest = Consume(left, entries[i]);
    Require(rest.has_value() != entries[i].empty(), "what is there can be taken");
    if (rest) left = *std::move(rest);
  }
}

void CheckPodDevices(std::string_view text) {
  const auto entries = DecodePodDevices(text);
  if (!IsRead(entries)) return;
  Require(DecodePodDevices(EncodePodDevices(*entries)) == *entries, "entries read as written");
  CheckPod(*entries);
}

// The text is the list of templates of a pod with a quarter of a chip.
void CheckTemplateList(std::string_view text) {
  const ServedVendor& row = *AscendRow("Ascend910B3");
  kube::Pod pod;
  pod.annotations.emplace(row.vendor->pod_devices_json, text);
  (void)IsRead(CheckTemplates(pod, *row.vendor, row.rules,
                              {{.name = "main", .parts = {{.device = "D", .memory = 16'384}}}}));
}

void CheckOthers(std::string_view text) {
  if (const auto scores = DecodeScores(text); IsRead(scores)) {
    Require(DecodeScores(EncodeScores(*scores)) == *scores, "scores read as written");
  }
  if (const auto allocations = DecodeMigAllocations(text); IsRead(allocations)) {
    Require(DecodeMigAllocations(EncodeMigAllocations(*allocations)) == *allocations,
            "MIG allocations read as written");
  }
  if (const auto lock = ReadNodeLock(text); IsRead(lock)) {
    Require(ReadNodeLock(WriteNodeLock(*lock)) == *lock, "a lock reads as written");
    Require(!lock->owner || IsLockOf(text, *lock->owner), "a lock is its owner's");
  }
  if (const Handshake handshake = ReadHandshake(text); handshake.time) {
    Require(ParseDateTime(FormatDateTime(*handshake.time)) == handshake.time, "a time as well");
    Require(handshake.state != HandshakeState::kNone, "nobody says nothing at a time");
  }
  if (const auto number = WholeQuantity(text)) {
    Require(WholeQuantity(fmt::format("{}", *number)) == number, "a number is itself");
  }
}

}  // namespace
}  // namespace tessera::hami

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  tessera::hami::CheckRegister(text);
  tessera::hami::CheckNodeDevices(text);
  tessera::hami::CheckPodDevices(text);
  tessera::hami::CheckTemplateList(text);
  tessera::hami::CheckOthers(text);
  return 0;
}
