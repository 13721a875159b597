// SPDX-License-Identifier: Apache-2.0
// HAMi's settings in our own words: virtual GPUs that are worth what their pods ask for, beside
// what is NVIDIA's plugin's. Pure.
#pragma once

#include "compat/hami/settings.h"
#include "compat/nvidia/settings.h"
#include "compat/nvidia/translate.h"
#include "config/schema/findings.h"

namespace tessera::config::hami {

// `plugin` is what NVIDIA's plugin would have been told, by the same findings. What is not served
// is an error.
nvidia::Translated Translate(const Settings& settings, nvidia::Settings plugin, Findings& findings);

}  // namespace tessera::config::hami
