// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <link.h>

#include <cstdint>

// The programs and libraries that the dynamic loader has mapped into this process, read from
// memory. No file is opened and no library is loaded. The loader's own lock is held only while its
// list is walked.

namespace tessera::limiter {

// A loaded program or library. A view, valid while that stays loaded. Any thread.
class Object {
 public:
  Object() = default;
  explicit Object(const dl_phdr_info& info);

  // The path from which it was loaded; "": the program itself.
  const char* name() const { return name_; }
  bool IsProgram() const { return name_[0] == '\0'; }
  bool Contains(const void* address) const;
  // The function that it defines under this name, in its default version; null if it has none, or
  // data of that name.
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

// Calls visit(object) for the loaded objects in the order of the loader's list, until a call
// returns true. The list has the program first, then preloaded libraries, needed ones, and those
// opened since. Returns whether a call did. visit() must not load or unload.
template <typename Visit>
bool AnyObject(Visit visit) {
  auto call = [](dl_phdr_info* info, size_t, void* data) {
    return (*static_cast<Visit*>(data))(Object(*info)) ? 1 : 0;
  };
  return dl_iterate_phdr(call, &visit) != 0;
}

// The object of an address; false: none.
bool ObjectOf(const void* address, Object* object);

}  // namespace tessera::limiter
