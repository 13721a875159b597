// SPDX-License-Identifier: Apache-2.0
// The live view: a picture as lines of a screen. From the top: the title and the clock, the
// sentence of the moment, kubelet and the agent, the resources with their devices as tiles, the
// latest events, a legend. Pure; any thread.
#pragma once

#include "sim/demo/frame.h"
#include "sim/demo/picture.h"

namespace tessera::demo {

// As many lines as the screen has, none wider than it.
Frame Render(const Picture& picture, const Screen& screen);

}  // namespace tessera::demo
