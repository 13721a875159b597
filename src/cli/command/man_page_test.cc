// SPDX-License-Identifier: Apache-2.0
#include "cli/command/man_page.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(ManPage, WholePage) {
  Command program = {.name = "kitchen",
                     .summary = "a kitchen",
                     .description = "A kitchen.\n\n.With two paragraphs.",
                     .examples = {{"kitchen cups", "See the cups."}},
                     .commands = {{.name = "cups",
                                   .summary = "show cups",
                                   .description = "Shows 'cups' \\ saucers.",
                                   .options = {{.name = "CUP", .help = "one cup"},
                                               {.name = "--shelf",
                                                .value = "PATH",
                                                .help = "where",
                                                .letter = 's',
                                                .fallback = "/shelf",
                                                .environment = "SHELF"}},
                                   .examples = {{"kitchen cups 7 | less", "See one cup."}}}}};

  EXPECT_EQ(ManPage(program, "1.2-3"), R"(.TH KITCHEN 1 "" "kitchen 1.2\-3" "User Commands"
.SH NAME
kitchen \- a kitchen
.SH SYNOPSIS
\fBkitchen\fR \fICOMMAND\fR [\fIOPTIONS\fR]
.SH DESCRIPTION
.PP
A kitchen.
.PP
\&.With two paragraphs.
.SH COMMANDS
.SS kitchen cups [OPTIONS] [CUP]
.PP
Shows \(aqcups\(aq \e saucers.
.TP
\fICUP\fR
one cup
.TP
\fB\-s\fR, \fB\-\-shelf\fR \fIPATH\fR
where [default: /shelf] [env: SHELF]
.PP
See one cup.
.PP
.nf
.RS
kitchen cups 7 | less
.RE
.fi
.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
when it is set and not empty, nothing is coloured
.TP
\fBSHELF\fR
where
.SH EXIT STATUS
.TP
\fB0\fR
done
.TP
\fB1\fR
failed (standard error says why)
.TP
\fB2\fR
wrong command line
.SH EXAMPLES
.PP
See the cups.
.PP
.nf
.RS
kitchen cups
.RE
.fi
)");
}

}  // namespace
}  // namespace tessera::cli
