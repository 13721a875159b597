// SPDX-License-Identifier: Apache-2.0
// The feature file in which node feature discovery reads labels: `key=value` lines, in order. Any
// thread, one a file.
#pragma once

#include <string>

#include "backend/labeller.h"
#include "base/result.h"

namespace tessera {

std::string LabelLines(const Labels& labels);

// Replaces the file at once, for all to read, unless it has these labels; whether it had not. Its
// directory is made.
Result<bool> WriteLabelFile(const std::string& path, const Labels& labels);
// Removes the file as long as it has these labels: another instance may have written it since.
Status RemoveLabelFile(const std::string& path, const Labels& labels);

}  // namespace tessera
