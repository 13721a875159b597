// SPDX-License-Identifier: Apache-2.0
// For tests: a backend on a simulated node, what it reports and what it logs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/rdma/node_test.h"
#include "backend/rdma/rdma.h"
#include "backend/recorder_test.h"
#include "base/log.h"
#include "base/text.h"
#include "rdma/node.h"

namespace tessera::rdma {

inline constexpr char kIb[] = "0000:3b:00.0";
inline constexpr char kPf[] = "0000:af:00.0";
inline constexpr char kVf0[] = "0000:af:00.1";

class RdmaTest : public NodeTest {
 protected:
  explicit RdmaTest(RdmaConfig config = {}, SimNode node = Two(), Duration fresh = Duration(0))
      : node_(directory_, std::move(node)),
        backend_("example.com/nic", std::move(config), root_, loop_, Duration(20), fresh) {
    log::SetSink([this](std::string_view line) { log_.emplace_back(line); });
    EXPECT_TRUE(backend_.Start(events_));
  }
  ~RdmaTest() override {
    backend_.Stop();
    log::SetSink(nullptr);
  }

  std::vector<Device> Scan() {
    const auto devices = backend_.Scan();
    EXPECT_TRUE(devices) << devices.error().Text();
    return devices.value_or(std::vector<Device>());
  }
  std::string Ids() {
    std::vector<std::string> ids;
    for (const Device& device : Scan()) {
      ids.push_back(device.key.id + (device.defect ? "!" : ""));
    }
    return Join(ids, " ");
  }
  Device DeviceAt(const std::string& id) {
    const std::vector<Device> devices = Scan();
    const auto found =
        std::ranges::find_if(devices, [&](const Device& device) { return device.key.id == id; });
    EXPECT_NE(found, devices.end()) << id;
    return found == devices.end() ? Device() : *found;
  }
  // The paths on the host.
  std::string NodesOf(const std::string& id) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : DeviceAt(id).nodes) paths.push_back(node.host_path);
    return Join(paths, " ");
  }
  std::string Checked(const Device& device) { return Say(backend_.Check(device)); }
  // The lines of the log with this text, without their times.
  size_t Told(std::string_view text) const {
    return static_cast<size_t>(std::ranges::count_if(
        log_, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

  RdmaNode node_;
  os::Loop loop_;
  Recorder events_{loop_};
  RdmaBackend backend_;
  std::vector<std::string> log_;
};

}  // namespace tessera::rdma
