// SPDX-License-Identifier: Apache-2.0
// HAMi's device-config.yaml, of which the part for NVIDIA's GPUs is read: other vendors' parts, and
// what is for HAMi's webhook and scheduler alone, are nothing to the agent. Any thread.
#pragma once

#include "compat/hami/settings.h"
#include "config/schema/findings.h"
#include "config/schema/yaml.h"

namespace tessera::config::hami {

// Whether the file is that, by its key `nvidia`, which no file of NVIDIA's plugin has.
bool IsDeviceConfig(const Document& document);

// What cannot be used is in the findings, of the same document, and leaves its default.
void ReadDeviceConfig(const Document& document, Settings& settings, Findings& findings);

}  // namespace tessera::config::hami
