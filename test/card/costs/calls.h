// SPDX-License-Identifier: Apache-2.0
// What calls of the driver take in this process, in microseconds.
#pragma once

#include <functional>
#include <string_view>

namespace tessera::card {

// Tells each sample. What fails is a row of trouble, and ends the process.
void MeasureCalls(const std::function<void(std::string_view name, double us)>& tell);

}  // namespace tessera::card
