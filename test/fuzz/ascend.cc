// SPDX-License-Identifier: Apache-2.0
// Texts around Ascend's driver: lists of CPUs, tables of fault codes, names of chips and templates,
// and the agent's own records of vNPUs.
#include "backend/ascend/chips.h"
#include "backend/ascend/devices.h"
#include "backend/ascend/faults.h"
#include "backend/ascend/vnpu_records.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ascend = tessera::ascend;
  const std::string_view text = tessera::fuzz::Text(data, size);
  for (const int cpu : ascend::ParseCpus(text)) Require(cpu >= 0, "a CPU has a number");
  (void)ascend::HasCode(text, 0x80E18400);
  Require(ascend::TemplateCores(text) <= 255, "a template has few cores");
  Require(ascend::ModelOf(text).starts_with("Ascend"), "a model has Huawei's word");
  if (const auto record = ascend::ParseVnpuRecord(text)) {
    const auto again = ascend::ParseVnpuRecord(ascend::TextOf(*record));
    Require(again && *again == *record, "a record is written as it is read");
  }
  return 0;
}
