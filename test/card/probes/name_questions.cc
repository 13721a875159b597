// SPDX-License-Identifier: Apache-2.0
// What the driver's libraries export beside what functions.def and nvml.def list, and what
// cuGetProcAddress hands out for each name.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <map>
#include <set>
#include <utility>

#include "card/probes/driver.h"
#include "card/probes/questions.h"

namespace tessera::card {
namespace {

struct Listed {
  std::string name;
  int since;
};

const Listed kFunctions[] = {
#define HOOKED(name, since) {#name, since},
#define CALLED(name, since) {#name, since},
#define PASSED(name, since) {#name, since},
#include "limiter/driver/functions.def"
};
const char* const kOfNvml[] = {
#define HOOKED(name) #name,
#define CALLED(name) #name,
#define PASSED(name) #name,
#include "limiter/driver/nvml.def"
};

// The names of functions that a library exports, by its table of hashes.
std::map<std::string, const void*> ExportsOf(const char* soname) {
  std::map<std::string, const void*> exports;
  void* const library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  const link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) throw Missing{soname};
  const uint32_t* hashes = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<uint32_t*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<char*>(entry->d_un.d_ptr);
  }
  if (hashes == nullptr || symbols == nullptr || strings == nullptr) throw Missing{"its table"};
  const uint32_t buckets = hashes[0], first = hashes[1], words = hashes[2];
  const uint32_t* const bucket = hashes + 4 + words * (sizeof(ElfW(Addr)) / 4);
  const uint32_t* const chain = bucket + buckets;
  for (uint32_t i = 0; i < buckets; ++i) {
    for (uint32_t at = bucket[i]; at >= first && at != 0; ++at) {
      const ElfW(Sym)& symbol = symbols[at];
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF) {
        exports[strings + symbol.st_name] = reinterpret_cast<void*>(map->l_addr + symbol.st_value);
      }
      if ((chain[at - first] & 1) != 0) break;
    }
  }
  return exports;
}

std::string List(const std::set<std::string>& names) {
  std::string list = std::to_string(names.size());
  for (const std::string& name : names) list += (&name == &*names.begin() ? ": " : " ") + name;
  return list;
}

std::string NotIn(const char* soname, const char* prefix, const std::set<std::string>& table) {
  std::set<std::string> others;
  for (const auto& [name, address] : ExportsOf(soname)) {
    if (name.starts_with(prefix) && !table.contains(name)) others.insert(name);
  }
  return List(others);
}

std::string InNoTable() {
  std::set<std::string> table;
  for (const Listed& one : kFunctions) table.insert(one.name);
  return NotIn("libcuda.so.1", "cu", table);
}
std::string InNoTableOfNvml() {
  return NotIn("libnvidia-ml.so.1", "nvml", {std::begin(kOfNvml), std::end(kOfNvml)});
}

std::string NotExported() {
  const auto exports = ExportsOf("libcuda.so.1");
  std::set<std::string> missing;
  for (const Listed& one : kFunctions) {
    if (!exports.contains(one.name)) missing.insert(one.name);
  }
  return List(missing);
}

// "cuMemAlloc" of "cuMemAlloc_v2", and whether it is a thread's own stream's.
std::string SymbolOf(std::string name, bool& is_of_thread) {
  for (const char* const suffix : {"_ptsz", "_ptds"}) {
    if (!name.ends_with(suffix)) continue;
    is_of_thread = true;
    name.resize(name.size() - 5);
  }
  const size_t version = name.size() > 3 ? name.size() - 3 : 0;
  if (name.compare(version, 2, "_v") == 0) name.resize(version);
  return name;
}

// What it hands out for a symbol, by the name of the export whose address it is.
std::string Answer(const std::string& symbol, int version, bool is_of_thread) {
  static const auto names = [] {
    std::map<const void*, std::string> all;
    for (const auto& [name, address] : ExportsOf("libcuda.so.1")) all[address] = name;
    return all;
  }();
  void* found = nullptr;
  CUdriverProcAddressQueryResult why{};
  const cuuint64_t flags =
      is_of_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT;
  const CUresult result = CU(cuGetProcAddress_v2)(symbol.c_str(), &found, version, flags, &why);
  const auto name = names.find(found);
  if (found != nullptr) return name != names.end() ? name->second : "no-export";
  return "nothing," + std::to_string(result) + "," + std::to_string(static_cast<int>(why));
}

int OwnVersion() {
  int own = 0;
  CU(cuInit)(0);
  CU(cuDriverGetVersion)(&own);
  return own;
}

// Where the version that brought a function is asked for it, and another one comes.
std::string OtherAnswers() {
  const int own = OwnVersion();
  std::set<std::string> others;
  for (const Listed& one : kFunctions) {
    if (one.since > own) continue;
    bool is_of_thread = false;
    const std::string symbol = SymbolOf(one.name, is_of_thread);
    const std::string answer = Answer(symbol, one.since, is_of_thread);
    if (answer != one.name) others.insert(one.name + "=" + answer);
  }
  return List(others);
}

// Where the driver's own version is asked for, and another one than the newest that is listed
// comes.
std::string OtherNewest() {
  const int own = OwnVersion();
  std::map<std::pair<std::string, bool>, const Listed*> newest;
  for (const Listed& one : kFunctions) {
    bool is_of_thread = false;
    const std::string symbol = SymbolOf(one.name, is_of_thread);
    const Listed*& best = newest[{symbol, is_of_thread}];
    if (one.since <= own && (best == nullptr || one.since > best->since)) best = &one;
  }
  std::set<std::string> others;
  for (const auto& [asked, best] : newest) {
    if (best == nullptr) continue;
    const std::string answer = Answer(asked.first, own, asked.second);
    if (answer != best->name) others.insert(best->name + "=" + answer);
  }
  return List(others);
}

constexpr Question kQuestions[] = {
    {"exported by libcuda.so.1 and in no table", InNoTable},
    {"in functions.def and not exported", NotExported},
    {"cuGetProcAddress answers otherwise, asked for the version of functions.def", OtherAnswers},
    {"cuGetProcAddress answers otherwise, asked for the driver's version", OtherNewest},
    {"exported by libnvidia-ml.so.1 and in no table", InNoTableOfNvml},
};

}  // namespace

std::span<const Question> NameQuestions() {
  return kQuestions;
}

}  // namespace tessera::card
