// SPDX-License-Identifier: Apache-2.0
// Metrics in Prometheus' text format. Families are declared once, in the metrics.def of the folder
// that they are of (name, type, help, labels); docs/reference/metrics.md is checked against these.
// Any thread; a mutex inside, held only for the map's operation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera::http {

enum class Metric : uint8_t {
#define METRIC(name, text, type, help, labels) name,
#include "all_metrics.def"
#undef METRIC
};

struct MetricInfo {
  std::string_view name;  // "tessera_allocations_total"
  std::string_view type;  // "counter", "gauge", "histogram"
  std::string_view help;
  std::string_view labels;  // "resource,code"; empty: none
};
std::span<const MetricInfo> AllMetrics();

// A label's value as it stands between the quotes of the text.
std::string EscapedLabel(std::string_view value);

// The Content-Type of Expose's text.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class Metrics {
 public:
  Metrics();
  ~Metrics();
  // The values of the labels, in the order the table names them; `resource` is the first.
  using Labels = std::initializer_list<std::string_view>;
  void Add(Metric metric, Labels labels = {}, double by = 1);
  void Set(Metric metric, Labels labels, double value);
  void Observe(Metric metric, Labels labels, double seconds);  // histograms
  // Forgets the metric's series of this resource: what no longer exists is no longer shown.
  void Forget(Metric metric, std::string_view resource);
  // Likewise every gauge's. Counters stay, as rates need them.
  void ForgetGauges(std::string_view resource);
  // The text exposition: families in the table's order, series in the order of their label values.
  // A family that has no series yet is left out.
  std::string Expose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
