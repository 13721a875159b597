// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/cards.h"

namespace tessera::rdma {

Card Cards::Of(const std::string& address, const std::function<Card()>& ask) {
  const Steady now = SystemClock().Now();
  {
    const MutexLock lock(mutex_);
    Known& known = known_[address];
    if (known.read && now - *known.read < fresh_) return known.card;
    if (known.is_asked) {
      return {.link = {LinkState::Kind::kUnknown, "an earlier check of the card still waits"}};
    }
    known.is_asked = true;
  }
  Card card = ask();
  const MutexLock lock(mutex_);
  known_[address] = {.card = card, .read = now};
  return card;
}

}  // namespace tessera::rdma
