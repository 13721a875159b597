// SPDX-License-Identifier: Apache-2.0
// The list of the kinds of device there are.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "config/config.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera::agent {

// The backend of a configured resource. The loop must outlive it.
std::shared_ptr<Backend> MakeBackend(const config::Resource& resource, const config::Config& config,
                                     os::Loop& loop);

}  // namespace tessera::agent
