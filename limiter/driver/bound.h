// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "limiter/elf/object.h"

namespace tessera::limiter {

// A vendor's library that the program itself loaded, and the addresses of its functions. `Library`
// describes it:
//   Table                     a structure of pointers to functions, and no other member
//   kCount                    the number of functions
//   NameOf(i)                 the name of the function at place i
//   FirstMark(), SecondMark() functions that only such a library has
//   AnswerAlways(there, functions)   functions for those it lacks (there), or for all without it
//
// Constant before first use. Any thread. The first threads that need the table fill it without a
// lock, which a fork could leave held. Threads that race write the same values.
template <typename Library>
class Bound {
 public:
  using Table = typename Library::Table;
  static_assert(sizeof(Table) == Library::kCount * sizeof(void*));

  const Table& Get() { return is_found_.load(std::memory_order_acquire) ? found_ : Look(); }

  // True if the address is in such a library. That one is then used, unless another is in use.
  bool Take(const void* address) {
    if (IndexAt(address) < Library::kCount) return true;
    Object object, former;
    if (!LibraryOf(address, &object)) return false;
    if (!LibraryOf(landmark_.load(std::memory_order_acquire), &former)) {
      landmark_.store(address, std::memory_order_release);
      is_found_.store(false, std::memory_order_release);
    }
    return true;
  }

  // True if any loaded library of this kind has the function.
  bool AnyHas(const char* name) const {
    return AnyObject([this, name](const Object& object) {
      return IsLibrary(object) && object.Function(name) != nullptr;
    });
  }

  // A library was unloaded, perhaps this one: look again.
  void LookAnew() {
    if (is_found_.load(std::memory_order_relaxed)) {
      is_found_.store(false, std::memory_order_release);
    }
  }

  // The function at that address; kCount: none.
  size_t IndexAt(const void* address) const {
    if (!is_found_.load(std::memory_order_acquire)) return Library::kCount;
    size_t i = 0;
    while (i < Library::kCount && Slot(&found_, i) != address) ++i;
    return i;
  }

 private:
  static void* Slot(const Table* table, size_t i) {
    return __atomic_load_n(&reinterpret_cast<void* const*>(table)[i], __ATOMIC_RELAXED);
  }
  static void Set(Table* table, size_t i, void* function) {
    __atomic_store_n(&reinterpret_cast<void**>(table)[i], function, __ATOMIC_RELAXED);
  }

  // The limiter itself has functions of these names.
  bool IsLibrary(const Object& object) const {
    return !object.Contains(this) && object.Function(Library::FirstMark()) != nullptr &&
           object.Function(Library::SecondMark()) != nullptr;
  }
  bool LibraryOf(const void* address, Object* object) const {
    return address != nullptr && ObjectOf(address, object) && IsLibrary(*object);
  }
  bool Find(Object* library) const {
    if (LibraryOf(landmark_.load(std::memory_order_acquire), library)) return true;
    return AnyObject([this, library](const Object& object) {
      if (!IsLibrary(object)) return false;
      *library = object;
      return true;
    });
  }

  const Table& Look() {
    Object library;
    const bool is_there = Find(&library);
    void* functions[Library::kCount];
    Library::AnswerAlways(is_there, functions);
    Table* result = is_there ? &found_ : &absent_;
    for (size_t i = 0; i < Library::kCount; ++i) {
      void* real = is_there ? library.Function(Library::NameOf(i)) : nullptr;
      Set(result, i, real != nullptr ? real : functions[i]);
    }
    if (is_there) {
      landmark_.store(library.Function(Library::FirstMark()), std::memory_order_release);
      is_found_.store(true, std::memory_order_release);
    }
    return *result;
  }

  Table found_{}, absent_{};
  std::atomic<bool> is_found_ = false;           // `found_` is the library's
  std::atomic<const void*> landmark_ = nullptr;  // an address in it; kept when it may be unloaded
};

// Stands in for a missing function, with that function's type.
template <auto answer, typename F>
struct Absent;
template <auto answer, typename Result, typename... Arguments>
struct Absent<answer, Result (*)(Arguments...)> {
  static Result Call(Arguments...) { return answer; }
};

}  // namespace tessera::limiter
