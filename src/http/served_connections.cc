// SPDX-License-Identifier: Apache-2.0
#include "http/served_connections.h"

#include <event2/event.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::http {

struct ServedConnections::Held {
  Held(ServedConnections& owner_, os::Fd socket, Peer peer_)
      : owner(owner_),
        peer(std::move(peer_)),
        connection(std::move(socket), owner_.handler_, owner_.takes_, owner_.bounds_.patience) {}
  ~Held() {
    if (waits != nullptr) event_free(waits);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  ServedConnections& owner;
  const Peer peer;
  ServedConnection connection;
  event* waits = nullptr;  // ends before the socket
  bool waits_to_write = false;
  At at{};
};

ServedConnections::ServedConnections(os::Loop& loop, Handler handler, Takes takes,
                                     const Bounds& bounds)
    : loop_(loop), handler_(std::move(handler)), takes_(takes), bounds_(bounds) {}

ServedConnections::~ServedConnections() = default;

size_t ServedConnections::size() const {
  return held_.size();
}

void ServedConnections::Add(os::Fd socket, const Peer& peer) {
  MakeRoom(peer);
  held_.emplace_back(*this, std::move(socket), peer);
  const At at = std::prev(held_.end());
  at->at = at;
  GoOn(at);  // most have sent their request by now
}

void ServedConnections::Fire(int, short what, void* held) noexcept {
  auto* self = static_cast<Held*>(held);
  ServedConnections& owner = self->owner;
  if ((what & EV_TIMEOUT) != 0) return owner.Drop(self->at);
  owner.GoOn(self->at);
}

void ServedConnections::GoOn(At at) {
  if (!at->connection.GoOn()) {
    held_.erase(at);
    return;
  }
  if (at->connection.waiting() > 0) BoundWaiting(*at);
  Await(at);
}

void ServedConnections::Await(At at) {
  const bool write = at->connection.wants_to_write();
  if (at->waits == nullptr || at->waits_to_write != write) {
    if (at->waits != nullptr) event_free(at->waits);
    const short what = write ? EV_WRITE : EV_READ;
    at->waits =
        event_new(loop_.base(), at->connection.socket(), what, &ServedConnections::Fire, &*at);
    at->waits_to_write = write;
  }
  const auto left =
      std::max(at->connection.deadline() - SystemClock().Now(), Steady::duration::zero());
  const timeval time{.tv_sec = left.count() / 1'000, .tv_usec = left.count() % 1'000 * 1'000};
  event_add(at->waits, &time);
}

// What has come meanwhile is answered: it waited for nothing but its turn.
void ServedConnections::Drop(At at) {
  (void)at->connection.GoOn();
  if (!at->connection.answered()) ++dropped_;
  held_.erase(at);
}

bool ServedConnections::DropOne() {
  if (held_.empty()) return false;
  Drop(OldestOfFullest());
  return true;
}

void ServedConnections::MakeRoom(const Peer& peer) {
  const auto of_peer = [&](const Held& held) { return held.peer.address == peer.address; };
  const size_t most = peer.address.empty() ? bounds_.of_loopback : bounds_.of_peer;
  if (static_cast<size_t>(std::ranges::count_if(held_, of_peer)) >= most) {
    Drop(std::ranges::find_if(held_, of_peer));
  } else if (held_.size() >= bounds_.all) {
    Drop(OldestOfFullest());
  }
}

ServedConnections::At ServedConnections::OldestOfFullest() {
  std::map<std::string_view, size_t> counts;
  for (const Held& held : held_) ++counts[held.peer.address];
  size_t most = 0;
  for (const auto& [peer, count] : counts) most = std::max(most, count);
  return std::ranges::find_if(
      held_, [&](const Held& held) { return counts.at(held.peer.address) == most; });
}

void ServedConnections::BoundWaiting(const Held& newest) {
  size_t all = 0;
  for (const Held& held : held_) all += held.connection.waiting();
  for (At at = held_.begin(); at != held_.end() && all > bounds_.waiting;) {
    const At next = std::next(at);
    const size_t of_this = at->connection.waiting();
    if (&*at != &newest && of_this > 0) {
      all -= of_this;
      Drop(at);
    }
    at = next;
  }
}

}  // namespace tessera::http
