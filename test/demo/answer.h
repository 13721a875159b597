// SPDX-License-Identifier: Apache-2.0
// How the functions of sim/demo/hardware_api.h answer. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tessera::demo {

using Lines = std::vector<std::string>;

// True: `answer` has the lines of `call`. False: it has what `call` threw. It stays until the
// thread's next call.
bool Answer(const std::function<Lines()>& call, const char** answer);

}  // namespace tessera::demo
