// SPDX-License-Identifier: Apache-2.0
#include "limiter/driver/functions.h"

#include <array>
#include <cstring>
#include <string_view>

#include "limiter/elf/object.h"

namespace tessera::limiter {
namespace {

// All names in one string, and the begin of each. An array of pointers would have to be relocated
// at the start of every process. The compiler makes the tables.
constexpr char kText[] =
#define HOOKED(name, since) #name "\0"
#define CALLED(name, since) #name "\0"
#include "limiter/driver/functions.def"
    ;

constexpr uint16_t kSince[] = {
#define HOOKED(name, since) since,
#define CALLED(name, since) since,
#include "limiter/driver/functions.def"
};

constexpr size_t kPlaces = 512;  // a power of two, more than twice as many as there are functions
static_assert(kPlaces > 2 * kFunctionCount && sizeof kText < 65536);

constexpr uint32_t Hash(std::string_view name) {
  uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash ^ (hash >> 15);
}

constexpr auto kBegins = [] {
  std::array<uint16_t, kFunctionCount> begins{};
  uint16_t at = 0;
  for (uint16_t& begin : begins) {
    begin = at;
    while (kText[at] != '\0') ++at;
    ++at;
  }
  return begins;
}();

constexpr auto kByName = [] {
  std::array<uint16_t, kPlaces> places{};  // 0: empty; otherwise the function plus 1
  for (uint16_t i = 0; i < kFunctionCount; ++i) {
    size_t place = Hash(&kText[kBegins[i]]) % kPlaces;
    while (places[place] != 0) place = (place + 1) % kPlaces;
    places[place] = static_cast<uint16_t>(i + 1);
  }
  return places;
}();

// cuMemAlloc for cuMemAlloc_v2 and cuMemAllocAsync_ptsz: the symbol by which a program asks a
// driver.
constexpr std::string_view WithoutSuffix(std::string_view name, bool* per_thread_stream) {
  *per_thread_stream = name.ends_with("_ptsz") || name.ends_with("_ptds");
  if (*per_thread_stream) name.remove_suffix(5);
  const size_t size = name.size();
  const bool versioned = size > 3 && name[size - 3] == '_' && name[size - 2] == 'v';
  if (versioned) name.remove_suffix(3);
  return name;
}

}  // namespace

Function FunctionNamed(const char* name) {
  for (size_t place = Hash(name) % kPlaces; kByName[place] != 0; place = (place + 1) % kPlaces) {
    const auto function = static_cast<Function>(kByName[place] - 1);
    if (strcmp(NameOf(function), name) == 0) return function;
  }
  return Function::kNone;
}

const char* NameOf(Function function) {
  return &kText[kBegins[static_cast<size_t>(function)]];
}

Function FunctionOfVersion(const char* symbol, int version, bool per_thread_stream) {
  // The only symbol whose newer variant has another name.
  if (version >= 12000 && strcmp(symbol, "cuGraphInstantiate") == 0) {
    return Function::cuGraphInstantiateWithFlags;
  }
  Function best = Function::kNone;
  bool best_is_per_thread = false;
  int best_since = -1;
  for (size_t i = 0; i < kFunctionCount; ++i) {
    bool is_per_thread = false;
    if (kSince[i] > version || WithoutSuffix(&kText[kBegins[i]], &is_per_thread) != symbol)
      continue;
    if (is_per_thread && !per_thread_stream) continue;
    // A function without a stream has only one variant.
    if (is_per_thread < best_is_per_thread) continue;
    if (is_per_thread == best_is_per_thread && kSince[i] <= best_since) continue;
    best = static_cast<Function>(i);
    best_is_per_thread = is_per_thread;
    best_since = kSince[i];
  }
  return best;
}

void* HookOf(Function function) {
  // The limiter defines exactly the functions that it exports. A table of addresses would have to
  // be relocated at the start of every process.
  Object own;
  return ObjectOf(kText, &own) ? own.Function(NameOf(function)) : nullptr;
}

}  // namespace tessera::limiter
