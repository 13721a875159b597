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
  // Not ended: what the last server or channel of the process leaves behind would be made again for
  // the next one. "Used", or nothing would point to the server and it would look like a leak.
  [[gnu::used]] static grpc_server* const kept = [] {
    TakeLog();
    // Debian builds Abseil's mutexes so that each of gRPC's takes part in a search for deadlocks,
    // under one lock for all threads: a twentieth of a server's time.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc_init();
    // Its engine ends with the last server or channel all the same, and without descriptors for
    // another one gRPC ends the process. A server that is never started keeps it.
    return grpc_server_create(nullptr, nullptr);
  }();
}

}  // namespace tessera::kubelet
