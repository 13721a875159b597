// SPDX-License-Identifier: Apache-2.0
// How often libraries in this program waited for another process or thread, by the functions of
// libc that a wait goes through: a lock of a file that is waited for, a futex, sleep, and a yield
// of the processor. It counts what they call, however long that takes and whatever else the machine
// does. Any thread.
#pragma once

namespace tessera::limiter {

long Waits();

}  // namespace tessera::limiter
