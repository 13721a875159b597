// SPDX-License-Identifier: Apache-2.0
#include "cli/command/man_page.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/main.h"
#include "version.h"

namespace tessera::cli {
namespace {

int ShowManPage(const Arguments&) {
  return Print(ManPage(Program(), TESSERA_VERSION));
}

}  // namespace

Command ManCommand() {
  return {.name = "man",
          .summary = "print the manual page",
          .description = "Prints the manual page, for man(1).",
          .examples = {{"tessera man | man -l -", "Read it."},
                       {"tessera man > /usr/local/share/man/man1/tessera.1", "Install it."}},
          .run = ShowManPage};
}

}  // namespace tessera::cli
