// SPDX-License-Identifier: Apache-2.0
// A libtessera-tls.so of another build. Its table is empty: the loader must refuse it by version
// and commit, and call no function of the table.
#include "http/tls_table.h"

extern "C" const tessera::http::TlsTable* tessera_tls() {
  static constexpr tessera::http::TlsTable kTable = {.version = "0.0.9",
                                                     .commit = "0123456789ab",
                                                     .make = nullptr,
                                                     .free = nullptr,
                                                     .new_buffers = nullptr,
                                                     .trouble = nullptr,
                                                     .accept = nullptr,
                                                     .end = nullptr,
                                                     .receive = nullptr,
                                                     .look = nullptr,
                                                     .send = nullptr,
                                                     .end_sending = nullptr,
                                                     .holds_more = nullptr,
                                                     .is_open = nullptr,
                                                     .issue = nullptr,
                                                     .look_at = nullptr};
  return &kTable;
}
