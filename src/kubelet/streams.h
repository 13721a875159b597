// SPDX-License-Identifier: Apache-2.0
// The open ListAndWatch streams of one endpoint. Each gets the newest list at once, and every newer
// one. gRPC's types appear here: include it only in this folder's .cc files.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <set>

#include "base/mutex.h"
#include "kubelet/call_queue.h"
#include "kubelet/list.h"
#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

// Any thread. Every stream holds a reference, so it lives until the last stream has ended.
class Streams : public std::enable_shared_from_this<Streams> {
 public:
  // `list` may be null: streams then wait for Publish.
  Streams(ListBytes list, PluginServerEvents events);

  // Asks gRPC for the next ListAndWatch call; `tag` returns when it has come.
  using Ask = std::function<void(grpc::ServerContext& context, grpc::ByteBuffer& request,
                                 grpc::ServerAsyncWriter<grpc::ByteBuffer>& writer, void* tag)>;
  // Opens a stream for every call that comes.
  void Serve(CallQueue& queue, const Ask& ask);
  void Publish(ListBytes list);
  // Ends every stream with OK, at once or after its current write. New streams end at once.
  void End();
  int count() const;

 private:
  class Stream;
  void Open(const std::shared_ptr<Stream>& stream);

  const PluginServerEvents events_;
  mutable Mutex mutex_;  // guards all below and the streams' own fields
  grpc::Slice list_
      TESSERA_GUARDED_BY(mutex_);  // reference-counted: streams send it without a copy
  uint64_t generation_ TESSERA_GUARDED_BY(mutex_) = 0;  // of the list; 0: none yet
  bool ending_ TESSERA_GUARDED_BY(mutex_) = false;
  // Stream::Ended removes a stream. The caller of Proceed holds a reference during the call.
  std::set<std::shared_ptr<Stream>> open_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::kubelet
