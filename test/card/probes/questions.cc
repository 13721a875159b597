// SPDX-License-Identifier: Apache-2.0
// Asks the open questions, each in a process of its own.
//
//   questions              asks all, and writes rows
//   questions client sms   prints how many multiprocessors a client of MPS sees
//   questions client take  prints how much memory it gets
#include <cstdio>
#include <string>

#include "card/apart.h"
#include "card/probes/driver.h"
#include "card/probes/questions.h"
#include "card/row.h"

namespace {

using namespace tessera::card;  // NOLINT(google-build-using-namespace)

constexpr double kPatience = 12;  // s

void Answer(const Question& question) {
  try {
    Fact(question.name, question.answer());
  } catch (const Missing& missing) {
    Trouble(question.name, missing.name + " is not there");
  }
}

int Client(const std::string& step) {
  CUcontext context = nullptr;
  FirstFailure start;
  start << CU(cuInit)(0) << CU(cuDevicePrimaryCtxRetain)(&context, 0)
        << CU(cuCtxSetCurrent)(context);
  if (start.result != CUDA_SUCCESS) {
    std::printf("no context: %d\n", static_cast<int>(start.result));
    return 0;
  }
  if (step == "sms") {
    int count = 0;
    CU(cuDeviceGetAttribute)(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    std::printf("%d multiprocessors\n", count);
    return 0;
  }
  constexpr size_t kPiece = 256 << 20, kMost = size_t{4} << 30;
  size_t all = 0;
  CUresult result = CUDA_SUCCESS;
  for (CUdeviceptr block = 0; all < kMost; all += kPiece) {
    result = CU(cuMemAlloc_v2)(&block, kPiece);
    if (result != CUDA_SUCCESS) break;
  }
  std::printf("took %zu MiB, then %d\n", all >> 20, static_cast<int>(result));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && words[1] == std::string("client")) {
    try {
      return Client(words[2]);
    } catch (const Missing& missing) {
      std::printf("%s is not there\n", missing.name.c_str());
      return 0;
    }
  }
  for (const auto questions : {DriverQuestions(), NameQuestions(), NvmlQuestions()}) {
    for (const Question& question : questions) {
      RunApart(question.name, kPatience, [&] { Answer(question); });
    }
  }
  return 0;
}
