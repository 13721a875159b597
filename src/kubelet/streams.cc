// SPDX-License-Identifier: Apache-2.0
#include "kubelet/streams.h"

namespace tessera::kubelet {

// One stream. At most one write is in flight; gRPC calls are made outside the lock, because a
// reaction may run inside them.
class Streams::Stream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                        public std::enable_shared_from_this<Streams::Stream> {
 public:
  explicit Stream(std::shared_ptr<Streams> owner) : owner_(std::move(owner)) {}

  // Does what there is to do: sends a newer list or finishes.
  void Proceed() {
    std::unique_lock lock(owner_->mutex_);
    if (busy_ || finished_) return;
    if (cancelled_ || owner_->ending_) {
      finished_ = true;
      grpc::Status status = cancelled_ ? grpc::Status::CANCELLED : grpc::Status::OK;
      lock.unlock();
      Finish(status);
      return;
    }
    if (sent_ == owner_->generation_) return;
    busy_ = true;
    sent_ = owner_->generation_;
    buffer_ = grpc::ByteBuffer(&owner_->list_, 1);
    lock.unlock();
    StartWrite(&buffer_);
  }

  void OnWriteDone(bool ok) override {
    size_t bytes = buffer_.Length();
    {
      std::lock_guard lock(owner_->mutex_);
      busy_ = false;
      cancelled_ |= !ok;
    }
    if (ok) owner_->events_.list_sent(bytes);
    Proceed();
  }

  void OnCancel() override {
    {
      std::lock_guard lock(owner_->mutex_);
      cancelled_ = true;
    }
    Proceed();
  }

  void OnDone() override {
    auto self = shared_from_this();  // outlives its removal
    bool by_peer = false;
    {
      std::lock_guard lock(owner_->mutex_);
      owner_->open_.erase(self);
      by_peer = !owner_->ending_;
    }
    owner_->events_.stream_ended(by_peer);
  }

 private:
  const std::shared_ptr<Streams> owner_;
  grpc::ByteBuffer buffer_;  // touched only while no write is in flight
  uint64_t sent_ = 0;        // this and below: under owner_->mutex_
  bool busy_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

Streams::Streams(ListBytes list, PluginServerEvents events) : events_(std::move(events)) {
  if (list != nullptr) Publish(std::move(list));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* Streams::Open() {
  auto stream = std::make_shared<Stream>(shared_from_this());
  {
    std::lock_guard lock(mutex_);
    open_.insert(stream);
  }
  events_.stream_opened();
  stream->Proceed();
  return stream.get();
}

void Streams::Publish(ListBytes list) {
  std::set<std::shared_ptr<Stream>> streams;
  {
    std::lock_guard lock(mutex_);
    list_ = grpc::Slice(*list);
    ++generation_;
    streams = open_;
  }
  for (const auto& stream : streams) stream->Proceed();
}

void Streams::End() {
  std::set<std::shared_ptr<Stream>> streams;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    streams = open_;
  }
  for (const auto& stream : streams) stream->Proceed();
}

int Streams::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(open_.size());
}

}  // namespace tessera::kubelet
