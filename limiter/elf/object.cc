// SPDX-License-Identifier: Apache-2.0
#include "limiter/elf/object.h"

#include <cstring>

namespace tessera::limiter {
namespace {

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

uint32_t OldHash(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace

Object::Object(const dl_phdr_info& info)
    : base_(info.dlpi_addr),
      name_(info.dlpi_name != nullptr ? info.dlpi_name : ""),
      headers_(info.dlpi_phdr),
      header_count_(info.dlpi_phnum) {
  for (uint16_t i = 0; i < header_count_; ++i) {
    if (headers_[i].p_type == PT_DYNAMIC) {
      dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(base_ + headers_[i].p_vaddr);
    }
  }
  if (dynamic_ != nullptr) ReadDynamic();
}

void Object::ReadDynamic() {
  // In most objects the loader has turned these offsets into addresses. It has not in objects that
  // it cannot write, such as the kernel's own.
  const auto at = [this](const ElfW(Dyn) & entry) {
    return entry.d_un.d_ptr >= base_ ? entry.d_un.d_ptr : base_ + entry.d_un.d_ptr;
  };
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(at(*entry));
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(at(*entry));
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const uint16_t*>(at(*entry));
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const uint32_t*>(at(*entry));
        break;
      case DT_HASH:
        old_hash_ = reinterpret_cast<const uint32_t*>(at(*entry));
        break;
      default:
        break;
    }
  }
}

bool Object::Contains(const void* address) const {
  const auto place = reinterpret_cast<uintptr_t>(address);
  for (uint16_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& header = headers_[i];
    if (header.p_type == PT_LOAD && place - (base_ + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

void* Object::Function(const char* name) const {
  const ElfW(Sym)* symbol = Find(name);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return nullptr;
  return reinterpret_cast<void*>(base_ + symbol->st_value);
}

const ElfW(Sym) * Object::Find(const char* name) const {
  if (symbols_ == nullptr || strings_ == nullptr) return nullptr;
  if (gnu_hash_ != nullptr) return FindGnu(name);
  return old_hash_ != nullptr ? FindOld(name) : nullptr;
}

// True if the symbol of that index is defined under that name, in its default version.
bool Object::IsDefault(uint32_t index, const char* name) const {
  const ElfW(Sym)& symbol = symbols_[index];
  if (symbol.st_shndx == SHN_UNDEF || strcmp(strings_ + symbol.st_name, name) != 0) return false;
  constexpr uint16_t kNotDefault = 0x8000;
  return versions_ == nullptr || (versions_[index] != 0 && (versions_[index] & kNotDefault) == 0);
}

const ElfW(Sym) * Object::FindGnu(const char* name) const {
  const uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1];
  const uint32_t filter_words = gnu_hash_[2], shift = gnu_hash_[3];
  if (buckets == 0 || filter_words == 0) return nullptr;
  const auto* filter = reinterpret_cast<const uint64_t*>(gnu_hash_ + 4);
  const auto* bucket = reinterpret_cast<const uint32_t*>(filter + filter_words);
  const uint32_t* chain = bucket + buckets;

  const uint32_t hash = GnuHash(name);
  const uint64_t word = filter[(hash / 64) % filter_words];
  if (((word >> (hash % 64)) & (word >> ((hash >> shift) % 64)) & 1) == 0) return nullptr;
  for (uint32_t i = bucket[hash % buckets]; i >= first; ++i) {
    const uint32_t other = chain[i - first];
    if ((other | 1) == (hash | 1) && IsDefault(i, name)) return &symbols_[i];
    if ((other & 1) != 0) break;  // the last of its bucket
  }
  return nullptr;
}

const ElfW(Sym) * Object::FindOld(const char* name) const {
  const uint32_t buckets = old_hash_[0];
  if (buckets == 0) return nullptr;
  const uint32_t* bucket = old_hash_ + 2;
  const uint32_t* chain = bucket + buckets;
  for (uint32_t i = bucket[OldHash(name) % buckets]; i != 0; i = chain[i]) {
    if (IsDefault(i, name)) return &symbols_[i];
  }
  return nullptr;
}

bool ObjectOf(const void* address, Object* object) {
  return AnyObject([&](const Object& candidate) {
    if (!candidate.Contains(address)) return false;
    *object = candidate;
    return true;
  });
}

}  // namespace tessera::limiter
