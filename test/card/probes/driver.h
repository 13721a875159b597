// SPDX-License-Identifier: Apache-2.0
// The driver's functions in a probe, found by name as programs find them that are not linked with
// it: with the limiter's library loaded before, these are its hooks. One thread.
#pragma once

#include <set>
#include <string>

#include "limiter/driver/cuda.h"

namespace tessera::card {

// This driver's library does not export it.
struct Missing {
  std::string name;
};

// Throws Missing; what was found is among Called() from then on.
void* FindInDriver(const char* name);
std::set<std::string>& Called();

template <typename Function>
Function* Driver(const char* name) {
  return reinterpret_cast<Function*>(FindInDriver(name));
}

// A function that limiter/driver/cuda.h declares, and any other by its parameters.
#define CU(name) tessera::card::Driver<decltype(::name)>(#name)
#define CU_AS(name, ...) tessera::card::Driver<CUresult(__VA_ARGS__)>(#name)

// Of several calls the first result that is none of success.
struct FirstFailure {
  CUresult result = CUDA_SUCCESS;
  FirstFailure& operator<<(CUresult next) {
    if (result == CUDA_SUCCESS) result = next;
    return *this;
  }
};

}  // namespace tessera::card
