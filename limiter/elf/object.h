// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <link.h>

#include <cstdint>

// What the dynamic loader has mapped into this process, read from memory: no file is opened,
// nothing is loaded, and the loader's own lock is held only while its list is walked.

namespace tessera::limiter {

// One program or library that is loaded. A view: good while that stays loaded. Any thread.
class Object {
 public:
  Object() = default;
  explicit Object(const dl_phdr_info& info);

  // The path it was loaded from; "" is the program itself.
  const char* name() const { return name_; }
  bool IsProgram() const { return name_[0] == '\0'; }
  bool Contains(const void* address) const;
  // The function that it defines under this name, in the version that a lookup without one finds;
  // null where it has none, or has data under that name.
  void* Function(const char* name) const;
  bool operator==(const Object& other) const { return dynamic_ == other.dynamic_; }

 private:
  const ElfW(Sym) * Find(const char* name) const;
  const ElfW(Sym) * FindGnu(const char* name) const;
  const ElfW(Sym) * FindOld(const char* name) const;
  bool IsDefault(uint32_t index, const char* name) const;
  void ReadDynamic();

  uintptr_t base_ = 0;
  const char* name_ = "";
  const ElfW(Phdr) * headers_ = nullptr;
  uint16_t header_count_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const uint16_t* versions_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* old_hash_ = nullptr;
};

// Calls visit(object) for what is loaded, in the order of the loader's list (the program first,
// what it is preloaded with, what it needs, what it opened since), until a call answers true:
// whether one did. `visit` loads and unloads nothing.
template <typename Visit>
bool AnyObject(Visit visit) {
  auto call = [](dl_phdr_info* info, size_t, void* data) {
    return (*static_cast<Visit*>(data))(Object(*info)) ? 1 : 0;
  };
  return dl_iterate_phdr(call, &visit) != 0;
}

// The object that an address belongs to: false if to none.
bool ObjectOf(const void* address, Object* object);

}  // namespace tessera::limiter
