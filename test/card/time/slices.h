// SPDX-License-Identifier: Apache-2.0
// How long the card's time slices are, and what events around a kernel say while another process
// has the card as well.
#pragma once

namespace tessera::card {

// Rows for each neighbour: none, one of short kernels, one of long ones. In a process of its own
// for each: what fails or hangs is a row.
void AskForSlices(double rounds_per_ns);

}  // namespace tessera::card
