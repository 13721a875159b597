// SPDX-License-Identifier: Apache-2.0
// Counts the waits of the libraries in this program: blocking file locks, futex waits, sleeps and
// yields. It replaces the functions of libc for them, and counts calls, not time. So the count does
// not depend on the machine's load. Any thread.
#pragma once

namespace tessera::limiter {

long Waits();

}  // namespace tessera::limiter
