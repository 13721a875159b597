// SPDX-License-Identifier: Apache-2.0
// The states of cards. A card may have hundreds of functions, which are checked in a row, so its
// state need not be read again for each. If it hangs, one thread waits for it. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "backend/rdma/link.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace tessera::rdma {

struct Card {
  bool is_lost = false;  // it does not answer on its bus
  LinkState link{};
  std::optional<uint64_t> fatal{};  // errors of its PCI link, so far
  bool operator==(const Card&) const = default;
};

class Cards {
 public:
  explicit Cards(Duration fresh) : fresh_(fresh) {}

  // The state that `ask` found at most `fresh` ago. While another thread still asks, the link is
  // not known.
  Card Of(const std::string& address, const std::function<Card()>& ask);

 private:
  struct Known {
    Card card{};
    std::optional<Steady> read{};
    bool is_asked = false;
  };

  const Duration fresh_;
  Mutex mutex_;
  std::map<std::string, Known> known_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::rdma
