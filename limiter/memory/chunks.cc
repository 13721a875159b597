// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/chunks.h"

#include <sys/mman.h>

#include <atomic>

#include "limiter/accounting/process_memory.h"
#include "limiter/accounting/wide.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"

namespace tessera::limiter {

struct Chunk {
  TotalWord word;  // low: Content; high: the owning context
};

namespace {

// A table of two levels by address: no program has more than 54 bits of addresses.
constexpr int kChunkBits = 21, kLeafBits = 16, kRootBits = 17;
struct Leaf {
  Chunk chunks[1 << kLeafBits];
};
struct Root {
  std::atomic<Leaf*> leaves[1 << kRootBits];
};

Root* TheRoot() {
  static constinit ProcessMemory<Root> root;
  return root.Get();
}

Leaf* MakeLeaf(std::atomic<Leaf*>* at) {
  void* const memory =
      mmap(nullptr, sizeof(Leaf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Leaf* leaf = nullptr;
  if (at->compare_exchange_strong(leaf, static_cast<Leaf*>(memory))) {
    return static_cast<Leaf*>(memory);
  }
  munmap(memory, sizeof(Leaf));
  return leaf;
}

// Null: there is none, or no memory for it.
Chunk* ChunkOf(CUdeviceptr block, bool is_to_be) {
  const uint64_t number = block >> kChunkBits;
  Root* const root = TheRoot();
  if (root == nullptr || number >> (kLeafBits + kRootBits) != 0) return nullptr;
  std::atomic<Leaf*>& at = root->leaves[number >> kLeafBits];
  Leaf* leaf = at.load(std::memory_order_acquire);
  if (leaf == nullptr && is_to_be) leaf = MakeLeaf(&at);
  return leaf == nullptr ? nullptr : &leaf->chunks[number & ((1 << kLeafBits) - 1)];
}

struct Content {
  uint16_t blocks;   // held by the program
  uint16_t freeing;  // in a call that frees them
  uint8_t place;
  bool is_counted;
  bool is_marked;  // its context is about to end
  bool is_kept;    // another process may hold a block: never uncounted
};

Content Unpack(const TotalWord& word) {
  return {static_cast<uint16_t>(word.low),
          static_cast<uint16_t>(word.low >> 16),
          static_cast<uint8_t>(word.low >> 32),
          (word.low >> 40 & 1) != 0,
          (word.low >> 41 & 1) != 0,
          (word.low >> 42 & 1) != 0};
}

TotalWord Pack(const Content& content, uint64_t context) {
  return {content.blocks | uint64_t{content.freeing} << 16 | uint64_t{content.place} << 32 |
              uint64_t{content.is_counted} << 40 | uint64_t{content.is_marked} << 41 |
              uint64_t{content.is_kept} << 42,
          context};
}

// Applies change(&content, &context) in one exchange, and returns the former content. Threads race,
// so change() may run several times.
template <typename Change>
Content Update(Chunk* chunk, Change change) {
  for (;;) {
    const TotalWord seen = Read(chunk->word);
    const Content before = Unpack(seen);
    Content after = before;
    uint64_t context = seen.high;
    change(&after, &context);
    if (CompareAndSwap(&chunk->word, seen, Pack(after, context))) return before;
  }
}

void ReleaseOf(int place) {
  Release(place, kChunk, Kind::kData);
}

// True if the chunk is counted and goes with its content.
bool IsToBeReleased(const Content& content) {
  return content.is_counted && !content.is_kept;
}

// True if a kept chunk has no block here any more. A new block at its address is in another chunk.
bool IsKeptElsewhere(const Content& content) {
  return content.is_kept && content.blocks == 0 && content.freeing == 0;
}

// By place: smaller blocks than this may fit; 0: there is no chunk.
constinit std::atomic<uint64_t> fitting[kMaxDevices + 1] = {};
// Set while a thread tries whether a block fits. Room that appears meanwhile clears it, so that
// NoteFull() does not overwrite that.
constexpr uint64_t kAsking = uint64_t{1} << 63;

void NoteRoom(int place) {
  std::atomic<uint64_t>& below = fitting[place];
  if (below.load(std::memory_order_relaxed) == kChunk) return;
  below.store(kChunk, std::memory_order_relaxed);
}

// Calls each(chunk) for the known chunks of a context.
template <typename Each>
void ForEachOf(CUcontext context, Each each) {
  Root* const root = TheRoot();
  for (size_t i = 0; root != nullptr && i < sizeof root->leaves / sizeof root->leaves[0]; ++i) {
    Leaf* const leaf = root->leaves[i].load(std::memory_order_acquire);
    if (leaf == nullptr) continue;
    for (Chunk& chunk : leaf->chunks) {
      if (Read(chunk.word).high == reinterpret_cast<uint64_t>(context)) each(&chunk);
    }
  }
}

}  // namespace

bool PutIntoChunk(int place, CUdeviceptr block, bool is_reserved) {
  Chunk* const chunk = ChunkOf(block, true);
  if (chunk == nullptr) {
    if (is_reserved) ReleaseOf(place);
    return false;
  }
  const auto context = reinterpret_cast<uint64_t>(CurrentOwner());
  // A new chunk at the address of a former one: the threads that freed its blocks have not reported
  // it yet.
  bool is_another = false;
  const Content before = Update(chunk, [&](Content* content, uint64_t* owner) {
    is_another = content->place != place || *owner != context || IsKeptElsewhere(*content);
    if (is_another) content->blocks = 0;
    if (content->place != place || (is_another && content->is_kept)) content->is_counted = false;
    if (is_another) content->is_kept = false;
    ++content->blocks;
    content->place = static_cast<uint8_t>(place);
    content->is_counted = content->is_counted || is_reserved;
    content->is_marked = false;
    *owner = context;
  });
  const bool was_counted =
      before.is_counted && before.place == place && !(is_another && before.is_kept);
  if (IsToBeReleased(before) && !was_counted) ReleaseOf(before.place);
  if (before.blocks == 0 || is_another) NoteRoom(place);
  if (was_counted && is_reserved) ReleaseOf(place);
  if (was_counted || is_reserved) return true;
  if (ReserveOrTrim(place, kChunk)) {
    const auto count = [](Content* content, uint64_t*) { content->is_counted = true; };
    if (Update(chunk, count).is_counted) ReleaseOf(place);  // another thread counted it as well
    return true;
  }
  Update(chunk, [&](Content* content, const uint64_t* owner) {
    if (*owner == context && content->blocks != 0) --content->blocks;
  });
  return false;
}

Chunk* BeginFree(CUdeviceptr block) {
  Chunk* const chunk = ChunkOf(block, false);
  if (chunk == nullptr) return nullptr;
  const Content before = Update(chunk, [](Content* content, uint64_t*) {
    if (content->blocks == 0) return;
    --content->blocks;
    ++content->freeing;
  });
  return before.blocks == 0 ? nullptr : chunk;
}

void EndFree(Chunk* chunk, bool is_freed) {
  bool is_left = false;
  const Content before = Update(chunk, [&](Content* content, uint64_t*) {
    --content->freeing;
    if (!is_freed) ++content->blocks;
    is_left = content->blocks != 0 || content->freeing != 0 || content->is_kept;
    if (!is_left) content->is_counted = false;
  });
  if (is_left) {
    if (is_freed) NoteRoom(before.place);
  } else if (before.is_counted) {
    ReleaseOf(before.place);
  }
}

bool KeepChunk(CUdeviceptr block, int* place) {
  Chunk* const chunk = ChunkOf(block, false);
  if (chunk == nullptr) return false;
  const Content before = Update(chunk, [](Content* content, uint64_t*) {
    content->is_kept = content->is_kept || content->blocks != 0;
  });
  *place = before.place;
  return before.blocks != 0 && !before.is_kept;
}

void ForgetChunk(CUdeviceptr block) {
  Chunk* const chunk = ChunkOf(block, false);
  if (chunk == nullptr) return;
  const Content seen = Unpack(Read(chunk->word));
  if (seen.blocks == 0 && !seen.is_kept) return;
  const Content before = Update(chunk, [](Content* content, uint64_t*) {
    content->blocks = 0;
    content->is_counted = false;
    content->is_kept = false;
  });
  if (IsToBeReleased(before)) ReleaseOf(before.place);
}

bool MayFit(int place, uint64_t bytes) {
  return bytes < (fitting[place].fetch_or(kAsking, std::memory_order_relaxed) & ~kAsking);
}

void NoteFull(int place, uint64_t bytes) {
  uint64_t seen = fitting[place].load(std::memory_order_relaxed);
  if ((seen & kAsking) == 0 || bytes >= (seen & ~kAsking)) return;
  fitting[place].compare_exchange_strong(seen, bytes, std::memory_order_relaxed);
}

void MarkChunks(CUcontext context) {
  ForEachOf(context, [context](Chunk* chunk) {
    Update(chunk, [context](Content* content, uint64_t* owner) {
      content->is_marked = *owner == reinterpret_cast<uint64_t>(context);
    });
  });
}

void ReleaseChunks(CUcontext context) {
  ForEachOf(context, [context](Chunk* chunk) {
    bool is_its = false;
    const Content before = Update(chunk, [&](Content* content, uint64_t* owner) {
      is_its = content->is_marked && *owner == reinterpret_cast<uint64_t>(context);
      if (!is_its) return;
      content->is_marked = false;
      content->blocks = 0;
      content->is_counted = false;
      content->is_kept = false;
    });
    if (is_its && IsToBeReleased(before)) ReleaseOf(before.place);
  });
}

}  // namespace tessera::limiter
