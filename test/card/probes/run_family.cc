// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <sstream>

#include "card/probes/steps.h"
#include "card/probes/watch.h"
#include "card/row.h"

namespace tessera::card {
namespace {

std::string said, noted;

// "+64 MiB", "+513", "0"
std::string Change(uint64_t before, uint64_t after) {
  if (before == after) return "0";
  const uint64_t bytes = before < after ? after - before : before - after;
  const std::string sign = before < after ? "+" : "-";
  return sign + (bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + " MiB" : std::to_string(bytes));
}

std::string Beside(const Amounts& before, const Amounts& after) {
  const std::string taken = Change(before.processes, after.processes);
  const std::string of_card = Change(before.card, after.card);
  return "counted " + Change(before.counted, after.counted) + ", taken " + taken +
         (of_card != taken ? " (of the card " + of_card + ")" : "");
}

// Once more with no room for it.
std::string PastTheLimit(const Step& step) {
  Settle();
  const Amounts now = Measure();
  CUdeviceptr filler = 0;
  const uint64_t left = 8 * kMiB;
  if (now.counted + left >= kLimit) return "; no room to fill";
  const CUresult filled =
      CU(cuMemAlloc_v2)(&filler, (kLimit - now.counted - left) & ~(2 * kMiB - 1));
  if (filled != CUDA_SUCCESS) return "; filling the limit: " + std::to_string(filled);
  const Amounts before = Measure();
  const CUresult result = step.take(kTaken);
  const Amounts after = Measure();
  step.give();
  CU(cuMemFree_v2)(filler);
  return "; past the limit " + std::to_string(result) + ", " + Beside(before, after);
}

std::string Uncalled(const Step& step) {
  std::string names;
  std::istringstream functions(step.functions);
  for (std::string name; functions >> name;) {
    if (!Called().contains(name)) names += " " + name;
  }
  return names.empty() ? "" : "; not called:" + names;
}

void RunStep(const Family& family, const Step& step) {
  const std::string name = NameOf(family, step);
  try {
    if (!family.is_time) Settle();
    said.clear();
    noted.clear();
    Called().clear();
    const Amounts before = Measure();
    const CUresult result = step.take(kTaken);
    const Amounts taken = Measure();
    step.give();
    const Amounts back = Measure();
    std::string value = std::to_string(result);
    (family.are_attacks ? noted : value) +=
        ", " + Beside(before, taken) + "; back " + Beside(before, back);
    if (!step.is_once && taken.counted >= before.counted + kTaken / 2) value += PastTheLimit(step);
    Fact(name, value + said + Uncalled(step), noted.empty() ? noted : noted.substr(2));
  } catch (const Missing& missing) {
    Trouble(name, missing.name + " is not there");
  }
}

}  // namespace

std::string NameOf(const Family& family, const Step& step) {
  const bool is_both = step.what[0] != '\0' && step.functions[0] != '\0';
  return std::string(family.name) + ": " + step.what + (is_both ? ", " : "") + step.functions;
}

void Settle() {
  CUdeviceptr block = 0;
  CU(cuMemAlloc_v2)(&block, 2 * kLimit);
}

void Say(const std::string& text) {
  said += "; " + text;
}
void Note(const std::string& text) {
  noted += "; " + text;
}

int RunFamily(const std::string& name, unsigned first) {
  for (const Family& family : Families()) {
    if (family.name != name) continue;
    try {
      FirstFailure start;
      CUcontext context = nullptr;
      start << CU(cuInit)(0);
      if (family.has_context) {
        start << CU(cuDevicePrimaryCtxRetain)(&context, 0) << CU(cuCtxSetCurrent)(context);
      }
      if (start.result != CUDA_SUCCESS) {
        Trouble(name, "there is no context: " + std::to_string(start.result));
        return 0;
      }
    } catch (const Missing& missing) {
      Trouble(name, missing.name + " is not there");
      return 0;
    }
    for (unsigned i = first; i < family.steps.size(); ++i) {
      BeginStep(i, NameOf(family, family.steps[i]).c_str());
      RunStep(family, family.steps[i]);
      if (family.are_attacks && i + 1 < family.steps.size()) return kGoOn;
    }
    return 0;
  }
  std::fprintf(stderr, "no family %s\n", name.c_str());
  return 1;
}

}  // namespace tessera::card
