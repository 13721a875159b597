// SPDX-License-Identifier: Apache-2.0
// The demo's calls to the agent over its control socket. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/ledger.h"
#include "sim/demo/observation.h"

namespace tessera::demo {

Status CallCordon(const std::string& socket, const SetCordon& cordon);
Result<std::vector<Holding>> CallLedger(const std::string& socket);
Result<Judgements> CallInventory(const std::string& socket);

// Parses the answers. kInvalid: not such a document.
Result<std::vector<Holding>> ReadLedger(std::string_view text);
Result<Judgements> ReadInventory(std::string_view text);

}  // namespace tessera::demo
