// SPDX-License-Identifier: Apache-2.0
#include "kubelet/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include "base/log.h"

namespace tessera::kubelet {

void TakeGrpcLog() {
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

}  // namespace tessera::kubelet
