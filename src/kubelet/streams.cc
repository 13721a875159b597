// SPDX-License-Identifier: Apache-2.0
#include "kubelet/streams.h"

#include <grpcpp/support/async_stream.h>

#include <utility>

namespace tessera::kubelet {
namespace {

// Shares the bytes without a copy: with many devices they exceed half a megabyte.
grpc::Slice Shared(ListBytes list) {
  auto* held = new ListBytes(std::move(list));
  return {const_cast<char*>((*held)->data()), (*held)->size(),
          [](void* bytes) { delete static_cast<ListBytes*>(bytes); }, held};
}

}  // namespace

// One stream, with at most one write in flight. Publish, End and gRPC's events race to call
// Proceed. The lock lets only one of them start the next operation; the gRPC call itself is made
// outside the lock.
class Streams::Stream : public std::enable_shared_from_this<Streams::Stream> {
 public:
  Stream(std::shared_ptr<Streams> owner, CallQueue& queue)
      : owner_(std::move(owner)), queue_(queue) {}

  // Called once. Calls `opened` when kubelet has called, unless the server ends before.
  void Await(const Ask& ask, std::function<void()> opened) {
    void* gone = queue_.Then([self = shared_from_this()](bool) { self->Gone(); });
    context_.AsyncNotifyWhenDone(gone);
    ask(context_, request_, writer_,
        queue_.Then([self = shared_from_this(), gone, opened = std::move(opened)](bool ok) {
          // gRPC reports the end of a stream only if the stream has begun.
          if (!ok) return self->queue_.Forget(gone);
          opened();
        }));
  }

  // Sends a newer list or finishes, if either is due.
  void Proceed() {
    MutexLock lock(owner_->mutex_);
    if (busy_ || finished_) return;
    if (cancelled_ || owner_->ending_) {
      finished_ = true;
      grpc::Status status = cancelled_ ? grpc::Status::CANCELLED : grpc::Status::OK;
      lock.unlock();
      writer_.Finish(status, queue_.Then([self = shared_from_this()](bool) { self->Ended(); }));
      return;
    }
    if (sent_ == owner_->generation_) return;
    busy_ = true;
    sent_ = owner_->generation_;
    buffer_ = grpc::ByteBuffer(&owner_->list_, 1);
    lock.unlock();
    writer_.Write(buffer_,
                  queue_.Then([self = shared_from_this()](bool ok) { self->Written(ok); }));
  }

 private:
  void Written(bool ok) {
    size_t bytes = buffer_.Length();
    {
      const MutexLock lock(owner_->mutex_);
      busy_ = false;
      cancelled_ |= !ok;
    }
    if (ok) owner_->events_.list_sent(bytes);
    Proceed();
  }

  // kubelet hung up, or has read our end of the stream.
  void Gone() {
    {
      const MutexLock lock(owner_->mutex_);
      cancelled_ = true;
    }
    Proceed();
  }

  void Ended() {
    bool by_peer = false;
    {
      const MutexLock lock(owner_->mutex_);
      owner_->open_.erase(shared_from_this());
      by_peer = !owner_->ending_;
    }
    owner_->events_.stream_ended(by_peer);
  }

  const std::shared_ptr<Streams> owner_;
  CallQueue& queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  grpc::ByteBuffer buffer_;  // used only while no write is in flight
  uint64_t sent_ = 0;        // this and the rest: under owner_->mutex_
  bool busy_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

Streams::Streams(ListBytes list, PluginServerEvents events) : events_(std::move(events)) {
  if (list != nullptr) Publish(std::move(list));
}

void Streams::Serve(CallQueue& queue, const Ask& ask) {
  auto stream = std::make_shared<Stream>(shared_from_this(), queue);
  stream->Await(ask, [self = shared_from_this(), &queue, ask, next = std::weak_ptr(stream)] {
    self->Open(next.lock());
    self->Serve(queue, ask);
  });
}

void Streams::Open(const std::shared_ptr<Stream>& stream) {
  {
    const MutexLock lock(mutex_);
    open_.insert(stream);
  }
  events_.stream_opened();
  stream->Proceed();
}

void Streams::Publish(ListBytes list) {
  std::set<std::shared_ptr<Stream>> streams;
  {
    const MutexLock lock(mutex_);
    list_ = Shared(std::move(list));
    ++generation_;
    streams = open_;
  }
  for (const auto& stream : streams) stream->Proceed();
}

void Streams::End() {
  std::set<std::shared_ptr<Stream>> streams;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    streams = open_;
  }
  for (const auto& stream : streams) stream->Proceed();
}

int Streams::count() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(open_.size());
}

}  // namespace tessera::kubelet
