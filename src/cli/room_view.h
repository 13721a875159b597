// SPDX-License-Identifier: Apache-2.0
// Who has what of each GPU: its memory and compute time, how much of them was granted and is free,
// and each holder's part. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// By what GET /inventory answered. Devices whose memory nobody knows are left out; empty where none
// is left.
std::string RoomText(const json::Object& inventory, const View& view);

// "2048 MiB", "1.5 MiB".
std::string MibText(uint64_t bytes);
// Percent of a GPU's time that a container is held to; "all" where it is held to nothing.
std::string PercentText(int64_t percent);

}  // namespace tessera::cli
