// SPDX-License-Identifier: Apache-2.0
// The file with the faults of a resource's dummy devices (faults.h). Any thread; one writer at a
// time.
#pragma once

#include <string>
#include <string_view>

#include "backend/dummy/faults.h"
#include "base/result.h"

namespace tessera::dummy {

// Its default path.
std::string FaultFile(const std::string& state_dir, std::string resource);
// Reads the file; no faults if there is no file.
Result<Faults> ReadFaultFile(const std::string& path);
// Applies a verb (ApplyVerb), and makes the directory if it is missing. After an error the file is
// unchanged.
Status ChangeFaultFile(const std::string& path, std::string_view verb, std::string_view id,
                       std::string_view detail);

}  // namespace tessera::dummy
