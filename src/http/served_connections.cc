// SPDX-License-Identifier: Apache-2.0
#include "http/served_connections.h"

#include <event2/event.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::http {
namespace {

constexpr timeval kAtOnce{};

short EventsOf(ServedConnection::WaitsTo waits_to) {
  if (waits_to == ServedConnection::WaitsTo::kBeWoken) return 0;
  return waits_to == ServedConnection::WaitsTo::kWrite ? EV_WRITE : EV_READ;
}

Response Refusal(Reason reason, std::string why) {
  Response response = Failure({reason, std::move(why)});
  response.status = 503;
  return response;
}

}  // namespace

struct ServedConnections::PeerConnection {
  PeerConnection(ServedConnections& owner_, Wire wire, Peer peer_)
      : owner(owner_),
        peer(std::move(peer_)),
        connection(std::move(wire), owner_.handler_, owner_.takes_, owner_.bounds_.timeouts,
                   owner_.at_handlers_, [this] { event_add(waits, &kAtOnce); }) {}
  ~PeerConnection() {
    if (waits != nullptr) event_free(waits);
  }
  PeerConnection(const PeerConnection&) = delete;
  PeerConnection& operator=(const PeerConnection&) = delete;

  ServedConnections& owner;
  const Peer peer;
  ServedConnection connection;
  event* waits = nullptr;  // freed before the socket closes
  ServedConnection::WaitsTo waits_to{};
  At at{};
};

ServedConnections::ServedConnections(os::Loop& loop, AsyncHandler handler, const Takes& takes,
                                     const ConnectionLimits& bounds)
    : loop_(loop),
      handler_(std::move(handler)),
      takes_(takes),
      bounds_(bounds),
      at_handlers_(std::make_shared<AtHandlers>(AtHandlers{.most = bounds.all})) {}

ServedConnections::~ServedConnections() = default;

size_t ServedConnections::size() const {
  return held_.size();
}

void ServedConnections::Add(Wire wire, const Peer& peer) {
  MakeRoom(peer);
  held_.emplace_back(*this, std::move(wire), peer);
  const At at = std::prev(held_.end());
  at->at = at;
  GoOn(at);  // most peers have already sent their request
}

void ServedConnections::Fire(int, short what, void* held) noexcept {
  auto* self = static_cast<PeerConnection*>(held);
  const bool late = (what & EV_TIMEOUT) != 0 &&  // `wake` also uses EV_TIMEOUT
                    self->connection.deadline() <= SystemClock().Now();
  if (late) return self->owner.Expire(self->at);
  self->owner.GoOn(self->at);
}

// False when the connection has ended.
bool ServedConnections::Step(At at) {
  const size_t phase = at->connection.phase();
  const bool goes_on = at->connection.GoOn();
  if (at->connection.phase() != phase) held_.splice(held_.end(), held_, at);
  return goes_on;
}

void ServedConnections::GoOn(At at) {
  if (!Step(at)) {
    held_.erase(at);
    return;
  }
  Settle(at);
}

void ServedConnections::Settle(At at) {
  if (at->connection.reading()) BoundReceived();
  if (at->connection.waiting() > 0) BoundWaiting(*at);
  Await(at);
}

void ServedConnections::Await(At at) {
  const ServedConnection& connection = at->connection;
  if (at->waits == nullptr || at->waits_to != connection.waits_to()) {
    if (at->waits != nullptr) event_free(at->waits);
    at->waits_to = connection.waits_to();
    at->waits = event_new(loop_.base(), connection.socket(), EventsOf(at->waits_to),
                          &ServedConnections::Fire, &*at);
  }
  const auto left = connection.ready() ? Steady::duration::zero()
                                       : std::max(connection.deadline() - SystemClock().Now(),
                                                  Steady::duration::zero());
  const timeval time{.tv_sec = left.count() / 1'000, .tv_usec = left.count() % 1'000 * 1'000};
  event_add(at->waits, &time);
}

// Bytes that arrived before the timeout are still processed, since they waited only for their turn.
// A late handler's request gets a 503.
void ServedConnections::Expire(At at) {
  if (at->connection.asking()) {
    at->connection.Refuse(Refusal(Reason::kTimedOut, "no answer was ready in time"));
  }
  const bool goes_on = Step(at);
  if (!goes_on || at->connection.deadline() <= SystemClock().Now()) return Forget(at);
  Settle(at);
}

// Sends a finished answer. A received request is not started, because its answer could not be
// delivered.
void ServedConnections::Drop(At at) {
  if (!at->connection.reading()) (void)at->connection.GoOn();
  Forget(at);
}

void ServedConnections::Forget(At at) {
  if (!at->connection.answered()) ++dropped_;
  held_.erase(at);
}

bool ServedConnections::DropOne() {
  if (held_.empty()) return false;
  Drop(FirstOfFullest());
  return true;
}

void ServedConnections::MakeRoom(const Peer& peer) {
  const auto of_peer = [&](const PeerConnection& held) {
    return held.peer.address == peer.address;
  };
  const size_t most = peer.address.empty() ? bounds_.of_loopback : bounds_.of_peer;
  if (static_cast<size_t>(std::ranges::count_if(held_, of_peer)) >= most) {
    Drop(FirstOf(peer.address));
  } else if (held_.size() >= bounds_.all) {
    Drop(FirstOfFullest());
  }
}

// The peer's connection to drop: the first idle one, else one without a request at a handler, else
// any. The peer has at least one.
ServedConnections::At ServedConnections::FirstOf(std::string_view peer) {
  const auto worth = [&](const PeerConnection& held) {
    if (held.peer.address != peer) return 3;
    return held.connection.idle() ? 0 : held.connection.asking() ? 2 : 1;
  };
  return std::ranges::min_element(held_, {}, worth);
}

ServedConnections::At ServedConnections::FirstOfFullest() {
  std::map<std::string_view, size_t> counts;
  for (const PeerConnection& held : held_) ++counts[held.peer.address];
  size_t most = 0;
  for (const auto& [peer, count] : counts) most = std::max(most, count);
  const auto fullest = std::ranges::find_if(
      held_, [&](const PeerConnection& held) { return counts.at(held.peer.address) == most; });
  return FirstOf(fullest->peer.address);
}

// A request at a handler cannot be withdrawn, so only incomplete requests are refused.
void ServedConnections::BoundReceived() {
  size_t all = at_handlers_->bytes;
  for (const PeerConnection& held : held_) all += held.connection.received();
  if (all <= bounds_.received) return;
  std::map<std::string_view, size_t> of_peers;
  for (const PeerConnection& held : held_)
    of_peers[held.peer.address] += held.connection.received();
  while (all > bounds_.received) {
    At first = held_.end();
    for (At at = held_.begin(); at != held_.end(); ++at) {
      if (!at->connection.reading() || at->connection.received() == 0) continue;
      const bool fuller =
          first == held_.end() || of_peers[at->peer.address] > of_peers[first->peer.address];
      if (fuller) first = at;
    }
    if (first == held_.end()) return;
    all -= first->connection.received();
    of_peers[first->peer.address] -= first->connection.received();
    first->connection.Refuse(
        Refusal(Reason::kUnavailable, "too many bytes are being sent at once"));
    Await(first);
  }
}

void ServedConnections::BoundWaiting(const PeerConnection& newest) {
  size_t all = 0;
  for (const PeerConnection& held : held_) all += held.connection.waiting();
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
