// SPDX-License-Identifier: Apache-2.0
#include "http/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <map>

#include "base/mutex.h"
#include "base/text.h"

namespace tessera::http {
namespace {

constexpr MetricInfo kMetrics[] = {
#define METRIC(name, text, type, help, labels) {text, type, help, labels},
#include "all_metrics.def"
#undef METRIC
};

// Upper bounds in seconds, from a map lookup to kubelet's timeout.
constexpr std::array<double, 13> kBuckets = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                             0.025,  0.05,    0.1,    0.25,  0.5,    1};

struct Series {
  double value = 0;  // for histograms: the sum
  uint64_t count = 0;
  std::array<uint64_t, kBuckets.size()> buckets{};  // cumulative counts
};

using LabelValues = std::vector<std::string>;

// Transparent, so that an existing series is found without copying its labels.
struct LabelsLess {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

using Family = std::map<LabelValues, Series, LabelsLess>;

std::string Escape(std::string_view text, bool quotes) {
  if (text.find_first_of("\\\n\"") == std::string_view::npos) return std::string(text);
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

size_t LabelCount(const MetricInfo& info) {
  if (info.labels.empty()) return 0;
  return 1 + static_cast<size_t>(std::count(info.labels.begin(), info.labels.end(), ','));
}

// `{resource="a",code="ok"}`, with the finished pair `last` at the end.
std::string Labels(const MetricInfo& info, const LabelValues& values, std::string last = {}) {
  std::vector<std::string> pairs;
  auto names = Split(info.labels, ',');
  for (size_t i = 0; i < values.size(); ++i) {
    pairs.push_back(fmt::format("{}=\"{}\"", names[i], EscapedLabel(values[i])));
  }
  if (!last.empty()) pairs.push_back(std::move(last));
  return pairs.empty() ? "" : "{" + Join(pairs, ",") + "}";
}

void ExposeHistogram(std::string& out, const MetricInfo& info, const LabelValues& values,
                     const Series& series) {
  auto to = std::back_inserter(out);
  for (size_t i = 0; i < kBuckets.size(); ++i) {
    std::string bound = fmt::format("le=\"{}\"", kBuckets[i]);
    fmt::format_to(to, "{}_bucket{} {}\n", info.name, Labels(info, values, bound),
                   series.buckets[i]);
  }
  fmt::format_to(to, "{}_bucket{} {}\n", info.name, Labels(info, values, "le=\"+Inf\""),
                 series.count);
  std::string labels = Labels(info, values);
  fmt::format_to(to, "{}_sum{} {}\n", info.name, labels, NumberText(series.value));
  fmt::format_to(to, "{}_count{} {}\n", info.name, labels, series.count);
}

void ExposeFamily(std::string& out, const MetricInfo& info, const Family& family) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "# HELP {} {}\n", info.name, Escape(info.help, false));
  fmt::format_to(to, "# TYPE {} {}\n", info.name, info.type);
  for (const auto& [values, series] : family) {
    if (info.type == "histogram") {
      ExposeHistogram(out, info, values, series);
    } else {
      fmt::format_to(to, "{}{} {}\n", info.name, Labels(info, values), NumberText(series.value));
    }
  }
}

}  // namespace

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Prints integers without exponent or point, up to what a double holds exactly.
  if (std::abs(value) < 9e15 && value == std::floor(value)) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

std::string EscapedLabel(std::string_view value) {
  return Escape(value, true);
}

std::span<const MetricInfo> AllMetrics() {
  return kMetrics;
}

struct Metrics::Impl {
  Mutex mutex;
  std::array<Family, std::size(kMetrics)> families TESSERA_GUARDED_BY(mutex);
  Series& Find(Metric metric, Labels labels) TESSERA_REQUIRES(mutex) {
    const auto position = static_cast<size_t>(metric);
    assert(labels.size() == LabelCount(kMetrics[position]));
    Family& family = families[position];
    const auto known = family.find(labels);
    if (known != family.end()) return known->second;
    LabelValues values(labels.begin(), labels.end());
    values.resize(LabelCount(kMetrics[position]));
    return family[std::move(values)];
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Add(Metric metric, Labels labels, double by) {
  const MutexLock lock(impl_->mutex);
  impl_->Find(metric, labels).value += by;
}

void Metrics::Set(Metric metric, Labels labels, double value) {
  const MutexLock lock(impl_->mutex);
  impl_->Find(metric, labels).value = value;
}

void Metrics::Observe(Metric metric, Labels labels, double seconds) {
  const MutexLock lock(impl_->mutex);
  Series& series = impl_->Find(metric, labels);
  series.value += seconds;
  ++series.count;
  for (size_t i = 0; i < kBuckets.size(); ++i) {
    if (seconds <= kBuckets[i]) ++series.buckets[i];
  }
}

void Metrics::Forget(Metric metric, std::string_view resource) {
  const MutexLock lock(impl_->mutex);
  std::erase_if(impl_->families[static_cast<size_t>(metric)],
                [&](const auto& entry) { return entry.first.front() == resource; });
}

void Metrics::ForgetGauges(std::string_view resource) {
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    const bool of_resources =
        kMetrics[i].labels == "resource" || kMetrics[i].labels.starts_with("resource,");
    if (of_resources && kMetrics[i].type == "gauge") Forget(static_cast<Metric>(i), resource);
  }
}

std::string Metrics::Expose() const {
  std::string out;
  const MutexLock lock(impl_->mutex);
  for (size_t i = 0; i < impl_->families.size(); ++i) {
    if (!impl_->families[i].empty()) ExposeFamily(out, kMetrics[i], impl_->families[i]);
  }
  return out;
}

}  // namespace tessera::http
