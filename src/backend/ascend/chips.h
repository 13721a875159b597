// SPDX-License-Identifier: Apache-2.0
// The chips of a node, as DCMI describes them. Cards are read at once, each on a thread of its own:
// one that hangs delays no other, and keeps its last description. So are the list of cards and the
// policy of dies. No reading is waited for twice. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ascend/library.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "os/files.h"

namespace tessera::ascend {

// A vNPU, by whomever made.
struct Vnpu {
  uint32_t id = 0;     // the number in /dev/vdavinci164
  std::string name;    // of its template: "vir10_3c_32g"
  unsigned cores = 0;  // AI cores; 0: unknown
  int64_t memory = 0;  // MiB; 0: unknown
  bool operator==(const Vnpu&) const = default;
};

struct Chip {
  dcmi::Place place{};
  uint32_t logic = 0;     // its number in events
  uint32_t physical = 0;  // the number in /dev/davinci3
  std::string name{};     // DCMI's: "910B3"
  std::string die{};  // "42C711D4-20B03704-4A10C8D4-14CC040A-D2102003"; empty: the driver has none
  std::string address{};  // "0000:c1:00.0"; empty: unknown
  unsigned cores = 0;     // AI cores
  int64_t memory = 0;     // MiB
  std::vector<int> numa_nodes{};
  std::vector<Vnpu> vnpus{};
  // Set: it was never read and only its place is known, or its card has lost it.
  std::optional<Error> trouble{};
  bool operator==(const Chip&) const = default;

  // Its name in resources, and HAMi's word for it: "Ascend910B3", "Ascend310P".
  std::string Model() const;
  // The id: the die's, which moves with the chip; "card3-chip1" if there is none.
  std::string Id() const;
};

// "Ascend910B3" for the names "910B3" and "Ascend910B3".
std::string ModelOf(std::string_view chip_name);
// "42C711D4-..."; empty if all words are 0.
std::string DieText(const dcmi::DieId& die);
// The numbers of a list of CPUs: "0-3,8". Empty: it is none.
std::vector<int> ParseCpus(std::string_view list);

struct Chips {
  std::vector<Chip> chips;     // by physical number; those without one come last
  bool dies_together = false;  // packages are given to containers as a whole
  bool operator==(const Chips&) const = default;
};

// A question to DCMI that a thread of its own asks.
template <class T>
struct Reading {
  Mutex mutex;
  ConditionVariable done;
  std::optional<dcmi::Answer<T>> answer TESSERA_GUARDED_BY(mutex);
  bool late TESSERA_GUARDED_BY(mutex) = false;  // a caller has waited for it in vain
};
template <class T>
using ReadingPtr = std::shared_ptr<Reading<T>>;

// Reads the chips of one root, and remembers them. Any thread.
class ChipReader {
 public:
  explicit ChipReader(os::Root root) : root_(std::move(root)) {}
  // Waits so long for all together. kScanFailed: the list of cards cannot be read. kTimedOut: it
  // has never been read.
  Result<Chips> Read(const dcmi::LibraryPtr& library, Duration patience);

 private:
  Result<std::vector<int>> ReadCards(const dcmi::LibraryPtr& library, Steady end);
  Result<bool> ReadTogether(const dcmi::LibraryPtr& library, Steady end);
  // The card's chips after this reading. Null: it is not done.
  std::vector<Chip> Keep(int card, const std::optional<dcmi::Answer<std::vector<Chip>>>& read);

  const os::Root root_;
  Mutex mutex_;
  ReadingPtr<std::vector<int>> cards_reading_ TESSERA_GUARDED_BY(mutex_);
  ReadingPtr<int> policy_reading_ TESSERA_GUARDED_BY(mutex_);
  std::map<int, ReadingPtr<std::vector<Chip>>> readings_ TESSERA_GUARDED_BY(mutex_);  // by card
  std::optional<std::vector<int>> last_cards_ TESSERA_GUARDED_BY(mutex_);
  // Until the driver tells it, dies are not given out alone.
  bool last_together_ TESSERA_GUARDED_BY(mutex_) = true;
  std::map<int, std::vector<Chip>> last_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::ascend
