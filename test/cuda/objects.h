// SPDX-License-Identifier: Apache-2.0
// Memory of a card that was exported: it stays there until no process has it any more, and no
// descriptor of it is open anywhere. A descriptor holds a lock that the kernel takes away with the
// last one of its kind, be it on its way in a socket. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tessera::fake_cuda {

inline constexpr unsigned kMostObjects = 1024;
inline constexpr unsigned kMostHolders = 1024;  // processes

// In what all processes of a node know. A bit of holders is its process's alone to set.
struct Object {
  std::atomic<uint32_t> card;  // and 1; 0: free
  std::atomic<uint64_t> bytes;
  std::atomic<uint64_t> serial;  // of those that were in this place
  std::atomic<uint32_t> maker;   // its slot
  std::atomic<uint64_t> holders[kMostHolders / 64];
};

// What names one: in a descriptor, and in a handle of CUDA's IPC.
struct ObjectName {
  uint32_t place = kMostObjects;  // that: none
  uint64_t serial = 0;
  bool is_none() const { return place >= kMostObjects; }
};

class Objects {
 public:
  Objects(std::string directory, Object* objects)
      : directory_(std::move(directory)), all_(objects) {}

  // Of the process in this slot.
  void Own(unsigned slot) { slot_ = slot; }
  // One that this process has once; none: there are too many.
  ObjectName Make(unsigned card, uint64_t bytes);
  // Once more. False: it is gone.
  bool Hold(const ObjectName& name);
  void LetGo(const ObjectName& name);
  uint64_t BytesOf(const ObjectName& name) const { return all_[name.place].bytes; }
  unsigned CardOf(const ObjectName& name) const { return all_[name.place].card - 1; }
  // Whether the process of a slot has it.
  bool IsHeldBy(const ObjectName& name, unsigned slot) const;
  // A descriptor of it, in which what is given is written first; -1: it cannot be made.
  int Open(const ObjectName& name, const void* content, size_t size) const;

  // Bytes of a card that somebody has; of those that the process of a slot made and has still.
  uint64_t Sum(unsigned card);
  uint64_t SumOf(unsigned card, unsigned slot) const;
  // A process has ended.
  void Drop(unsigned slot);

 private:
  std::string PathOf(unsigned place) const;
  bool IsOpen(unsigned place) const;
  bool IsHeld(const Object& object) const;
  bool IsThere(const ObjectName& name) const;

  const std::string directory_;
  Object* const all_;
  unsigned slot_ = 0;
  std::mutex mutex_;                   // guards what follows
  uint32_t times_[kMostObjects] = {};  // that this process has each
};

}  // namespace tessera::fake_cuda
