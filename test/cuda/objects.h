// SPDX-License-Identifier: Apache-2.0
// Exported memory of cards. It stays on its card until no process holds it and no descriptor of it
// is open. A descriptor has a lock of its open file. The kernel drops the lock with the last
// duplicate, even one that is in flight in a socket. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tessera::fake_cuda {

inline constexpr unsigned kMostObjects = 1024;
inline constexpr unsigned kMostHolders = 1024;  // processes

// In the state that all processes of a node share (state.h). Only a process itself sets its bit in
// `holders`.
struct Object {
  std::atomic<uint32_t> card;  // plus 1; 0: free
  std::atomic<uint64_t> bytes;
  std::atomic<uint64_t> serial;                      // counts the objects made in this place
  std::atomic<uint32_t> maker;                       // the slot of the process that made it
  std::atomic<uint64_t> holders[kMostHolders / 64];  // one bit for each slot
};

// Names an object in a descriptor, and in a handle of CUDA's IPC.
struct ObjectName {
  uint32_t place = kMostObjects;  // kMostObjects: none
  uint64_t serial = 0;
  bool is_none() const { return place >= kMostObjects; }
};

// All objects, for one process. State owns it.
class Objects {
 public:
  Objects(std::string directory, Object* objects)
      : directory_(std::move(directory)), all_(objects) {}

  // Sets this process's slot.
  void Own(unsigned slot) { slot_ = slot; }
  // Makes an object that this process holds once. None: there are too many objects.
  ObjectName Make(unsigned card, uint64_t bytes);
  // Holds it once more. False: the object is gone.
  bool Hold(const ObjectName& name);
  void LetGo(const ObjectName& name);
  uint64_t BytesOf(const ObjectName& name) const { return all_[name.place].bytes; }
  unsigned CardOf(const ObjectName& name) const { return all_[name.place].card - 1; }
  // True if the process of the slot holds it.
  bool IsHeldBy(const ObjectName& name, unsigned slot) const;
  // Makes a descriptor of it, and writes `content` into its file. -1 on failure.
  int Open(const ObjectName& name, const void* content, size_t size) const;

  // Bytes of the card in objects. Frees objects that no process holds and no descriptor refers to.
  uint64_t Sum(unsigned card);
  // Bytes of the card in objects that the process of the slot has made and still holds.
  uint64_t SumOf(unsigned card, unsigned slot) const;
  // Releases the objects of a process that has ended.
  void Drop(unsigned slot);

 private:
  std::string PathOf(unsigned place) const;
  bool IsOpen(unsigned place) const;
  bool IsHeld(const Object& object) const;
  bool IsThere(const ObjectName& name) const;

  const std::string directory_;
  Object* const all_;
  unsigned slot_ = 0;
  std::mutex mutex_;                   // guards times_
  uint32_t times_[kMostObjects] = {};  // how often this process holds each
};

}  // namespace tessera::fake_cuda
