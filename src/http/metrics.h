// SPDX-License-Identifier: Apache-2.0
// Metrics in Prometheus' text format. Each folder declares its families in its metrics.def (name,
// type, help, labels); a test checks docs/reference/metrics.md against them.
// Any thread. A mutex guards the map and is held only for one operation on it.
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

// The label value, escaped for the text format.
std::string EscapedLabel(std::string_view value);
// The value of a series as text: integers without exponent or point.
std::string NumberText(double value);

// The Content-Type of Expose.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class Metrics {
 public:
  Metrics();
  ~Metrics();
  // Label values, in the order of the declaration. `resource` is the first.
  using Labels = std::initializer_list<std::string_view>;
  void Add(Metric metric, Labels labels = {}, double by = 1);
  void Set(Metric metric, Labels labels, double value);
  void Observe(Metric metric, Labels labels, double seconds);  // histograms only
  // Removes the metric's series of a resource that no longer exists.
  void Forget(Metric metric, std::string_view resource);
  // Removes all gauges of the resource. Counters stay, because rates need them.
  void ForgetGauges(std::string_view resource);
  // The exposition: families in the order of declaration, series sorted by label values. Families
  // without series are omitted.
  std::string Expose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
