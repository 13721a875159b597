// SPDX-License-Identifier: Apache-2.0
// What the demo asks of the agent over its control socket, and the one thing it does behind its
// back: faults belong to the devices, so they happen whether an agent runs or not. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/ledger.h"
#include "sim/demo/observation.h"

namespace tessera::demo {

Status CallFault(const std::string& socket, const Fault& fault);
Status CallCordon(const std::string& socket, const SetCordon& cordon);
Result<std::vector<Holding>> CallLedger(const std::string& socket);
Result<Judgements> CallInventory(const std::string& socket);

// The documents those answer with. kInvalid when they are not such.
Result<std::vector<Holding>> ReadLedger(std::string_view text);
Result<Judgements> ReadInventory(std::string_view text);

// Changes the dummy devices' fault file below the agent's state directory.
Status WriteFault(const std::string& state_dir, const Fault& fault);

}  // namespace tessera::demo
