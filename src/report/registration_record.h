// SPDX-License-Identifier: Apache-2.0
// Whether agents of a state directory have put HAMi's annotations on the node and not taken them
// away again: those of another plugin are left alone. For the writer of the state. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera {

bool IsRegistrationRecorded(const std::string& state_dir);
Status RecordRegistration(const std::string& state_dir);
Status ForgetRegistration(const std::string& state_dir);

}  // namespace tessera
