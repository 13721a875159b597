// SPDX-License-Identifier: Apache-2.0
// How other threads reach an object that lives on a loop's thread and may be gone when they do:
//
//   class Sweeper {
//     os::Mailbox<Sweeper> mailbox_{loop_, *this};  // the last member: destroyed first
//   };
//   worker.Run([done = mailbox_.Bind(&Sweeper::Done)] { done(Sweep()); });
//
// Made and destroyed on the loop's thread. What Bind returns may be copied, called and destroyed on
// any thread, as long as the loop lives.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "os/loop.h"

namespace tessera::os {

template <class T>
class Mailbox {
 public:
  Mailbox(Loop& loop, T& owner) : slot_(std::make_shared<Slot>(Slot{loop, &owner})) {}
  ~Mailbox() { slot_->owner = nullptr; }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // A callable that has `function(owner, arguments...)` run on the loop's thread, unless the owner
  // is gone by then. Arguments are copied or moved into the loop's line.
  template <class F>
  auto Bind(F function) const {
    return [slot = slot_, function](auto&&... arguments) {
      slot->loop.Post([slot, function, ... kept = std::forward<decltype(arguments)>(arguments)] {
        if (slot->owner != nullptr) std::invoke(function, *slot->owner, kept...);
      });
    };
  }

 private:
  struct Slot {
    Loop& loop;
    T* owner;  // the loop's thread only
  };
  const std::shared_ptr<Slot> slot_;
};

}  // namespace tessera::os
