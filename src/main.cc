// SPDX-License-Identifier: Apache-2.0
#include "cli/main.h"

int main(int argc, char** argv) {
  return tessera::cli::Main(argc, argv);
}
