// SPDX-License-Identifier: Apache-2.0
// The file that says what is wrong with the dummy devices of a resource (faults.h). Any thread; one
// writer at a time.
#pragma once

#include <string>
#include <string_view>

#include "backend/dummy/faults.h"
#include "base/result.h"

namespace tessera::dummy {

// Where it is unless the configuration says otherwise.
std::string FaultFile(const std::string& state_dir, std::string resource);
// No faults where there is no file.
Result<Faults> ReadFaultFile(const std::string& path);
// Applies a verb (ApplyVerb), and makes the directory where that is missing. An error changes
// nothing.
Status ChangeFaultFile(const std::string& path, std::string_view verb, std::string_view id,
                       std::string_view detail);

}  // namespace tessera::dummy
