// SPDX-License-Identifier: Apache-2.0
// The thread of a server's calls. Each of gRPC's own callback threads wakes up twice a second, and
// an idle one does not listen for 100 ms of every 1.1 s. This thread sleeps until there is an
// event. gRPC's types appear here: include it only in this folder's .cc files.
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

// The continuation of a gRPC operation. `ok` is false if the operation was given up.
using Step = std::function<void(bool ok)>;

class CallQueue {
 public:
  // Called before the server is built. The queue outlives the server, or End ends it earlier. kIo
  // if the process cannot start a thread.
  static Result<std::unique_ptr<CallQueue>> Make(grpc::ServerBuilder& builder);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  grpc::ServerCompletionQueue& operator*() const { return *queue_; }
  // Makes a tag for gRPC. The step runs once, on the queue's thread. Any thread.
  void* Then(Step step);
  // Drops a tag that gRPC will never return. The queue's thread.
  void Forget(void* tag);
  // Waits until all steps have run, and then for gRPC's own entries in the queue. Called after the
  // server's Shutdown, which waits for neither, and before the server is destroyed: steps and
  // gRPC's entries still use the server. No tag may be made afterwards. Not on the queue's thread.
  void End();

 private:
  explicit CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : queue_(std::move(queue)) {}
  void Run();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::atomic<int> tags_{0};  // tags that gRPC has
  bool ended_ = false;
  std::thread thread_;
};

// The generated service's Request<Method>, which asks gRPC for the next call.
template <class Service, class Request, class Response>
using AskFor = void (Service::*)(grpc::ServerContext*, Request*,
                                 grpc::ServerAsyncResponseWriter<Response>*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*);

// Ends a call once, on any thread. The queue's End waits for it. If it is destroyed uncalled, the
// call ends as cancelled.
template <class Response>
using Answer = std::function<void(const grpc::Status&, const Response&)>;

// Serves a unary method. `handle` runs on the queue's thread and must not block. It answers within
// the call or later. The next call is served in either case.
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

// As ServeLater, but `handle` answers at once.
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
