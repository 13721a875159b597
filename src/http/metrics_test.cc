// SPDX-License-Identifier: Apache-2.0
#include "http/metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>

#include "base/text.h"
#include "os/files.h"

namespace tessera::http {
namespace {

TEST(Metrics, NothingKnownIsNothingSaid) {
  EXPECT_EQ(Metrics().Expose(), "");
}

TEST(Metrics, WholeExposition) {
  Metrics metrics;
  metrics.Set(Metric::kWriter, {}, 1);
  metrics.Add(Metric::kAllocations, {"dummy.com/npu", "unhealthy-share"});
  metrics.Add(Metric::kAllocations, {"dummy.com/npu", "ok"}, 2);
  metrics.Add(Metric::kAllocations, {"dummy.com/npu", "ok"});
  metrics.Observe(Metric::kAllocateSeconds, {"dummy.com/npu"}, 0);
  metrics.Observe(Metric::kAllocateSeconds, {"dummy.com/npu"}, 0.25);
  metrics.Observe(Metric::kAllocateSeconds, {"dummy.com/npu"}, 3);

  EXPECT_EQ(
      metrics.Expose(),
      R"(# HELP tessera_allocations_total Allocate calls of kubelet. The code is ok or the reason of the refusal.
# TYPE tessera_allocations_total counter
tessera_allocations_total{resource="dummy.com/npu",code="ok"} 3
tessera_allocations_total{resource="dummy.com/npu",code="unhealthy-share"} 1
# HELP tessera_allocate_duration_seconds Time to answer Allocate.
# TYPE tessera_allocate_duration_seconds histogram
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.0001"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.00025"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.0005"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.001"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.0025"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.005"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.01"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.025"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.05"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.1"} 1
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.25"} 2
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="0.5"} 2
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="1"} 2
tessera_allocate_duration_seconds_bucket{resource="dummy.com/npu",le="+Inf"} 3
tessera_allocate_duration_seconds_sum{resource="dummy.com/npu"} 3.25
tessera_allocate_duration_seconds_count{resource="dummy.com/npu"} 3
# HELP tessera_state_writer 1 if this instance writes the state, 0 if another does.
# TYPE tessera_state_writer gauge
tessera_state_writer 1
)");
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.Set(Metric::kBuildInfo, {"a\"b\\c\nd", "e"}, 1);

  EXPECT_EQ(metrics.Expose(),
            "# HELP tessera_build_info Always 1; the labels say what runs.\n"
            "# TYPE tessera_build_info gauge\n"
            "tessera_build_info{version=\"a\\\"b\\\\c\\nd\",commit=\"e\"} 1\n");
}

TEST(Metrics, NumbersAreWrittenShortAndExact) {
  struct Case {
    double value;
    const char* text;
  };
  const Case cases[] = {{0, "0"},
                        {-3, "-3"},
                        {4194304, "4194304"},
                        {0.5, "0.5"},
                        {1e300, "1e+300"},
                        {std::numeric_limits<double>::infinity(), "+Inf"},
                        {-std::numeric_limits<double>::infinity(), "-Inf"},
                        {std::numeric_limits<double>::quiet_NaN(), "NaN"}};
  for (const Case& c : cases) {
    Metrics metrics;
    metrics.Set(Metric::kWriter, {}, c.value);
    EXPECT_TRUE(metrics.Expose().ends_with("\ntessera_state_writer " + std::string(c.text) + "\n"))
        << metrics.Expose();
  }
}

TEST(Metrics, ForgottenSeriesAreGone) {
  Metrics metrics;
  metrics.Set(Metric::kDevices, {"a.com/x", "healthy"}, 3);
  metrics.Set(Metric::kDevices, {"a.com/x", "unhealthy"}, 1);
  metrics.Set(Metric::kDevices, {"b.com/y", "healthy"}, 2);

  metrics.Forget(Metric::kDevices, "a.com/x");

  EXPECT_EQ(metrics.Expose(),
            "# HELP tessera_devices Devices by resource and health state. A cordoned device "
            "counts as cordoned alone.\n"
            "# TYPE tessera_devices gauge\n"
            "tessera_devices{resource=\"b.com/y\",state=\"healthy\"} 2\n");
}

TEST(MetricsTest, OfAResourceThatIsGoneCountersAloneStay) {
  Metrics metrics;
  metrics.Set(Metric::kShares, {"a.com/x", "healthy"}, 4);
  metrics.Set(Metric::kSharesHeld, {"a.com/x"}, 1);
  metrics.Set(Metric::kSharesHeld, {"b.com/y"}, 2);
  metrics.Add(Metric::kHealthTransitions, {"a.com/x", "healthy", "suspect", "check-failed"});

  metrics.ForgetGauges("a.com/x");

  const std::string after = metrics.Expose();
  EXPECT_EQ(after.find("{resource=\"a.com/x\",health"), std::string::npos) << after;
  EXPECT_EQ(after.find("held{resource=\"a.com/x\""), std::string::npos) << after;
  EXPECT_NE(after.find("held{resource=\"b.com/y\"} 2"), std::string::npos) << after;
  EXPECT_NE(after.find("transitions_total{resource=\"a.com/x\""), std::string::npos) << after;
}

TEST(MetricsTable, NamesFollowPrometheusConventions) {
  std::set<std::string_view> names;
  for (const MetricInfo& info : AllMetrics()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " stands twice";
    EXPECT_TRUE(info.name.starts_with("tessera_")) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), info.name.npos);
    EXPECT_EQ(info.type == "counter", info.name.ends_with("_total")) << info.name;
    EXPECT_EQ(info.type == "histogram", info.name.ends_with("_seconds")) << info.name;
    EXPECT_TRUE(info.help.ends_with('.')) << info.name;
  }
}

std::string MetricsPage() {
  std::string page = R"(# Metrics

For people who scrape or alert on Tessera: every metric of the agent and of `tessera-scheduler`, with type and labels.

| program | page |
|---|---|
| `tessera agent` | `GET /metrics` on [`http.address`](http.md) |
| `tessera-scheduler` | `GET /metrics` on its [status port](http.md#pages-of-the-scheduler), the leader with [HAMi's metrics](scheduler-settings.md#metrics-of-devices-and-quotas) too |
| `tessera monitor` | [metrics of the monitor](monitor-metrics.md) |

The format is Prometheus' text format. A family appears with its first series. Counters count from the start of the process.
Histograms have these buckets:

| unit | buckets |
|---|---|
| microseconds | 100, 250, 500 |
| milliseconds | 1, 2.5, 5, 10, 25, 50, 100, 250, 500 |
| seconds | 1 |

[Alerts](../how-to/operate.md#alerts) has expressions. This page is generated from the code (`metrics.def` in each folder),
and a test compares the two. `TESSERA_UPDATE_DOCS=1 http_test` writes it.

| metric | type | labels | meaning |
|---|---|---|---|
)";
  for (const MetricInfo& info : AllMetrics()) {
    std::vector<std::string> labels;
    if (!info.labels.empty()) labels = Split(info.labels, ',');
    for (std::string& label : labels) label = "`" + label + "`";
    page += fmt::format("| `{}` | {} | {} | {} |\n", info.name, info.type, Join(labels, ", "),
                        info.help);
  }
  return page;
}

TEST(MetricsTable, DocumentationListsEveryMetric) {
  std::string path = "docs/reference/metrics.md";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(os::WriteFileAtomically(path, MetricsPage(), 0644).has_value());
  }

  auto page = os::ReadFile(path);

  ASSERT_TRUE(page.has_value()) << page.error().Text();
  EXPECT_EQ(*page, MetricsPage()) << "run http_test with TESSERA_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tessera::http
