// SPDX-License-Identifier: Apache-2.0
#include "cuda/turns.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace tessera::fake_cuda {
namespace {

// A lock between processes, held for much less than a time slice. A waiter takes it from a dead
// holder. Then at most the holder's last update is lost.
class CardLock {
 public:
  CardLock(State& state, Card& card) : card_(card) {
    const uint32_t own = state.own_slot() + 1;
    uint32_t holder = 0;
    for (int tries = 1; !card_.lock.compare_exchange_strong(holder, own); ++tries) {
      if (tries % kTries == 0 && !state.IsAlive(holder - 1)) {
        card_.lock.compare_exchange_strong(holder, 0);
      } else {
        sched_yield();
      }
      holder = 0;
    }
  }
  ~CardLock() { card_.lock = 0; }
  CardLock(const CardLock&) = delete;
  CardLock& operator=(const CardLock&) = delete;

 private:
  static constexpr int kTries = 1000;
  Card& card_;
};

// ns of the process's work that have not run yet.
uint64_t PendingOf(const Process& process, unsigned card) {
  const uint64_t served = process.served[card];
  const uint64_t all = process.busy[card];
  return process.pid == 0 || all < served ? 0 : all - served;
}

// Gives the process `ns` of the card, with the lock held. A time slice that continues the last one
// extends its record.
void Serve(Process& process, unsigned card, uint64_t start, uint64_t ns) {
  const uint64_t count = process.turns;
  Turn& last = process.last_turns[(count + kTurns - 1) % kTurns];
  if (count > 0 && last.card == card && last.end == start) {
    last.end = start + ns;
  } else {
    Turn& turn = process.last_turns[count % kTurns];
    turn.start = start;
    turn.end = start + ns;
    turn.served = process.served[card].load();
    turn.card = card;
    process.turns = count + 1;
  }
  process.served[card] += ns;
}

// The next slot with work after `turn`, at last `turn` itself. kMostProcesses: none has work.
uint32_t NextOf(const Shared& shared, unsigned card, uint32_t turn) {
  const uint32_t high = shared.high;
  for (uint32_t i = 1; i <= high; ++i) {
    const uint32_t slot = (turn + i) % high;
    if (PendingOf(shared.processes[slot], card) > 0) return slot;
  }
  return kMostProcesses;
}

void AdvanceLocked(State& state, unsigned card_number, uint64_t now) {
  Shared& shared = state.shared();
  Card& card = shared.cards[card_number];
  uint64_t at = card.at;
  while (at < now) {
    Process& process = shared.processes[card.turn];
    const uint64_t pending = PendingOf(process, card_number);
    if (pending > 0 && at < card.turn_end) {
      const uint64_t end = std::min({now, card.turn_end.load(), at + pending});
      Serve(process, card_number, at, end - at);
      at = end;
      continue;
    }
    const uint32_t next = NextOf(shared, card_number, card.turn);
    if (next == kMostProcesses) {
      at = now;
    } else {
      card.turn = next;
      card.turn_end = at + card.turn_length;
    }
  }
  card.at = std::max(at, card.at.load());
}

}  // namespace

void Advance(State& state, unsigned card, uint64_t now) {
  const CardLock lock(state, state.card(card));
  AdvanceLocked(state, card, now);
}

// Pending work that reaches past `now` needs no computation: the new work only adds to it.
uint64_t SubmitInTurn(State& state, unsigned card, uint64_t ns, uint64_t now) {
  Process& own = state.own();
  const uint64_t at = state.card(card).at;
  const uint64_t pending = PendingOf(own, card);
  if (now < at || pending > now - at) return own.busy[card] += ns;
  const CardLock lock(state, state.card(card));
  AdvanceLocked(state, card, now);
  return own.busy[card] += ns;
}

bool IsReachedInTurn(State& state, unsigned card, uint64_t mark, uint64_t now) {
  const Process& own = state.own();
  if (own.served[card] >= mark) return true;
  if (NotBefore(state, card, mark) > now) return false;
  Advance(state, card, now);
  return own.served[card] >= mark;
}

uint64_t NotBefore(State& state, unsigned card, uint64_t mark) {
  const uint64_t at = state.card(card).at;
  const uint64_t served = state.own().served[card];
  return served >= mark ? at : at + (mark - served);
}

uint64_t TimeInTurn(State& state, unsigned card, uint64_t mark) {
  const CardLock lock(state, state.card(card));
  const Process& own = state.own();
  uint64_t oldest = 0;
  const uint64_t count = own.turns;
  for (uint64_t i = 1; i <= std::min<uint64_t>(count, kTurns); ++i) {
    const Turn& turn = own.last_turns[(count - i) % kTurns];
    if (turn.card != card) continue;
    oldest = turn.start;
    if (turn.served < mark) return turn.start + (mark - turn.served);
  }
  return mark == 0 ? 0 : oldest;
}

}  // namespace tessera::fake_cuda
