// SPDX-License-Identifier: Apache-2.0
// Translates HAMi's settings, and those of NVIDIA's plugin with them. The result has virtual GPUs
// with the sizes that their pods ask for. Pure.
#pragma once

#include "compat/hami/settings.h"
#include "compat/nvidia/settings.h"
#include "compat/nvidia/translate.h"
#include "config/schema/findings.h"

namespace tessera::config::hami {

// `plugin`: the settings of NVIDIA's plugin, from the same findings. An unsupported setting is an
// error.
nvidia::Translated Translate(const Settings& settings, nvidia::Settings plugin, Findings& findings);

}  // namespace tessera::config::hami
