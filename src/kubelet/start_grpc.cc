// SPDX-License-Identifier: Apache-2.0
#include "kubelet/start_grpc.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include "base/log.h"

namespace tessera::kubelet {
namespace {

void TakeLog() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    const log::Fields fields = {{"text", line->message}};
    switch (line->severity) {
      case GPR_LOG_SEVERITY_DEBUG:
        return log::Debug("gRPC", fields);
      case GPR_LOG_SEVERITY_INFO:
        return log::Info("gRPC", fields);
      case GPR_LOG_SEVERITY_ERROR:
        return log::Warn("gRPC", fields);
    }
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& text) {
        log::Warn("protobuf", {{"text", text}});
      });
}

}  // namespace

void StartGrpc() {
  // gRPC is never shut down: otherwise each first server or channel would start it again. "used"
  // keeps the pointer, so that leak checkers still find the server.
  [[gnu::used]] static grpc_server* const kept = [] {
    TakeLog();
    // Debian builds Abseil's mutexes with deadlock detection, under one lock for all threads. It
    // takes a twentieth of a server's time.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc_init();
    // gRPC's engine ends with the last server or channel, and gRPC aborts if there are no
    // descriptors for another engine. A server that is never started keeps the engine alive.
    return grpc_server_create(nullptr, nullptr);
  }();
}

}  // namespace tessera::kubelet
