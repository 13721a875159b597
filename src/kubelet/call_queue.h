// SPDX-License-Identifier: Apache-2.0
// The thread on which a server's calls happen. gRPC's own callback threads wake up twice a second
// each, whatever happens, and do not listen for 100 ms of every 1.1 s in which nothing has
// happened; this one sleeps until there is something. gRPC's types appear here: include it only in
// this folder's .cc files.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace tessera::kubelet {

// What follows when something that gRPC was asked for has happened, or (not ok) will not any more.
using Step = std::function<void(bool ok)>;

class CallQueue {
 public:
  // Before the server is built, which it outlives (or ends before, by End). kIo when the process
  // may have no more threads.
  static Result<std::unique_ptr<CallQueue>> Make(grpc::ServerBuilder& builder);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  grpc::ServerCompletionQueue& operator*() const { return *queue_; }
  // A tag for gRPC: the step is taken once, on the queue's thread. Any thread.
  void* Then(Step step);
  // Of a tag that gRPC is not going to bring back. The queue's thread.
  void Forget(void* tag);
  // Waits until all steps are taken, and then for what gRPC itself has in the queue. Between the
  // server's Shutdown, which waits for neither, and its end: a step may still ask the server for
  // more, and gRPC's own entries use it. Nothing may be asked for afterwards. Not on the queue's
  // thread.
  void End();

 private:
  explicit CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : queue_(std::move(queue)) {}
  void Run();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::atomic<int> tags_{0};  // that gRPC has
  bool ended_ = false;
  std::thread thread_;
};

// The generated service's Request<Method>, of which gRPC hands out the next call.
template <class Service, class Request, class Response>
using AskFor = void (Service::*)(grpc::ServerContext*, Request*,
                                 grpc::ServerAsyncResponseWriter<Response>*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*);

// Ends a call, once, on any thread; the queue waits for it. One that is dropped ends it as
// cancelled.
template <class Response>
using Answer = std::function<void(const grpc::Status&, const Response&)>;

// One call after the other of a method with one request and one answer. `handle` is called on the
// queue's thread, and must not block: it answers then, or later.
template <class Service, class Request, class Response>
void ServeLater(
    std::type_identity_t<Service>& service, CallQueue& queue,
    AskFor<Service, Request, Response> ask,
    std::type_identity_t<std::function<void(const Request&, Answer<Response>)>> handle) {
  struct Call {
    grpc::ServerContext context;
    Request request;
    grpc::ServerAsyncResponseWriter<Response> answer{&context};
  };
  struct Unanswered {
    ~Unanswered() {
      if (sent != nullptr) call->answer.FinishWithError(grpc::Status::CANCELLED, sent);
    }
    std::shared_ptr<Call> call;
    void* sent;
  };
  auto call = std::make_shared<Call>();
  auto arrived = [&service, &queue, ask, handle = std::move(handle), call](bool ok) mutable {
    if (!ok) return;
    auto open = std::make_shared<Unanswered>(call, queue.Then([call](bool) {}));
    handle(call->request,
           [open = std::move(open)](const grpc::Status& status, const Response& response) {
             void* const sent = std::exchange(open->sent, nullptr);
             if (status.ok()) {
               open->call->answer.Finish(response, status, sent);
             } else {
               open->call->answer.FinishWithError(status, sent);
             }
           });
    ServeLater(service, queue, ask, std::move(handle));
  };
  (service.*ask)(&call->context, &call->request, &call->answer, &*queue, &*queue,
                 queue.Then(std::move(arrived)));
}

// As ServeLater, where each call is answered at once.
template <class Service, class Request, class Response>
void Serve(std::type_identity_t<Service>& service, CallQueue& queue,
           AskFor<Service, Request, Response> ask,
           std::type_identity_t<std::function<grpc::Status(const Request&, Response&)>> handle) {
  ServeLater(service, queue, ask,
             [handle = std::move(handle)](const Request& request, const Answer<Response>& answer) {
               Response response;
               const grpc::Status status = handle(request, response);
               answer(status, response);
             });
}

}  // namespace tessera::kubelet
