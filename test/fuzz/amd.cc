// SPDX-License-Identifier: Apache-2.0
// Files of AMD's driver: properties of the topology, counts of errors, lines of events. The answer
// of its metrics exporter, UUIDs, and sets of compute units. The command line of ROCm's plugin, a
// word in each line.
#include "backend/amd/exporter.h"
#include "backend/amd/gpus.h"
#include "backend/amd/labels.h"
#include "backend/amd/ras.h"
#include "backend/amd/smi_events.h"
#include "backend/amd/topology.h"
#include "base/text.h"
#include "compat/rocm/command_line.h"
#include "config/schema/yaml.h"
#include "placement/units.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  for (const auto& [name, number] : tessera::amd::ParseProperties(text)) {
    Require(text.find(name) != text.npos, "a property is of the text");
    (void)tessera::amd::GfxName(number);
  }
  (void)tessera::amd::ParseUncorrected(text);
  Require(tessera::amd::CountFailedPages(text) <= size, "each page has a line of its own");
  (void)tessera::amd::ParseSmiEvent(text);
  const auto words = tessera::amd::ParseExporterWords(text);
  Require(!words || words->size() <= size, "each GPU has bytes of its own");
  const auto units = tessera::UnitSet::Parse(text);
  Require(!units || tessera::UnitSet::Parse(units->Text()) == units, "a set is its text");
  (void)tessera::amd::UniqueIdOf(text);
  Require(tessera::amd::LabelValue(text).size() <= 63, "a label's value is short");
  const auto firmware = tessera::amd::FirmwareLabels({std::string(text)});
  Require(firmware.size() <= 2 * size, "each firmware has a line of its own");
  const std::vector<std::string> arguments = tessera::Split(text, '\n');
  const auto line = tessera::config::rocm::ParseCommandLine(arguments);
  Require(line.pulse >= 0 && line.pulse <= 3'600, "the time between checks has bounds");
  Require(line.errors.size() <= arguments.size(), "each wrong word is told once");
  const auto yaml = tessera::config::Document::Parse("f", tessera::config::rocm::YamlOf(line));
  Require(yaml.ok(), "a configuration is YAML");
  return 0;
}
