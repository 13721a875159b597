// SPDX-License-Identifier: Apache-2.0
// Lets other threads call an object on a loop's thread that may be gone by then:
//
//   class Sweeper {
//     os::Mailbox<Sweeper> mailbox_{loop_, *this};  // the last member: destroyed first
//   };
//   worker.Run([done = mailbox_.Bind(&Sweeper::Done)] { done(Sweep()); });
//
// Create and destroy it on the loop's thread. The result of Bind may be copied, called and
// destroyed on any thread while the loop lives.
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

  // A callable that runs `function(owner, arguments...)` on the loop's thread, unless the owner is
  // gone by then. The arguments are copied or moved into the loop's queue.
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
    T* owner;  // only used on the loop's thread
  };
  const std::shared_ptr<Slot> slot_;
};

}  // namespace tessera::os
