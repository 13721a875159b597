// SPDX-License-Identifier: Apache-2.0
// Reads HAMi's device-config.yaml: its part for NVIDIA's GPUs. Other vendors' parts, and settings
// of HAMi's webhook and scheduler, are ignored. Any thread.
#pragma once

#include "compat/hami/settings.h"
#include "config/schema/findings.h"
#include "config/schema/yaml.h"

namespace tessera::config::hami {

// Whether the file has the key `nvidia`, which no file of NVIDIA's plugin has.
bool IsDeviceConfig(const Document& document);

// A value that cannot be used is reported in findings, of the same document, and keeps its default.
void ReadDeviceConfig(const Document& document, Settings& settings, Findings& findings);

}  // namespace tessera::config::hami
