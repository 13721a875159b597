// SPDX-License-Identifier: Apache-2.0
#include "cuda/objects.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace tessera::fake_cuda {
namespace {

constexpr uint32_t kBeingMade = UINT32_MAX;

// Locks the open file, not the process: all duplicates of a descriptor share the lock.
bool Lock(int file, int command, short type, struct flock* found = nullptr) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const bool done = fcntl(file, command, &lock) == 0;
  if (found != nullptr) *found = lock;
  return done;
}

uint64_t BitOf(unsigned slot) {
  return uint64_t{1} << slot % 64;
}

}  // namespace

std::string Objects::PathOf(unsigned place) const {
  return directory_ + "/fake-cuda.object-" + std::to_string(place);
}

bool Objects::IsOpen(unsigned place) const {
  const int file = open(PathOf(place).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct flock found{};
  const bool is_open = Lock(file, F_OFD_GETLK, F_WRLCK, &found) && found.l_type != F_UNLCK;
  close(file);
  return is_open;
}

bool Objects::IsHeld(const Object& object) const {
  return std::ranges::any_of(object.holders, [](const auto& bits) { return bits != 0; }) ||
         IsOpen(static_cast<unsigned>(&object - all_));
}

bool Objects::IsThere(const ObjectName& name) const {
  if (name.is_none()) return false;
  const Object& object = all_[name.place];
  return object.card != 0 && object.card != kBeingMade && object.serial == name.serial;
}

ObjectName Objects::Make(unsigned card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (unsigned place = 0; place < kMostObjects; ++place) {
    Object& object = all_[place];
    // Processes race for the place. Others see the object only once `card` is set, at the end.
    uint32_t none = 0;
    if (!object.card.compare_exchange_strong(none, kBeingMade)) continue;
    object.bytes = bytes;
    object.maker = slot_;
    const uint64_t serial = ++object.serial;
    object.holders[slot_ / 64] |= BitOf(slot_);
    times_[place] = 1;
    object.card = card + 1;
    return {.place = place, .serial = serial};
  }
  return {};
}

bool Objects::Hold(const ObjectName& name) {
  const std::lock_guard lock(mutex_);
  if (!IsThere(name)) return false;
  all_[name.place].holders[slot_ / 64] |= BitOf(slot_);
  ++times_[name.place];
  return true;
}

void Objects::LetGo(const ObjectName& name) {
  const std::lock_guard lock(mutex_);
  if (!IsThere(name) || times_[name.place] == 0 || --times_[name.place] > 0) return;
  all_[name.place].holders[slot_ / 64] &= ~BitOf(slot_);
}

bool Objects::IsHeldBy(const ObjectName& name, unsigned slot) const {
  return IsThere(name) && (all_[name.place].holders[slot / 64] & BitOf(slot)) != 0;
}

int Objects::Open(const ObjectName& name, const void* content, size_t size) const {
  const int file = open(PathOf(name.place).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return -1;
  const bool done = Lock(file, F_OFD_SETLK, F_RDLCK) &&
                    pwrite(file, content, size, 0) == static_cast<ssize_t>(size);
  if (done) return file;
  close(file);
  return -1;
}

// Frees unused objects here, because no process sees the last descriptor close.
uint64_t Objects::Sum(unsigned card) {
  uint64_t sum = 0;
  for (unsigned place = 0; place < kMostObjects; ++place) {
    Object& object = all_[place];
    uint32_t seen = object.card;
    if (object.serial == 0) break;  // places are used in order: no later one was ever used
    if (seen != card + 1) continue;
    if (IsHeld(object)) {
      sum += object.bytes;
    } else {
      object.card.compare_exchange_strong(seen, 0);
    }
  }
  return sum;
}

uint64_t Objects::SumOf(unsigned card, unsigned slot) const {
  uint64_t sum = 0;
  for (unsigned place = 0; place < kMostObjects && all_[place].serial != 0; ++place) {
    const Object& object = all_[place];
    const bool is_held = (object.holders[slot / 64] & BitOf(slot)) != 0;
    if (object.card == card + 1 && object.maker == slot && is_held) sum += object.bytes;
  }
  return sum;
}

void Objects::Drop(unsigned slot) {
  for (unsigned place = 0; place < kMostObjects && all_[place].serial != 0; ++place) {
    all_[place].holders[slot / 64] &= ~BitOf(slot);
  }
}

}  // namespace tessera::fake_cuda
