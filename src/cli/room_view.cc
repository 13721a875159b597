// SPDX-License-Identifier: Apache-2.0
#include "cli/room_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "cli/command/fields.h"

namespace tessera::cli {
namespace {

constexpr int64_t kAll = 100;  // percent of a GPU's time
constexpr size_t kColumns = 10;
// These are left out if no row has them.
constexpr size_t kGot = 8;
constexpr size_t kUsed = 4;

int64_t NumberIn(const json::Object& object, std::string_view key) {
  return json::GetInt(object, key).value_or(0);
}

// The amounts of a device, and the granted part; null: not counted.
struct Room {
  int64_t memory = 0;
  std::optional<int64_t> memory_granted{};
  int64_t cores = 0;
  int64_t cores_granted = 0;
};

size_t SharesHeld(const json::Object& device) {
  std::set<std::string> ids;
  for (const json::Object* holder : ObjectsIn(device, "holders")) {
    for (const std::string& id : ListIn(*holder, "shares")) ids.insert(id);
  }
  return ids.size();
}

// The holder of a whole device has all of it. Memory of time-sliced shares is not counted.
Room RoomOf(const json::Object& device) {
  if (const json::Object* vgpu = json::GetObject(device, "vgpu")) {
    return {.memory = NumberIn(*vgpu, "memoryBytes"),
            .memory_granted = NumberIn(*vgpu, "memoryGrantedBytes"),
            .cores = NumberIn(*vgpu, "cores"),
            .cores_granted = NumberIn(*vgpu, "coresGranted")};
  }
  Room room{.memory = NumberIn(device, "memoryBytes")};
  if (ListIn(device, "shares").size() != 1) return room;
  const bool held = SharesHeld(device) > 0;
  room.memory_granted = held ? room.memory : 0;
  room.cores = kAll;
  room.cores_granted = held ? kAll : 0;
  return room;
}

std::string BytesText(int64_t bytes) {
  return MibText(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}

std::string GotText(const json::Object& holder) {
  const json::Value* got = holder.if_contains("coresGot");
  return got == nullptr || !got->is_number() ? ""
                                             : fmt::format("{:.1f} %", got->to_number<double>());
}

void AddDevice(const json::Object& device, const View& view, std::vector<std::vector<Cell>>& rows) {
  const Room room = RoomOf(device);
  if (room.memory <= 0) return;
  std::vector<Cell> row = {
      {Shortened(DeviceName(device), view)},
      {fmt::format("{}/{}", SharesHeld(device), ListIn(device, "shares").size())},
      {BytesText(room.memory)}};
  if (room.memory_granted) {
    const int64_t free = room.cores - room.cores_granted;
    row.insert(row.end(), {{BytesText(*room.memory_granted)},
                           {},
                           {BytesText(room.memory - *room.memory_granted)},
                           {fmt::format("{} %", room.cores)},
                           {fmt::format("{} %", room.cores_granted)},
                           {},
                           {fmt::format("{} %", std::max<int64_t>(free, 0))}});
  }
  row.resize(kColumns);
  rows.push_back(std::move(row));
  for (const json::Object* holder : ObjectsIn(device, "holders")) {
    const json::Object* part = json::GetObject(*holder, "part");
    rows.push_back(
        {{Shortened(fmt::format("  {}/{}", PodName(*holder), TextIn(*holder, "container")), view)},
         {std::to_string(ListIn(*holder, "shares").size())},
         {},
         {part == nullptr ? "" : BytesText(NumberIn(*part, "memoryBytes"))},
         {holder->contains("usedBytes") ? BytesText(NumberIn(*holder, "usedBytes")) : ""},
         {},
         {},
         {part == nullptr ? "" : CoresText(*part)},
         {GotText(*holder)},
         {}});
  }
}

}  // namespace

std::string MibText(uint64_t bytes) {
  constexpr uint64_t kMib = uint64_t{1} << 20;
  if (bytes % kMib == 0) return fmt::format("{} MiB", bytes / kMib);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMib));
}

std::string PercentText(int64_t percent) {
  return percent == 0 || percent >= kAll ? "all" : fmt::format("{} %", percent);
}

std::string CoresText(const json::Object& part) {
  const int64_t cores = json::GetInt(part, "cores").value_or(0);
  return part.contains("units") ? Count(static_cast<size_t>(std::max<int64_t>(cores, 0)), "unit")
                                : PercentText(cores);
}

std::string RoomText(const json::Object& inventory, const View& view) {
  std::vector<Column> columns = {{"WHO HAS WHAT", false, Cut::kMiddle},
                                 {"SHARES", true},
                                 {"MEMORY", true},
                                 {"GRANTED", true},
                                 {"USED", true},
                                 {"FREE", true},
                                 {"TIME", true},
                                 {"GRANTED", true},
                                 {"GOT", true},
                                 {"FREE", true}};
  std::vector<std::vector<Cell>> rows;
  for (const json::Object* device : ObjectsIn(inventory, "devices")) {
    AddDevice(*device, view, rows);
  }
  for (const size_t column : {kGot, kUsed}) {
    const bool any = std::ranges::any_of(
        rows, [&](const std::vector<Cell>& row) { return !row[column].text.empty(); });
    if (any) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    columns.erase(columns.begin() + at);
    for (std::vector<Cell>& row : rows) row.erase(row.begin() + at);
  }
  return rows.empty() ? "" : Table(columns, rows, view);
}

}  // namespace tessera::cli
