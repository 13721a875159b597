// SPDX-License-Identifier: Apache-2.0
// Processes that end before the limiter can have measured what they launched, one after the other
// (test/limiter/attacks_end_test.cc). All are started before the first launches, for a real card
// takes longer for that than the kernels run.
#include <signal.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "card/probes/peer.h"
#include "card/probes/time_share.h"

namespace tessera::card {
namespace {

constexpr uint64_t kShort = 10'000, kLong = 60 * kMs;

CUresult Tell(const Peer& peer, Order order, uint64_t ns = 0) {
  Message message{.order = order, .bytes = ns};
  return peer.Do(message);
}

using Peers = std::vector<std::unique_ptr<Peer>>;
CUresult Start(Peers& peers, size_t count) {
  Message message{.order = Order::kLoad};
  while (peers.size() < count) {
    peers.push_back(std::make_unique<Peer>());
    peers.back()->Tell(message);
  }
  FirstFailure started;
  for (const auto& peer : peers) {
    message.result = CUDA_ERROR_UNKNOWN;
    peer->Hear(message);
    started << message.result;
  }
  Measure();  // so that the watcher sees it is not hung
  return started.result;
}

// So that the limiter takes its kernels for short ones.
void Teach(const Peer& peer) {
  for (int i = 0; i < 3; ++i) {
    Tell(peer, Order::kSpin, kShort);
    Tell(peer, Order::kWait);
  }
}

enum class Ending { kExit, kKill };
void EndPeer(std::unique_ptr<Peer>& peer, Ending ending) {
  if (ending == Ending::kKill) kill(peer->pid(), SIGKILL);
  peer.reset();
}

// Each launches one kernel and ends, once it has run or after a while.
template <uint64_t ns, bool is_taught, bool waits_in_vain>
CUresult InProcesses(Ending ending) {
  Peers peers;
  const CUresult started = Start(peers, 5);
  if (started != CUDA_SUCCESS) return started;
  Share share;
  for (auto& peer : peers) {
    if (is_taught) Teach(*peer);
    share.Add(Tell(*peer, Order::kSpin, ns), std::min(ns, kLong));
    if (waits_in_vain) Tell(*peer, Order::kWaitInVain);
    usleep(kLong / 1'000);
    EndPeer(peer, ending);
  }
  return share.End(2 * kLong);
}

// What is charged to one that launches some kernels and ends a while after they have run.
CUresult Charged(int kernels, uint64_t ns, bool waits, Ending ending) {
  Peers peers;
  FirstFailure done;
  done << Start(peers, 1);
  const uint64_t before = Measure().charged;
  for (int i = 0; i < kernels; ++i) done << Tell(*peers[0], Order::kSpin, ns);
  if (waits) done << Tell(*peers[0], Order::kWait);
  usleep(300'000);
  EndPeer(peers[0], ending);
  peers.clear();
  done << Start(peers, 1);  // who joins finds what the dead owe
  SayCharged(before, static_cast<uint64_t>(kernels) * ns);
  return done.result;
}

void Nothing() {}

constexpr Step kSteps[] = {
    {"", [](uint64_t) { return InProcesses<kLong, false, false>(Ending::kKill); }, Nothing,
     "killed after a long kernel", true},
    {"", [](uint64_t) { return InProcesses<kLong, false, false>(Ending::kExit); }, Nothing,
     "ended after a long kernel", true},
    {"", [](uint64_t) { return InProcesses<10'000 * kMs, false, false>(Ending::kKill); }, Nothing,
     "killed in the midst of a kernel", true},
    {"", [](uint64_t) { return InProcesses<kLong, true, false>(Ending::kKill); }, Nothing,
     "killed after a long kernel that was short before", true},
    {"", [](uint64_t) { return InProcesses<kLong, true, true>(Ending::kKill); }, Nothing,
     "killed, and waited for another stream", true},
    {"", [](uint64_t) { return Charged(20, kMs / 5, true, Ending::kKill); }, Nothing,
     "waited for its kernels, killed after a while", true},
    {"", [](uint64_t) { return Charged(1, 4 * kMs, false, Ending::kExit); }, Nothing,
     "ended a while after its kernel", true},
};

}  // namespace

std::span<const Step> EndAttackSteps() {
  return kSteps;
}

}  // namespace tessera::card
