// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_queue.h"

#include <utility>

namespace tessera::kubelet {

CallQueue::CallQueue(grpc::ServerBuilder& builder)
    : queue_(builder.AddCompletionQueue()), thread_([this] {
        void* tag = nullptr;
        for (bool ok = false; queue_->Next(&tag, &ok);) {
          (*static_cast<Step*>(tag))(ok);
          Forget(tag);
        }
      }) {}

CallQueue::~CallQueue() {
  queue_->Shutdown();
  thread_.join();
}

void CallQueue::Drain() {
  for (int tags = tags_; tags != 0; tags = tags_) tags_.wait(tags);
}

void* CallQueue::Then(Step step) {
  ++tags_;
  return new Step(std::move(step));
}

void CallQueue::Forget(void* tag) {
  delete static_cast<Step*>(tag);
  if (--tags_ == 0) tags_.notify_one();
}

}  // namespace tessera::kubelet
