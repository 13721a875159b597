// SPDX-License-Identifier: Apache-2.0
// A container's region, as the agent reads it. An input is the file's length (4 bytes; odd: a
// HAMi-core file), then pairs of a place (4 bytes) and a value (8 bytes). The values are written
// into a valid region.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/contract.h"
#include "region/region.h"
#include "test/fuzz/fuzz.h"

namespace tessera::region {
namespace {

using fuzz::Require;

std::string& Good() {
  static std::string good = [] {
    std::string bytes(limiter::kRegionSize, '\0');
    auto* region = reinterpret_cast<limiter::Region*>(bytes.data());
    const limiter::RegionDevice devices[] = {{"GPU-aa", 1 << 30, 30}, {"GPU-bb", 0, 0}};
    limiter::MakeRegion({.devices = devices, .count = 2}, region);
    region->accounting.slots[0].owner = 17;
    region->accounting.slots[0].share[1] = 4096;
    region->hami.slots[0].pid = 17;
    region->hami.slots[0].status = limiter::kHamiSlotRuns;
    region->hami.slots[0].used[1].total = 4096 * limiter::kUnit;
    region->hami.proc_num = 1;
    return bytes;
  }();
  return good;
}

void CheckProcess(const Region& region, const Process& process) {
  Require(process.slot >= 0 && process.slot < limiter::kMaxSlots, "a slot is one of them");
  Require(process.held.size() <= region.devices.size(), "of each device it holds once");
  for (const ProcessUsage& held : process.held) {
    Require(held.device < region.devices.size(), "what is held is of a device");
    Require(std::max({held.total, held.data, held.context, held.module}) <= limiter::kMaxBytes,
            "what is held is an amount");
    Require(
        region.maker == Maker::kHamiCore || held.context + held.module + held.data == held.total,
        "the parts add up");
  }
}

void Check(const Region& region) {
  Require(region.devices.size() <= limiter::kMaxDevices, "devices have their bound");
  Require(region.processes.size() <= limiter::kMaxSlots, "so have processes");
  for (const Device& device : region.devices) {
    Require(device.uuid.size() <= limiter::kUuidSize, "names have an end");
    Require(std::ranges::all_of(device.uuid, [](char c) { return c > ' ' && c < 127; }),
            "a name is plain");
    Require(device.limit <= limiter::kMaxBytes && device.percent >= 0 && device.percent < 100,
            "limits have their bounds");
    const auto got = ShareGot({.uuid = device.uuid, .busy_ns = 7}, device, 1'000'000);
    Require(!got || (*got >= 0 && *got <= 200), "a share is a percentage");
  }
  for (const Process& process : region.processes) CheckProcess(region, process);
}

}  // namespace
}  // namespace tessera::region

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tessera::region::Parse;
  if (size < 4) return 0;
  uint32_t length = 0;
  std::memcpy(&length, data, sizeof length);
  std::string& bytes = tessera::region::Good();
  // Restores the written words later, which is cheaper than a copy of the whole region.
  std::vector<std::pair<size_t, std::string>> former;
  for (data += 4, size -= 4; size >= 12; data += 12, size -= 12) {
    uint32_t place = 0;
    std::memcpy(&place, data, sizeof place);
    const size_t at = place % (bytes.size() / 8) * 8;
    former.emplace_back(at, bytes.substr(at, 8));
    std::memcpy(bytes.data() + at, data + 4, 8);
  }
  const size_t whole = length % 2 == 1 ? tessera::limiter::kHamiFileSize : bytes.size();
  // Mostly the whole region, because a cut one is refused early.
  const size_t shown = length % 8 < 6 ? whole : std::min<size_t>(length, whole);
  const auto region = Parse(std::string_view(bytes).substr(0, shown));
  for (; !former.empty(); former.pop_back()) {
    bytes.replace(former.back().first, 8, former.back().second);
  }
  if (region) {
    tessera::region::Check(*region);
  } else {
    tessera::fuzz::Require(region.error().reason == tessera::Reason::kBadRegion,
                           "a refusal is of the file");
  }
  return 0;
}
