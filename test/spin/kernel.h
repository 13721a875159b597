// SPDX-License-Identifier: Apache-2.0
// The PTX of a kernel that runs for as long as its parameter says. Plain data.
#pragma once

namespace tessera {

// One entry, `spin`, with one parameter: its length in nanoseconds.
inline constexpr char kSpinModule[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .pred %early;
  .reg .b64 %now, %end, %ns;
  ld.param.u64 %ns, [ns];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %now, %ns;
again:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %early, %now, %end;
  @%early bra again;
  ret;
}
)";

}  // namespace tessera
