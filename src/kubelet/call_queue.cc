// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_queue.h"

#include <system_error>
#include <utility>

#include "kubelet/start_grpc.h"

namespace tessera::kubelet {

Result<std::unique_ptr<CallQueue>> CallQueue::Make(grpc::ServerBuilder& builder) {
  StartGrpc();
  std::unique_ptr<CallQueue> made(new CallQueue(builder.AddCompletionQueue()));
  try {
    made->thread_ = std::thread([queue = made.get()] { queue->Run(); });
  } catch (const std::system_error& error) {
    return Fail(Reason::kIo, "cannot start a thread for kubelet's calls: {}", error.what());
  }
  return made;
}

CallQueue::~CallQueue() {
  End();
}

void CallQueue::Run() {
  void* tag = nullptr;
  for (bool ok = false; queue_->Next(&tag, &ok);) {
    (*static_cast<Step*>(tag))(ok);
    Forget(tag);
  }
}

void CallQueue::End() {
  if (std::exchange(ended_, true)) return;
  for (int tags = tags_; tags != 0; tags = tags_) tags_.wait(tags);
  queue_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Run();  // the queue is empty, but gRPC requires that it is drained
  }
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
