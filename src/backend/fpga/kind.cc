// SPDX-License-Identifier: Apache-2.0
// FPGAs: `fpga: {vendor: intel}` and `fpga: {vendor: xilinx}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include "backend/apart.h"
#include "backend/fpga/fpga.h"
#include "backend/fpga/names.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kFpga = kKindConfig<FpgaConfig>;

Choices<FpgaConfig::Vendor> Vendors() {
  return {{"intel", FpgaConfig::Vendor::kIntel}, {"xilinx", FpgaConfig::Vendor::kXilinx}};
}
Choices<FpgaConfig::Mode> Modes() {
  return {{"af", FpgaConfig::Mode::kAf},
          {"region", FpgaConfig::Mode::kRegion},
          {"regiondevel", FpgaConfig::Mode::kRegionDevel}};
}

std::vector<Key> FpgaKeys() {
  return {
      {.name = "vendor",
       .type = Type::kEnum,
       .doc = "Whose cards. `intel`: those of the drivers DFL and OPAE. `xilinx`: those of XRT.",
       .example = "intel",
       .required = true,
       .values = NamesOf(Vendors()),
       .field = BindEnum(kFpga, &FpgaConfig::vendor, Vendors())},
      {.name = "mode",
       .type = Type::kEnum,
       .doc = "What a device of Intel's is. `af`: a port with the accelerator function that it "
              "has. `region`: the ports of a card, which Intel's hook programs for each container; "
              "needs CDI. `regiondevel`: the ports, and the node that programs them.",
       .example = "region",
       .values = NamesOf(Modes()),
       .field = BindEnum(kFpga, &FpgaConfig::mode, Modes())},
      {.name = "profile",
       .doc = "Only devices of this accelerator function, interface or shell. In a family, the "
              "profile is that of the resource's name.",
       .example = "xilinx_u250_gen3x16_xdma_shell_4_1-0",
       .default_note = "all devices",
       .field = Bind(kFpga, &FpgaConfig::profile)},
  };
}

// Two resources with the same devices have different profiles.
void CheckFpga(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const FpgaConfig& own = *config.resources[index].kind.As<FpgaConfig>();
  if (own.vendor != FpgaConfig::Vendor::kIntel && own.mode != FpgaConfig::Mode::kAf) {
    findings.Report(Reason::kConfigBadValue, path + ".mode", "is for 'vendor: intel' alone");
  }
  CheckApart<FpgaConfig>(
      config, index, path, findings, [](const FpgaConfig& a, const FpgaConfig& b) {
        // A region has the same id in both of its modes.
        const bool ids_differ =
            (a.mode == FpgaConfig::Mode::kAf) != (b.mode == FpgaConfig::Mode::kAf);
        return a.vendor != b.vendor || ids_differ || ProfilesDiffer(a.profile, b.profile);
      });
}

bool PreparesRegions(const Resource& resource) {
  return resource.kind.As<FpgaConfig>()->mode == FpgaConfig::Mode::kRegion;
}

void Complete(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  if (IsFamily(resource.name)) resource.kind.As<FpgaConfig>()->family = resource.name;
  if (PreparesRegions(resource)) {
    resource.rendering.annotations = {
        {fpga::Programming::kAnnotation, fpga::Programming::kAnnotationValue}};
  }
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<FpgaBackend>(resource.name, *resource.kind.As<FpgaConfig>(), at.root,
                                       at.loop, FpgaBackend::kLook, at.found);
}

// A shell's name ends with a dash and its time.
class Families final : public FamilyFinder {
 public:
  bool MayHave(const Resource& family, std::string_view profile) const override {
    const FpgaConfig& config = *family.kind.As<FpgaConfig>();
    if (profile == fpga::kUnknownProfile) return true;
    if (config.vendor == FpgaConfig::Vendor::kXilinx) {
      return profile.find('-') != std::string_view::npos;
    }
    return profile.starts_with(config.mode == FpgaConfig::Mode::kAf ? "af-" : "region-");
  }
};
constexpr Families kFamilies;

Kind MakeKind() {
  return {
      .section = {.name = "fpga",
                  .type = Type::kSection,
                  .doc = "FPGAs: Intel's ports and regions, and Xilinx's cards by their shells.",
                  .choice = KindChoice<FpgaConfig>(),
                  .children = FpgaKeys},
      .is = IsKind<FpgaConfig>,
      .complete = Complete,
      .check = CheckFpga,
      .make = Make,
      .ids_are_of_hardware = true,
      .prepares = PreparesRegions,
      .families = &kFamilies};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::fpga {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::fpga
