// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

int main(int argc, char** argv) {
  return tessera::cli::SchedulerMain(argc, argv);
}
