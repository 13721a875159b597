// SPDX-License-Identifier: Apache-2.0
// Watches which GPUs there are and how they are divided. The driver reports neither a new MIG
// instance nor a plugged GPU. So the watch looks every kInterval, which takes three calls a GPU and
// two a MIG device. One watch a session is shared by the backends of all resources. News from one
// of them, or from the watch, goes to all others.
//
// One thread waits. Another reads one GPU after the other. If it hangs at a GPU, it stays there,
// and later threads skip that GPU. The threads own all that they use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/nvml.h"
#include "base/clock.h"

namespace tessera::nvidia {

// The GPU at one index, and its MIG devices.
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
  // Does not wait.
  ~GeometryWatch();
  GeometryWatch(const GeometryWatch&) = delete;
  GeometryWatch& operator=(const GeometryWatch&) = delete;

  // The existing watch of this session, or a new one.
  static std::shared_ptr<GeometryWatch> Of(const std::shared_ptr<nvml::Session>& session);

  // `owner` identifies the listener. The first sight of a GPU is no news.
  void Subscribe(const void* owner, Listener listener);
  // After its return the listener does not run any more. Not from within a listener.
  void Unsubscribe(const void* owner);

  // The owner reports what it has just seen; a difference is news to all others.
  void ReportCount(const void* owner, unsigned count);
  void ReportGeometry(const void* owner, unsigned index, Geometry geometry);

 private:
  struct State;  // shared with the threads
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::nvidia
