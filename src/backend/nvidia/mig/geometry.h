// SPDX-License-Identifier: Apache-2.0
// Which GPUs there are and how they are divided, while it changes: the driver tells nobody when a
// MIG instance is made or destroyed or a GPU is plugged, so the watch looks every kInterval, which
// takes three calls a GPU and two a MIG device. One watch a session, shared by the backends of all
// resources: whatever one of them or the watch sees, all others hear of.
//
// One thread waits; another looks at one GPU after the other, and is left behind at one that hangs,
// which further ones pass over. They own all they use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/nvml.h"
#include "base/clock.h"

namespace tessera::nvidia {

// What is where a GPU is expected.
struct Geometry {
  std::string uuid{};
  bool mig_enabled = false;
  std::vector<std::string> mig_uuids{};  // in NVML's order
  bool operator==(const Geometry&) const = default;
};

// Any thread.
class GeometryWatch {
 public:
  static constexpr Duration kInterval{5'000};

  // Runs on any thread, and must not block.
  using Listener = std::function<void()>;

  explicit GeometryWatch(std::shared_ptr<nvml::Session> session, Duration interval = kInterval);
  // Waits for nothing.
  ~GeometryWatch();
  GeometryWatch(const GeometryWatch&) = delete;
  GeometryWatch& operator=(const GeometryWatch&) = delete;

  // The watch of this session that others have, or a new one.
  static std::shared_ptr<GeometryWatch> Of(const std::shared_ptr<nvml::Session>& session);

  // `owner` tells listeners apart. Nothing is told of before it was first seen.
  void Subscribe(const void* owner, Listener listener);
  // The listener does not run any more once this has returned. Not from within a listener.
  void Unsubscribe(const void* owner);

  // What the owner has just seen: news to the others.
  void ReportCount(const void* owner, unsigned count);
  void ReportGeometry(const void* owner, unsigned index, Geometry geometry);

 private:
  struct State;  // shared with the threads
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::nvidia
