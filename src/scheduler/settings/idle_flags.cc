// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/flags.h"

namespace tessera::scheduler {
namespace {

constexpr std::string_view kVendor =
    "device-config.yaml says which vendors there are, and their names";
constexpr std::string_view kLog = "the log goes to standard error, a line an event";
constexpr std::string_view kCalls = "the program paces its calls to the API server by itself";
constexpr std::string_view kNone = "the program has no such feature";

constexpr IdleFlag kFlags[] = {
    {"enable-ascend", true, kVendor},
    {"enable-iluvatar", true, kVendor},
    {"dcu-name", false, kVendor},
    {"dcu-memory", false, kVendor},
    {"dcu-cores", false, kVendor},
    {"cambricon-mlu-name", false, kVendor},
    {"cambricon-mlu-memory", false, kVendor},
    {"cambricon-mlu-cores", false, kVendor},
    {"mthreads-name", false, kVendor},
    {"mthreads-memory", false, kVendor},
    {"mthreads-cores", false, kVendor},
    {"metax-name", false, kVendor},
    {"metax-vcount", false, kVendor},
    {"metax-vcore", false, kVendor},
    {"metax-vmemory", false, kVendor},
    {"sgpu-topology-aware", true, kVendor},
    {"enflame-gcu-resource-name", false, kVendor},
    {"enflame-drs-gcu-resource-name", false, kVendor},
    {"enflame-gcu-memory-resource-name", false, kVendor},
    {"enflame-gcu-core-resource-name", false, kVendor},
    {"enflame-vgcu-resource-name", false, kVendor},
    {"enflame-vgcu-legacy-resource-name", false, kVendor},
    {"enflame-vgcu-percentage-resource-name", false, kVendor},
    {"kunlun-name", false, kVendor},
    {"kunlun-vcount", false, kVendor},
    {"kunlun-vmemory", false, kVendor},

    {"debug", true, "'-v 5' makes the log say more"},
    {"logtostderr", true, kLog},
    {"alsologtostderr", true, kLog},
    {"log_dir", false, kLog},
    {"log_file", false, kLog},
    {"log_file_max_size", false, kLog},
    {"log_backtrace_at", false, kLog},
    {"stderrthreshold", false, kLog},
    {"legacy_stderr_threshold_behavior", true, kLog},
    {"vmodule", false, kLog},
    {"add_dir_header", true, kLog},
    {"skip_headers", true, kLog},
    {"skip_log_headers", true, kLog},
    {"one_output", true, kLog},

    {"kube-qps", false, kCalls},
    {"kube-burst", false, kCalls},
    {"kube-timeout", false, kCalls},
    {"profiling", true, kNone},
    {"legacy-metrics", true, "metrics have their names of HAMi 2.10 alone"},
    // New in HAMi 2.11.
    {"report-node-capacity", true, kNone},
    {"device-plugin-namespace", false, kNone},
    {"device-plugin-service-account", false, kNone},
};

}  // namespace

std::span<const IdleFlag> IdleFlags() {
  return kFlags;
}

}  // namespace tessera::scheduler
