// SPDX-License-Identifier: Apache-2.0
#include "cuda/state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "cuda/turns.h"

namespace tessera::fake_cuda {
namespace {

constexpr uint64_t kMagic = 0x7465'7373'6572'6131;
constexpr off_t kLocks = sizeof(Shared);  // bytes after the mapping: one for cards, then the slots'
constexpr uint64_t kSeldom = 1'000'000;   // ns between two checks for dead processes

struct Descriptor {
  explicit Descriptor(const std::string& path)
      : fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

// Locks for the open file, not for the process: two State objects in one process are two owners.
bool Lock(int fd, int command, off_t byte, struct flock* found = nullptr) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLocks + byte;
  lock.l_len = 1;
  const bool done = fcntl(fd, command, &lock) == 0;
  if (found != nullptr) *found = lock;
  return done;
}

void Clear(Process& process) {
  for (auto& count : process.contexts) count = 0;
  for (auto& bytes : process.resident) bytes = 0;
  for (auto& time : process.busy) time = 0;
  for (auto& time : process.served) time = 0;
  process.kernels = 0;
  process.died = 0;
  process.pid = 0;
}

uint64_t BusyOf(const Process& process, unsigned card, uint64_t now) {
  uint64_t busy = process.busy[card];
  for (const Run& run : process.runs) {
    const uint64_t start = run.start;
    const uint64_t end = run.end;
    if (run.card != card || end <= now) continue;
    busy -= end - std::max(start, now);
  }
  return busy;
}

}  // namespace

uint64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

State::State(std::string directory, uint64_t late)
    : directory_(std::move(directory)), path_(directory_ + "/fake-cuda.state"), late_(late) {}

std::unique_ptr<State> State::Open(const std::string& directory, uint64_t late) {
  std::unique_ptr<State> state(new State(directory, late));
  if (!state->Map()) return nullptr;
  return state;
}

State::~State() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

bool State::Map() {
  const Descriptor file(path_);
  if (file.fd < 0 || ftruncate(file.fd, kLocks) != 0) return false;
  void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
  if (at == MAP_FAILED) return false;
  shared_ = static_cast<Shared*>(at);
  objects_ = std::make_unique<Objects>(directory_, shared_->objects);
  uint64_t none = 0;
  if (shared_->magic.compare_exchange_strong(none, kMagic) || none == kMagic) return true;
  errno = EPROTO;
  return false;
}

bool State::Join() {
  Reap();
  for (unsigned slot = 0; slot < kMostProcesses; ++slot) {
    // The descriptor is closed, but a mapping of the file keeps its lock. MADV_DONTFORK keeps the
    // mapping, and so the lock, out of forked children. Programs may close descriptors they do not
    // know.
    const Descriptor file(path_);
    if (!Lock(file.fd, F_OFD_SETLK, 1 + slot)) continue;
    Process& process = shared_->processes[slot];
    if (process.pid != 0) continue;  // a dead process, whose memory was not given back yet
    void* kept = mmap(nullptr, 1, PROT_READ, MAP_SHARED, file.fd, 0);
    if (kept == MAP_FAILED || madvise(kept, 1, MADV_DONTFORK) != 0) return false;
    madvise(shared_, sizeof(Shared), MADV_DONTFORK);
    Clear(process);
    for (Run& run : process.runs) run.start = run.end = 0;
    process.turns = 0;
    process.pid = getpid();
    uint32_t high = shared_->high;
    while (high <= slot && !shared_->high.compare_exchange_weak(high, slot + 1)) continue;
    own_ = &process;
    objects_->Own(slot);
    return true;
  }
  return false;
}

bool State::IsAlive(unsigned slot) const {
  if (slot >= kMostProcesses) return true;
  const Descriptor file(path_);
  struct flock found{};
  return Lock(file.fd, F_OFD_GETLK, 1 + slot, &found) &&
         (found.l_type != F_UNLCK || slot == own_slot());
}

// Adds the process's time to the cards' totals. Its unfinished kernels end now.
void State::End(Process& process) {
  const uint64_t now = Now();
  for (unsigned card = 0; card < kMostCards && shared_->cards[card].uuid[0] != 0; ++card) {
    const bool turns = shared_->cards[card].turn_length != 0;
    if (turns) Advance(*this, card, now);
    shared_->cards[card].busy_before +=
        turns ? process.served[card].load() : BusyOf(process, card, now);
  }
  objects_->Drop(static_cast<unsigned>(&process - shared_->processes));
  Clear(process);
}

void State::Leave() {
  if (own_ != nullptr) End(*own_);
}

unsigned State::CardOf(const std::string& uuid, uint64_t bytes) {
  // Waits for the lock: two processes that race must not make the same card twice.
  const Descriptor file(path_);
  Lock(file.fd, F_OFD_SETLKW, 0);
  for (unsigned card = 0; card < kMostCards; ++card) {
    Card& one = shared_->cards[card];
    if (one.uuid[0] == 0) {
      uuid.copy(one.uuid, sizeof one.uuid - 1);
      one.bytes = bytes;
    }
    if (uuid == one.uuid) return card;
  }
  return kMostCards;
}

unsigned State::Find(const std::string& uuid) const {
  for (unsigned card = 0; card < kMostCards; ++card) {
    if (uuid == shared_->cards[card].uuid) return card;
  }
  return kMostCards;
}

uint64_t State::Sum(unsigned card) const {
  uint64_t sum = objects_->Sum(card);
  for (unsigned slot = 0; slot < shared_->high; ++slot) {
    sum += shared_->processes[slot].resident[card];
  }
  return sum;
}

// Counts first, then compares: processes that race for the last memory never exceed the card. Both
// may be refused.
bool State::Take(unsigned card, uint64_t bytes) {
  std::atomic<uint64_t>& own = own_->resident[card];
  const uint64_t all = shared_->cards[card].bytes;
  if (bytes > all) return false;
  own += bytes;
  if (Sum(card) <= all) return true;
  reaped_ = 0;
  Reap();
  if (Sum(card) <= all) return true;
  own -= bytes;
  return false;
}

void State::Give(unsigned card, uint64_t bytes) {
  own_->resident[card] -= bytes;
}

// The memory counts twice for a moment, so a racing Take may be refused. In the other order, Take
// could exceed the card.
ObjectName State::Export(unsigned card, uint64_t bytes) {
  const ObjectName name = objects_->Make(card, bytes);
  if (!name.is_none()) Give(card, bytes);
  return name;
}

uint64_t State::Used(unsigned card) {
  Reap();
  return Sum(card);
}

uint64_t State::Resident(pid_t pid, unsigned card) {
  reaped_ = 0;
  Reap();
  if (pid == 0) return Sum(card);
  uint64_t sum = 0;
  for (unsigned slot = 0; slot < shared_->high; ++slot) {
    const Process& process = shared_->processes[slot];
    if (process.pid == pid) sum += process.resident[card] + objects_->SumOf(card, slot);
  }
  return sum;
}

uint64_t State::Busy(pid_t pid, unsigned card) {
  const uint64_t now = Now();
  const bool turns = shared_->cards[card].turn_length != 0;
  if (turns) Advance(*this, card, now);
  uint64_t sum = pid == 0 ? shared_->cards[card].busy_before.load() : 0;
  for (unsigned slot = 0; slot < shared_->high; ++slot) {
    const Process& process = shared_->processes[slot];
    if (process.pid == 0 || (pid != 0 && process.pid != pid)) continue;
    sum += turns ? process.served[card].load() : BusyOf(process, card, now);
  }
  return sum;
}

uint64_t State::Kernels(pid_t pid) {
  uint64_t sum = 0;
  for (unsigned slot = 0; slot < shared_->high; ++slot) {
    const Process& process = shared_->processes[slot];
    if (process.pid != 0 && (pid == 0 || process.pid == pid)) sum += process.kernels;
  }
  return sum;
}

void State::Reap() {
  const uint32_t high = shared_->high;
  if (high == 0 || (high == 1 && own_ == shared_->processes)) return;
  const uint64_t now = Now();
  if (now - reaped_ < kSeldom) return;
  reaped_ = now;
  // Opened each time, because programs close descriptors that they do not know.
  const Descriptor file(path_);
  for (unsigned slot = 0; slot < high; ++slot) {
    Process& process = shared_->processes[slot];
    struct flock found{};
    if (&process == own_ || process.pid == 0) continue;
    if (!Lock(file.fd, F_OFD_GETLK, 1 + slot, &found) || found.l_type != F_UNLCK) continue;
    uint64_t died = 0;
    if (process.died.compare_exchange_strong(died, now)) died = now;
    if (now - died < late_ || !Lock(file.fd, F_OFD_SETLK, 1 + slot)) continue;
    // Processes race to reap. With the slot's lock, checks that another one has not done it.
    if (process.pid != 0 && process.died != 0) End(process);
  }
}

}  // namespace tessera::fake_cuda
