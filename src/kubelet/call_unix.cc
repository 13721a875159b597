// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_unix.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "kubelet/channel.h"

namespace tessera::kubelet {
namespace {

constexpr int kMostBytes = 1 << 20;

Reason ReasonOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
      return Reason::kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Reason::kTimedOut;
    case grpc::StatusCode::UNIMPLEMENTED:
      return Reason::kNotFound;
    default:
      return Reason::kInvalid;
  }
}

Result<std::string> TextOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice all;
  if (bytes.Length() == 0) return std::string();
  if (!bytes.DumpToSingleSlice(&all).ok()) return Fail(Reason::kInvalid, "an unreadable answer");
  return std::string(reinterpret_cast<const char*>(all.begin()), all.size());
}

}  // namespace

Result<std::string> CallUnix(const std::string& socket_path, const std::string& method,
                             const std::string& request, Duration timeout) {
  grpc::GenericStub stub(FreshChannel(socket_path, kMostBytes));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer message(&slice, 1);
  grpc::ByteBuffer answer;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, message, &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);  // ends by the deadline at the latest
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (!status.ok()) {
    return Fail(ReasonOf(status.error_code()), "calling {} at {}: {}", method, socket_path,
                status.error_message());
  }
  return TextOf(answer);
}

}  // namespace tessera::kubelet
