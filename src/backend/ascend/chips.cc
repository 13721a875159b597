// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/chips.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/sysfs.h"
#include "base/characters.h"
#include "base/text.h"
#include "os/thread.h"

namespace tessera::ascend {
namespace {

using dcmi::Answer;
using dcmi::Failure;
using dcmi::Library;
using dcmi::Place;

// A driver that says more than that is not believed.
constexpr int kMostChipsOfCard = 16;
constexpr unsigned kMostCores = 1'000;
constexpr uint64_t kMostMib = uint64_t{1} << 40;
constexpr uint32_t kMostChips = 4'096;
constexpr int kMostCpu = 65'536;
constexpr size_t kMostCpus = kMostCpu;

// A driver that lacks the question, or refuses it for this chip, has no answer to it.
bool IsNoAnswer(const Failure& failure) {
  return failure.IsUnsupported() || failure.code == dcmi::kInvalidParameter;
}

// A text of the driver, which may fill its whole array, as far as a resource's name can have it.
template <size_t Size>
std::string Word(const char (&text)[Size]) {
  std::string word(text, strnlen(text, Size));
  std::erase_if(word,
                [](char c) { return !IsAlphanumeric(c) && c != '_' && c != '-' && c != '.'; });
  while (!word.empty() && !IsAlphanumeric(word.back())) word.pop_back();
  return word;
}

std::vector<int> NumaNodesOf(const os::Root& root, const Library& library, const Chip& chip) {
  if (!chip.address.empty()) {
    const std::string file = fmt::format("/sys/bus/pci/devices/{}/numa_node", chip.address);
    const auto node = sysfs::Number<int>(sysfs::Text(root.Path(file)));
    if (node && *node >= 0) return {*node};
  }
  const auto list = library.Cpus(chip.place);
  if (!list) return {};
  const std::vector<int> near = ParseCpus(*list);
  const std::string nodes = root.Path("/sys/devices/system/node");
  std::vector<int> numbers;
  for (const std::string& name : sysfs::Names(nodes)) {
    if (!name.starts_with("node")) continue;
    const auto number = sysfs::Number<int>(std::string_view(name).substr(4));
    const std::vector<int> cpus = ParseCpus(sysfs::Text(nodes + "/" + name + "/cpulist"));
    const bool is_near = std::ranges::find_first_of(near, cpus) != near.end();
    if (number && is_near) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string AddressOf(const dcmi::PcieInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<uint32_t>(pci.domain), pci.bus,
                     pci.slot, pci.function);
}

Answer<std::vector<Vnpu>> ReadVnpus(const Library& library, Place place) {
  std::vector<Vnpu> vnpus;
  const auto ids = library.Vnpus(place);
  if (!ids) {
    if (IsNoAnswer(ids.error())) return vnpus;
    return tl::unexpected(ids.error());
  }
  for (const uint32_t id : *ids) {
    Vnpu vnpu{.id = id, .name = {}};
    const auto query = library.Vnpu(place, id);
    if (query) {
      const float cores = query->computing.ai_cores;
      vnpu.name = Word(query->name);
      if (std::isfinite(cores) && cores > 0 && cores <= kMostCores) {
        vnpu.cores = static_cast<unsigned>(std::lround(cores));
      }
      if (query->computing.memory <= kMostMib) {
        vnpu.memory = static_cast<int64_t>(query->computing.memory);
      }
    } else if (!IsNoAnswer(query.error())) {
      return tl::unexpected(query.error());
    }
    vnpus.push_back(std::move(vnpu));
  }
  std::ranges::sort(vnpus, {}, &Vnpu::id);
  return vnpus;
}

Answer<Chip> ReadChip(const os::Root& root, const Library& library, Place place) {
  Chip chip{.place = place};
  const auto logic = library.LogicId(place);
  if (!logic) return tl::unexpected(logic.error());
  chip.logic = static_cast<uint32_t>(*logic);
  const auto physical = library.PhysicalId(*logic);
  if (!physical) return tl::unexpected(physical.error());
  if (*physical >= kMostChips) {
    return tl::unexpected(Failure{"dcmi_get_device_phyid_from_logicid", dcmi::kInvalidParameter});
  }
  chip.physical = *physical;
  const auto info = library.Info(place);
  if (!info) return tl::unexpected(info.error());
  chip.name = Word(info->name);
  if (info->ai_cores <= kMostCores) chip.cores = info->ai_cores;
  const auto die = library.Vdie(place);
  if (die) {
    chip.die = DieText(*die);
  } else if (!IsNoAnswer(die.error())) {
    return tl::unexpected(die.error());  // its id would become another
  }
  const auto pci = library.Pcie(place);
  if (pci) chip.address = AddressOf(*pci);
  const auto memory = library.Memory(place);
  if (memory && *memory <= kMostMib) chip.memory = static_cast<int64_t>(*memory);
  chip.numa_nodes = NumaNodesOf(root, library, chip);
  auto vnpus = ReadVnpus(library, place);
  if (!vnpus) return tl::unexpected(vnpus.error());
  chip.vnpus = *std::move(vnpus);
  return chip;
}

// A chip of which only the place is known.
Chip Unread(Place place, Reason reason, std::string why) {
  Chip chip{.place = place};
  chip.trouble = Error{reason, std::move(why)};
  return chip;
}

Answer<std::vector<Chip>> ReadCard(const os::Root& root, const Library& library, int card) {
  const auto count = library.DevicesInCard(card);
  if (!count) return tl::unexpected(count.error());
  std::vector<Chip> chips;
  for (int device = 0; device < std::min(*count, kMostChipsOfCard); ++device) {
    const Place place{card, device};
    const auto type = library.Type(place);
    if (type && *type != dcmi::kTypeNpu) continue;
    auto chip = ReadChip(root, library, place);
    chips.push_back(chip ? *std::move(chip)
                         : Unread(place, Reason::kUnreadable, chip.error().Text()));
  }
  return chips;
}

// Asks on a new thread, unless an earlier reading is in flight.
template <class T, class Question>
Status Begin(ReadingPtr<T>& reading, const Question& ask) {
  if (reading != nullptr) return {};
  auto begun = std::make_shared<Reading<T>>();
  TRY(os::StartThread([begun, ask] {
    Answer<T> answer = ask();
    const MutexLock finished(begun->mutex);
    begun->answer = std::move(answer);
    begun->done.notify_all();
  }));
  reading = std::move(begun);
  return {};
}

// The answer, or null if it has not come by then.
template <class T>
std::optional<Answer<T>> Await(Reading<T>& reading, Steady end) {
  MutexLock lock(reading.mutex);
  const auto is_done = [&]() TESSERA_REQUIRES(reading.mutex) { return reading.answer.has_value(); };
  if (!reading.late) reading.late = !reading.done.wait_until(lock, end, is_done);
  return reading.answer;
}

}  // namespace

std::string ModelOf(std::string_view chip_name) {
  std::string_view name = chip_name;
  if (name.starts_with("Ascend")) name.remove_prefix(6);
  // HAMi's words, where a chip has several names.
  if (name == "910") return "Ascend910C";
  if (name == "910A" || name == "910B" || name == "910ProB") return "Ascend910A";
  if (name.starts_with("310P")) return "Ascend310P";
  if (name.starts_with("310B")) return "Ascend310B";
  return "Ascend" + std::string(name);
}

std::string Chip::Model() const {
  return ModelOf(name);
}

std::string Chip::Id() const {
  return die.empty() ? fmt::format("card{}-chip{}", place.card, place.device) : die;
}

std::string DieText(const dcmi::DieId& die) {
  if (std::ranges::all_of(die.words, [](uint32_t word) { return word == 0; })) return "";
  return fmt::format("{:08X}-{:08X}-{:08X}-{:08X}-{:08X}", die.words[0], die.words[1], die.words[2],
                     die.words[3], die.words[4]);
}

std::vector<int> ParseCpus(std::string_view list) {
  std::vector<int> cpus;
  for (const std::string& part : Split(list, ',')) {
    const std::string_view range = Trim(part);
    const size_t dash = range.find('-');
    const auto first = sysfs::Number<int>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : sysfs::Number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > kMostCpu) continue;
    for (int cpu = *first; cpu <= *last && cpus.size() < kMostCpus; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

// A chip that cannot be read now is what it was, and its checks tell the rest.
std::vector<Chip> ChipReader::Keep(int card, const std::optional<Answer<std::vector<Chip>>>& read) {
  const MutexLock lock(mutex_);
  std::vector<Chip>& last = last_[card];
  if (!read || !*read) {
    if (!last.empty()) return last;
    const Place first{card, 0};
    return {read ? Unread(first, Reason::kUnreadable, read->error().Text())
                 : Unread(first, Reason::kTimedOut, "DCMI does not answer about the card")};
  }
  std::vector<Chip> chips = **read;
  for (Chip& chip : chips) {
    const auto known = std::ranges::find(last, chip.place, &Chip::place);
    if (known == last.end()) continue;
    // Without its die it would be another device.
    if (chip.trouble || (chip.die.empty() && !known->die.empty())) chip = *known;
  }
  // Cards lose no chip: one that is missing stays in its package.
  for (const Chip& known : last) {
    if (std::ranges::count(chips, known.place, &Chip::place) > 0) continue;
    chips.push_back(known);
    chips.back().trouble = Error{Reason::kVanished, "its card no longer tells of it"};
  }
  last = chips;
  return chips;
}

Result<std::vector<int>> ChipReader::ReadCards(const dcmi::LibraryPtr& library, Steady end) {
  ReadingPtr<std::vector<int>> reading;
  {
    const MutexLock lock(mutex_);
    TRY(Begin(cards_reading_, [library] { return library->Cards(); }));
    reading = cards_reading_;
  }
  const auto answer = Await(*reading, end);
  const MutexLock lock(mutex_);
  if (answer && cards_reading_ == reading) cards_reading_ = nullptr;
  if (answer && !*answer) return Fail(Reason::kScanFailed, "{}", answer->error().Text());
  if (answer) last_cards_ = **answer;
  if (last_cards_) return *last_cards_;
  return Fail(Reason::kTimedOut, "DCMI does not answer about the node's cards");
}

Result<bool> ChipReader::ReadTogether(const dcmi::LibraryPtr& library, Steady end) {
  ReadingPtr<int> reading;
  {
    const MutexLock lock(mutex_);
    TRY(Begin(policy_reading_, [library] { return library->MultiDiePolicy(); }));
    reading = policy_reading_;
  }
  const auto answer = Await(*reading, end);
  const MutexLock lock(mutex_);
  if (answer && policy_reading_ == reading) policy_reading_ = nullptr;
  if (answer && *answer) last_together_ = **answer == dcmi::kDiesTogether;
  if (answer && !*answer && answer->error().IsUnsupported()) last_together_ = false;
  return last_together_;
}

Result<Chips> ChipReader::Read(const dcmi::LibraryPtr& library, Duration patience) {
  const Steady end = SystemClock().Now() + patience;
  const std::vector<int> cards = TRY(ReadCards(library, end));
  std::map<int, ReadingPtr<std::vector<Chip>>> readings;
  for (const int card : cards) {
    const MutexLock lock(mutex_);
    ReadingPtr<std::vector<Chip>>& reading = readings_[card];
    TRY(Begin(reading, [root = root_, library, card] { return ReadCard(root, *library, card); }));
    readings[card] = reading;
  }
  Chips all;
  for (const auto& [card, reading] : readings) {
    const auto answer = Await(*reading, end);
    if (answer) {
      const MutexLock lock(mutex_);
      readings_.erase(card);
    }
    for (Chip& chip : Keep(card, answer)) all.chips.push_back(std::move(chip));
  }
  std::ranges::sort(all.chips, {}, [](const Chip& chip) {
    return std::make_tuple(chip.trouble.has_value(), chip.physical, chip.place);
  });
  all.dies_together = TRY(ReadTogether(library, end));
  return all;
}

}  // namespace tessera::ascend
