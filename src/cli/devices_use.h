// SPDX-License-Identifier: Apache-2.0
// What holders use of their devices, added to the agent's inventory. Reads the regions of this
// node's containers, so it needs the host's files. One thread; blocks for the measurement.
#pragma once

#include <functional>

#include "base/clock.h"
#include "json/json.h"
#include "monitor/granted.h"
#include "os/files.h"

namespace tessera::cli {

// Adds "usedBytes" to each holder whose region can be read, and "coresGot", in percent, if
// `measured` is not 0. `wait` lets that time pass.
void AddUse(const monitor::Granted& granted, const os::Root& root, Duration measured,
            const std::function<void(Duration)>& wait, json::Value& inventory);

}  // namespace tessera::cli
