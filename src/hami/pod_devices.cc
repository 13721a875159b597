// SPDX-License-Identifier: Apache-2.0
#include "hami/pod_devices.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quote.h"
#include "base/text.h"
#include "hami/text_numbers.h"

namespace tessera::hami {
namespace {

Result<int32_t> FieldNumber(std::string_view name, std::string_view field) {
  const auto number = ParseInt32(field);
  if (!number) return Fail(Reason::kInvalid, "its {} is {}, not a number", name, Brief(field));
  return *number;
}

Result<PodDevice> ReadPodDevice(std::string_view text) {
  std::vector<std::string> fields = Split(text, ',');
  if (fields.size() < 4) {
    return Fail(Reason::kInvalid, "it has {}, not 4", Count(fields.size(), "field"));
  }
  return PodDevice{.uuid = std::move(fields[0]),
                   .type = std::move(fields[1]),
                   .memory = TRY(FieldNumber("memory", fields[2])),
                   .cores = TRY(FieldNumber("cores", fields[3]))};
}

Result<Entry> ReadEntry(std::string_view text) {
  Entry entry;
  for (const std::string& part : Split(text, ':')) {
    if (part.find(',') == std::string::npos) continue;
    PodDevice device = TRY_IN(ReadPodDevice(part), fmt::format("device {}", Brief(part)));
    if (!device.uuid.empty()) entry.push_back(std::move(device));
  }
  return entry;
}

// Returns one entry more than there are ';': the text after the last one.
Result<std::vector<Entry>> ReadEntries(std::string_view text) {
  std::vector<Entry> entries;
  for (const std::string& part : Split(text, ';')) {
    entries.push_back(TRY_IN(ReadEntry(part), "a pod's devices"));
  }
  return entries;
}

void AppendEntry(std::string& text, const Entry& entry) {
  for (const PodDevice& device : entry) {
    text += fmt::format("{},{},{},{}:", device.uuid, device.type, device.memory, device.cores);
  }
  text += ';';
}

// Whether two entries grant the same. Types may differ: some schedulers write the model.
bool GrantSame(const Entry& a, const Entry& b) {
  return std::ranges::equal(a, b, [](const PodDevice& one, const PodDevice& other) {
    return one.uuid == other.uuid && one.memory == other.memory && one.cores == other.cores;
  });
}

}  // namespace

std::string EncodePodDevices(std::span<const Entry> entries) {
  std::string text;
  for (const Entry& entry : entries) AppendEntry(text, entry);
  return text;
}

Result<std::vector<Entry>> DecodePodDevices(std::string_view text) {
  std::vector<Entry> entries = TRY(ReadEntries(text));
  if (text.empty() || text.ends_with(';')) entries.pop_back();
  return entries;
}

Result<std::string> Consume(std::string_view text, const Entry& entry) {
  std::vector<Entry> entries = TRY(ReadEntries(text));
  const auto found =
      std::ranges::find_if(entries, [&](const Entry& one) { return GrantSame(one, entry); });
  if (entry.empty() || found == entries.end()) {
    std::string wanted;
    AppendEntry(wanted, entry);
    return Fail(Reason::kInvalid, "{} is not in the list of devices to grant: {}", Quote(wanted),
                Quote(text));
  }
  found->clear();
  return EncodePodDevices(entries);
}

Result<std::string> ConsumeGiven(std::string_view text, std::string_view allocated,
                                 std::span<const Entry> given) {
  const std::vector<Entry> whole = TRY(ReadEntries(allocated));
  std::vector<Entry> left = TRY(ReadEntries(text));
  bool changed = false;
  for (const Entry& entry : given) {
    if (entry.empty()) continue;
    const auto same = [&](const Entry& one) { return GrantSame(one, entry); };
    const auto due = std::ranges::count_if(whole, same) - std::ranges::count_if(given, same);
    const auto found = std::ranges::find_if(left, same);
    if (found == left.end() || std::ranges::count_if(left, same) <= due) continue;
    found->clear();
    changed = true;
  }
  return changed ? EncodePodDevices(left) : std::string(text);
}

Result<size_t> EntriesLeft(std::string_view text) {
  const std::vector<Entry> entries = TRY(ReadEntries(text));
  return static_cast<size_t>(
      std::ranges::count_if(entries, [](const Entry& e) { return !e.empty(); }));
}

}  // namespace tessera::hami
