// SPDX-License-Identifier: Apache-2.0
// The monitor's metrics and their page.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "monitor/dcgm.h"
#include "monitor/exposition.h"
#include "os/files.h"

namespace tessera::monitor {
namespace {

std::string TableOf(Group group) {
  std::string table = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const FamilyInfo& info : AllFamilies()) {
    if (info.group != group) continue;
    std::vector<std::string> labels;
    if (!info.labels.empty()) labels = Split(info.labels, ',');
    for (std::string& label : labels) label = "`" + label + "`";
    table += fmt::format("| `{}` | {} | {} | {} |\n", info.name, info.type, Join(labels, ", "),
                         info.help);
  }
  return table;
}

std::string FamiliesPage() {
  std::string page = R"page(# Metrics of the monitor

For people who scrape or alert on what each container has and uses: every metric of `tessera monitor`, with type and labels.

| page | metrics | condition |
|---|---|---|
| `GET /metrics` on `:9394` | Tessera's and HAMi's names | always |
| the same | HAMi's names from before 2.10 | `--legacy-metrics`, in the chart `monitor.legacyMetrics` |
| `GET /dcgm/metrics` on `:9394` | names of DCGM's exporter | `--dcgm-names`, in the chart `monitor.dcgmNames` |

A container has its series from its grant on, with 0 used. The monitor keeps the last values of a device or a region that
does not answer, and reports their age. If two pods have one name, the newer one has the series. Scrape with
`honor_labels: true`: the labels `namespace`, `pod` and `container` are those of the container with the device.

This page is generated from the code (`src/monitor/families.def`). `TESSERA_UPDATE_DOCS=1 monitor_test` writes it.

## Tessera's names

Units are base units, and ratios are from 0 to 1. `device` is the UUID. Without the limiting library, a container has
only what its grant says. If it has a whole device, it also has what the device says; of a MIG device that is its memory.

With time slicing and MPS the monitor knows neither the limit nor the use of a container. `tessera_container_device_info`
says which containers are on which device, in whatever way they have it. This gives each the utilization of its device:

```
tessera_container_device_info * on (device) group_left () label_replace(hami_host_gpu_utilization_ratio, "device", "$1", "device_uuid", "(.+)")
```

)page";
  page += TableOf(Group::kOwn);
  page += R"(
## HAMi's names

Every series has `zone="vGPU"` too. Ratios are percent.

)";
  page += TableOf(Group::kHami);
  page += R"(
## HAMi's older names

With `--legacy-metrics`. Each has the value of a metric above.

)";
  page += TableOf(Group::kLegacy);
  page += R"(
## DCGM's names

With `--dcgm-names`. Labels are those of DCGM's exporter, with `DCGM_FI_DRIVER_VERSION`. The holder of a whole
device is on the device's series by `container`, `namespace`, `pod` and `pod_uid`. Containers that share a
device have series of their own for the first two metrics, with `vgpu` as their number. A sum over all series counts the device twice.

| case | differs from DCGM's exporter |
|---|---|
| time slicing, MPS | the series of each container have the whole device's value, as with the exporter's `KUBERNETES_VIRTUAL_GPUS` before 2026; a sum counts it once more for each |
| MIG | a MIG device has `GPU_I_PROFILE` and `GPU_I_ID`, and only `DCGM_FI_DEV_FB_USED` and `DCGM_FI_DEV_FB_FREE`; its GPU has its own series too |
| `DCGM_FI_DEV_XID_ERRORS`, `DCGM_EXP_XID_ERRORS_COUNT` | absent: the agent counts XIDs, see `tessera_nvidia_xids_total` in its [metrics](metrics.md) |
| `DCGM_FI_PROF_*`, NVLink, licenses | absent: NVML does not have them for every GPU |
| `hostname` | the name since 2026; a query for `Hostname` needs a relabelling of the scrape |

| metric | type | meaning |
|---|---|---|
)";
  for (const DcgmField& field : DcgmFields()) {
    page += fmt::format("| `{}` | {} | {} |\n", field.name, field.type, field.help);
  }
  return page;
}

TEST(FamiliesTest, NamesOfOursFollowPrometheusConventions) {
  std::set<std::string_view> names;
  for (const FamilyInfo& info : AllFamilies()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " stands twice";
    EXPECT_TRUE(info.help.ends_with('.')) << info.name;
    if (info.group != Group::kOwn) continue;
    EXPECT_TRUE(info.name.starts_with("tessera_")) << info.name;
    EXPECT_EQ(info.type == "counter", info.name.ends_with("_total")) << info.name;
  }
}

TEST(FamiliesTest, DocumentationListsEveryMetric) {
  const std::string path = "docs/reference/monitor-metrics.md";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(os::WriteFileAtomically(path, FamiliesPage(), 0644).has_value());
  }
  EXPECT_EQ(os::ReadFile(path).value_or(""), FamiliesPage())
      << "run monitor_test with TESSERA_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tessera::monitor
