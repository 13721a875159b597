// SPDX-License-Identifier: Apache-2.0
#include "cuda/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <thread>

namespace tessera::fake_cuda {

namespace {

constexpr uint32_t kChunks = 4U << 20;  // 8 TiB of addresses
constexpr unsigned kUnits = kChunk / kUnit;
constexpr uint64_t kMostSmall = kChunk / 2;

}  // namespace

// A chunk's small blocks: which units are taken, and at each block's first unit its bytes as asked.
struct SmallBlocks {
  bool IsFree(unsigned unit) const { return (taken[unit / 64] >> (unit % 64) & 1) == 0; }
  // The first of `count` free units in a row, from `from` on. kUnits: there are none.
  unsigned Find(unsigned from, unsigned count) const;
  void Mark(unsigned unit, unsigned count, bool take);

  std::array<uint64_t, kUnits / 64> taken{};
  std::array<uint32_t, kUnits> bytes{};
  uint64_t begin = 0;
  unsigned free = kUnits;
  unsigned next = 0;        // the unit from which the next search begins
  unsigned place = 0;       // its place in the heap's partial_
  bool is_partial = false;  // is in partial_
};

unsigned SmallBlocks::Find(unsigned from, unsigned count) const {
  unsigned run = from;
  for (unsigned unit = from; unit < kUnits;) {
    const uint64_t rest = taken[unit / 64] >> (unit % 64);
    const unsigned in_word = 64 - unit % 64;
    const auto zeros = std::min<unsigned>(static_cast<unsigned>(std::countr_zero(rest)), in_word);
    unit += zeros;
    if (unit - run >= count) return run;
    if (zeros == in_word) continue;
    unit += static_cast<unsigned>(std::countr_one(rest >> zeros));
    run = unit;
  }
  return kUnits;
}

void SmallBlocks::Mark(unsigned unit, unsigned count, bool take) {
  const auto mark = [&](unsigned word, uint64_t bits) {
    taken[word] = take ? taken[word] | bits : taken[word] & ~bits;
  };
  const unsigned last = unit + count - 1;
  const uint64_t from = ~uint64_t{0} << (unit % 64);
  const uint64_t to = ~uint64_t{0} >> (63 - last % 64);
  if (unit / 64 == last / 64) return mark(unit / 64, from & to);
  mark(unit / 64, from);
  std::fill(&taken[unit / 64 + 1], &taken[last / 64], take ? ~uint64_t{0} : 0);
  mark(last / 64, to);
}

void SpinLock::Pause() {
  std::this_thread::yield();
}

Space& Space::The() {
  static auto* const space = new Space();  // never destroyed: threads may free to the very end
  return *space;
}

Space::Space() {
  const auto map = [](size_t bytes, int protection) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* at = mmap(nullptr, bytes, protection, kFlags, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
  };
  void* addresses = map((kChunks + 1) * kChunk, PROT_NONE);
  void* ranges = map(kChunks * sizeof(Range), PROT_READ | PROT_WRITE);
  if (addresses == nullptr || ranges == nullptr) {
    next_ = kChunks;
    return;
  }
  base_ = RoundUp(reinterpret_cast<uint64_t>(addresses), kChunk);
  ranges_ = static_cast<Range*>(ranges);
}

uint64_t Space::Reserve(uint64_t bytes, const Range& range) {
  const auto chunks = static_cast<uint32_t>(RoundUp(bytes, kChunk) / kChunk);
  std::vector<uint32_t>& free = chunks < free_small_.size() ? free_small_[chunks] : free_[chunks];
  uint32_t chunk = next_;
  if (!free.empty()) {
    chunk = free.back();
    free.pop_back();
  } else if (chunks >= kChunks - next_) {
    return 0;
  } else {
    next_ += chunks;
  }
  ranges_[chunk] = range;
  ranges_[chunk].chunks = chunks;
  return base_ + chunk * kChunk;
}

void Space::Free(uint64_t address) {
  const auto chunk = static_cast<uint32_t>((address - base_) / kChunk);
  const uint32_t chunks = ranges_[chunk].chunks;
  ranges_[chunk].kind = Kind::kNone;
  (chunks < free_small_.size() ? free_small_[chunks] : free_[chunks]).push_back(chunk);
}

Range* Space::At(uint64_t address) {
  if (address < base_ + kChunk || address >= base_ + next_ * kChunk) return nullptr;
  Range& range = ranges_[(address - base_) / kChunk];
  return range.kind == Kind::kNone ? nullptr : &range;
}

Range* Space::In(uint64_t address, uint64_t& begin) {
  if (address < base_ + kChunk || address >= base_ + next_ * kChunk) return nullptr;
  const auto chunk = static_cast<uint32_t>((address - base_) / kChunk);
  for (uint32_t first = chunk; first > 0; --first) {
    Range& range = ranges_[first];
    if (range.kind == Kind::kNone) continue;
    begin = base_ + first * kChunk;
    return chunk - first < range.chunks ? &range : nullptr;
  }
  return nullptr;
}

uint64_t Heap::Allocate(uint64_t bytes) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  if (bytes <= kMostSmall) return AllocateSmall(bytes);
  const uint64_t resident = RoundUp(bytes, kChunk);
  if (resident < bytes || !state_.Take(card_, resident)) return 0;
  return space.Reserve(bytes, {.kind = Kind::kBlock,
                               .device = device_,
                               .bytes = bytes,
                               .resident = resident,
                               .heap = this});
}

uint64_t Heap::AllocateManaged(uint64_t bytes) {
  Space& space = Space::The();
  const uint64_t used = state_.Used(card_);
  const std::lock_guard lock(space.lock());
  const uint64_t all = state_.bytes(card_);
  uint64_t resident = std::min(RoundUp(bytes, kChunk), all > used ? all - used : 0);
  if (!state_.Take(card_, resident)) resident = 0;
  const uint64_t address = space.Reserve(bytes, {.kind = Kind::kManaged,
                                                 .device = device_,
                                                 .bytes = bytes,
                                                 .resident = resident,
                                                 .heap = this});
  const uint64_t whole = RoundUp(bytes, kChunk);
  if (address != 0) mprotect(reinterpret_cast<void*>(address), whole, PROT_READ | PROT_WRITE);
  return address;
}

SmallBlocks* Heap::NewShared() {
  if (!state_.Take(card_, kChunk)) return nullptr;
  SmallBlocks* small = nullptr;
  if (spare_.empty()) {
    small = new SmallBlocks();
  } else {
    small = spare_.back();
    spare_.pop_back();
  }
  small->begin = Space::The().Reserve(kChunk, {.kind = Kind::kShared,
                                               .device = device_,
                                               .bytes = kChunk,
                                               .resident = kChunk,
                                               .heap = this,
                                               .small = small});
  small->place = static_cast<unsigned>(partial_.size());
  small->is_partial = true;
  partial_.push_back(small);
  return small;
}

uint64_t Heap::AllocateSmall(uint64_t bytes) {
  constexpr size_t kTries = 4;
  const auto units = static_cast<unsigned>(RoundUp(bytes, kUnit) / kUnit);
  SmallBlocks* found = nullptr;
  unsigned unit = kUnits;
  for (size_t tries = 0; tries < std::min(kTries, partial_.size()) && unit == kUnits; ++tries) {
    found = partial_[partial_.size() - 1 - tries];
    if (found->free < units) continue;
    unit = found->Find(found->next, units);
    if (unit == kUnits && found->next > 0) unit = found->Find(0, units);
  }
  if (unit == kUnits) {
    found = NewShared();
    if (found == nullptr) return 0;
    unit = 0;
  }
  found->Mark(unit, units, true);
  found->bytes[unit] = static_cast<uint32_t>(bytes);
  found->free -= units;
  found->next = unit + units;
  if (found->free == 0) {
    partial_[found->place] = partial_.back();
    partial_[found->place]->place = found->place;
    partial_.pop_back();
    found->is_partial = false;
  }
  return found->begin + unit * kUnit;
}

void Heap::FreeSmall(uint64_t address, uint64_t begin, Range& range) {
  SmallBlocks& small = *range.small;
  const auto unit = static_cast<unsigned>((address - begin) / kUnit);
  const auto units = static_cast<unsigned>(RoundUp(small.bytes[unit], kUnit) / kUnit);
  small.Mark(unit, units, false);
  small.bytes[unit] = 0;
  small.free += units;
  small.next = unit;
  if (!small.is_partial) {
    small.place = static_cast<unsigned>(partial_.size());
    small.is_partial = true;
    partial_.push_back(&small);
  }
  if (small.free == kUnits) FreeShared(begin, range);
}

void Heap::FreeShared(uint64_t begin, Range& range) {
  SmallBlocks* small = range.small;
  if (small->is_partial) {
    partial_[small->place] = partial_.back();
    partial_[small->place]->place = small->place;
    partial_.pop_back();
  }
  if (small->free == kUnits) {
    small->next = 0;
    spare_.push_back(small);  // all its units are free, and it is expensive to make
  } else {
    delete small;
  }
  FreeWhole(begin, range);
}

void Heap::FreeWhole(uint64_t begin, Range& range) {
  if (range.kind == Kind::kManaged) {
    const uint64_t bytes = range.chunks * kChunk;
    mprotect(reinterpret_cast<void*>(begin), bytes, PROT_NONE);
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED);
  }
  const uint64_t resident = range.resident;
  const ObjectName object = range.object;
  Space::The().Free(begin);
  if (object.is_none()) {
    state_.Give(card_, resident);
  } else {
    state_.objects().LetGo(object);
  }
}

void Heap::Clear() {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  space.ForEach([this](uint64_t begin, Range& range) {
    if (range.heap != this || range.kind == Kind::kImported) return;
    if (range.kind == Kind::kShared) {
      FreeShared(begin, range);
    } else {
      FreeWhole(begin, range);
    }
  });
}

bool FreeBlock(uint64_t address) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  Range* range = space.At(address);
  const bool is_block =
      range != nullptr && range->heap != nullptr && range->kind != Kind::kImported;
  if (!is_block) return false;
  const uint64_t begin = address / kChunk * kChunk;
  if (range->kind == Kind::kShared) {
    const uint64_t unit = (address - begin) / kUnit;
    if (address % kUnit != 0 || range->small->bytes[unit] == 0) return false;
    range->heap->FreeSmall(address, begin, *range);
    return true;
  }
  if (address != begin) return false;
  range->heap->FreeWhole(begin, *range);
  return true;
}

ObjectName ExportBlock(uint64_t address) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  Range* const range = space.At(address);
  if (range == nullptr || range->kind != Kind::kBlock) return {};
  Heap& heap = *range->heap;
  if (range->object.is_none()) range->object = heap.state_.Export(heap.card_, range->resident);
  return range->object;
}

std::optional<Block> FindBlock(uint64_t address) {
  Space& space = Space::The();
  const std::lock_guard lock(space.lock());
  uint64_t begin = 0;
  const Range* range = space.In(address, begin);
  if (range == nullptr) return std::nullopt;
  if (range->kind != Kind::kShared) {
    if (address - begin >= range->bytes) return std::nullopt;
    return Block{begin, range->bytes, *range};
  }
  for (uint64_t unit = (address - begin) / kUnit + 1; unit-- > 0;) {
    const uint64_t bytes = range->small->bytes[unit];
    if (bytes == 0) continue;
    if (address - (begin + unit * kUnit) >= bytes) return std::nullopt;
    return Block{begin + unit * kUnit, bytes, *range};
  }
  return std::nullopt;
}

}  // namespace tessera::fake_cuda
