// SPDX-License-Identifier: Apache-2.0
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): WSL's name
int DXCoreCreateAdapterFactory() {
  return -1;  // E_FAIL: there is nothing to make
}
}
