// SPDX-License-Identifier: Apache-2.0
// Renders a picture as the lines of a screen. From the top: title and clock, the current sentence,
// kubelet and the agent, the resources' devices as tiles, the latest events, a legend. Pure; any
// thread.
#pragma once

#include "sim/demo/frame.h"
#include "sim/demo/picture.h"

namespace tessera::demo {

// As many lines as the screen has, none wider than it.
Frame Render(const Picture& picture, const Screen& screen);

}  // namespace tessera::demo
