// SPDX-License-Identifier: Apache-2.0
// The feature file from which node feature discovery reads labels: sorted `key=value` lines. Any
// thread, but only one per file.
#pragma once

#include <string>

#include "backend/labeller.h"
#include "base/result.h"

namespace tessera {

std::string LabelLines(const Labels& labels);

// Replaces the file atomically, readable for all, unless it has these labels. True if it was
// replaced. Makes the directory.
Result<bool> WriteLabelFile(const std::string& path, const Labels& labels);
// Removes the file only if it has these labels: another instance may have written it since.
Status RemoveLabelFile(const std::string& path, const Labels& labels);

}  // namespace tessera
