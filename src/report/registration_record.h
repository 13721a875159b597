// SPDX-License-Identifier: Apache-2.0
// A record, in the state directory, that agents have set HAMi's annotations on the node and not
// removed them. Without it the annotations are another plugin's, and stay. For the writer of the
// state. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera {

bool IsRegistrationRecorded(const std::string& state_dir);
Status RecordRegistration(const std::string& state_dir);
Status ForgetRegistration(const std::string& state_dir);

}  // namespace tessera
