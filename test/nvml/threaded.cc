// SPDX-License-Identifier: Apache-2.0
// Debian compiles libyaml-cpp.a for programs: it wants this variable of glibc's in the same file.
// That the process is said to have threads, whether it has or not, costs nothing here but atomic
// counters.
extern "C" {
char __libc_single_threaded;  // NOLINT(bugprone-reserved-identifier)
}
