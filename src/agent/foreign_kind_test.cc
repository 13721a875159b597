// SPDX-License-Identifier: Apache-2.0
// A kind from outside this tree, from its configuration to its offer: PCI cards, in families named
// by hardware or by selectors.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/parts_under_test.h"
#include "api/server.h"
#include "backend/fixture_kind_test.h"
#include "backend/kind.h"
#include "backend/pci_function.h"
#include "backend/pci_place.h"
#include "config/load.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"
#include "kinds/kinds.h"

namespace tessera::agent {
namespace {

struct CardSelector {
  std::string name{};
  std::string by{};  // "vendor", "device", "driver", "pf" or "link"
  std::string value{};
  bool operator==(const CardSelector&) const = default;
};

struct CardConfig {
  std::vector<CardSelector> selectors{};
  std::string family{};  // the resource's family; empty: none
  bool operator==(const CardConfig&) const = default;
};

PciSelector SelectorOf(const CardSelector& selector) {
  const std::vector<std::string> value = {selector.value};
  if (selector.by == "vendor") return {.vendors = value};
  if (selector.by == "device") return {.devices = value};
  if (selector.by == "driver") return {.drivers = value};
  if (selector.by == "pf") return {.physical_functions = value};
  return {.link_types = value};
}

// The card's profile in a resource's name; empty: no selector matches.
std::string ProfileOf(const CardConfig& config, const PciFunction& function) {
  if (config.selectors.empty()) return "card-" + function.device;
  const auto selector = std::ranges::find_if(config.selectors, [&](const CardSelector& one) {
    return Selects(SelectorOf(one), function);
  });
  return selector == config.selectors.end() ? "" : selector->name;
}

class CardBackend : public Backend {
 public:
  CardBackend(const config::Resource& resource, os::Root root)
      : name_(resource.name), config_(*resource.kind.As<CardConfig>()), root_(std::move(root)) {}

  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override {
    const std::string bus = root_.Path("/sys/bus/pci/devices");
    std::vector<std::string> addresses = TRY(os::ListDirectory(bus));
    std::ranges::sort(addresses);
    std::vector<Device> devices;
    for (const std::string& address : addresses) {
      Device device;
      device.key = {SourceOf(ProfileOf(config_, ReadPciFunction(root_, address))), address};
      device.address = device.visible_as = address;
      DeviceTraits traits;
      ReadPciPlace(root_, address, traits);
      device.traits = std::move(traits);
      if (device.key.source == name_ || config::IsFamily(name_)) devices.push_back(device);
    }
    return devices;
  }
  Evidence Check(const Device&) override { return {.kind = EvidenceKind::kGood}; }
  void LearnReset(const Device& device) override {
    EXPECT_TRUE(os::ReplaceFile(root_.Path("/" + std::string(FileName(name_))), device.address));
  }

 private:
  std::string SourceOf(const std::string& profile) const {
    if (profile.empty()) return "";
    return config_.family.empty() ? name_ : config::MemberName(config_.family, profile);
  }

  const std::string name_;
  const CardConfig config_;
  const os::Root root_;
};

class CardFamilies : public FamilyFinder {
 public:
  bool MayHave(const config::Resource& family, std::string_view profile) const override {
    const auto& selectors = family.kind.As<CardConfig>()->selectors;
    return selectors.empty() ? profile.starts_with("card-")
                             : std::ranges::count(selectors, profile, &CardSelector::name) > 0;
  }
};
const CardFamilies kFamilies;

constexpr auto kSelector = [](auto& config, const config::At& at) -> auto& {
  return kKindConfig<CardConfig>(config, at).selectors[at[1]];
};

tessera::Kind CardKind() {
  return {.section = {.name = "card",
                      .type = config::Type::kSection,
                      .doc = "Cards.",
                      .choice = KindChoice<CardConfig>(),
                      .children =
                          [] {
                            return std::vector<config::Key>{
                                {.name = "selectors",
                                 .type = config::Type::kList,
                                 .doc = "Names of cards.",
                                 .max = 8,
                                 .list = config::BindList(kKindConfig<CardConfig>,
                                                          &CardConfig::selectors),
                                 .children = [] {
                                   return std::vector<config::Key>{
                                       {.name = "name",
                                        .doc = "The profile.",
                                        .example = "fast",
                                        .required = true,
                                        .field = config::Bind(kSelector, &CardSelector::name)},
                                       {.name = "by",
                                        .doc = "What of the function.",
                                        .example = "device",
                                        .required = true,
                                        .field = config::Bind(kSelector, &CardSelector::by)},
                                       {.name = "value",
                                        .doc = "What that is.",
                                        .example = "0001",
                                        .required = true,
                                        .field = config::Bind(kSelector, &CardSelector::value)}};
                                 }}};
                          }},
          .is = IsKind<CardConfig>,
          .complete =
              [](config::Config& config, size_t index) {
                config::Resource& resource = config.resources[index];
                if (!config::IsFamily(resource.name)) return;
                resource.kind.As<CardConfig>()->family = resource.name;
              },
          .check = [](const config::Config&, size_t, const std::string&, config::Findings&) {},
          .make = [](const config::Resource& resource,
                     const Surroundings& at) -> std::shared_ptr<Backend> {
            return std::make_shared<CardBackend>(resource, at.root);
          },
          .families = &kFamilies};
}

class ForeignKindTest : public testing::Test {
 protected:
  explicit ForeignKindTest(Kinds kinds = Kinds(1, CardKind())) : kinds_(std::move(kinds)) {
    EXPECT_TRUE(os::MakeDirectories(kubelet_.device_plugins()));
    parts_.saver.Restore("boot");
    AddCard("0000:41:00.0", "0x0001");
    AddCard("0000:42:00.0", "0x0002");
    AddCard("0000:43:00.0", "0x0002");
  }
  ~ForeignKindTest() override {
    parts_.resources.Close();
    (void)os::RemoveTree(dir_);
  }

  void AddCard(const std::string& address, const std::string& device) {
    tree_.AddPci("pci0000:40/" + address);
    tree_.Write(DirectoryOf(address) + "/device", device + "\n");
  }
  static std::string DirectoryOf(const std::string& address) {
    return "/sys/devices/pci0000:40/" + address;
  }
  config::LoadResult Load(const std::string& resources) const {
    return config::Load(
        schema_, {.file = config::Document::Parse(
                      "t.yaml", fmt::format("version: tessera/v1\nadvertise: {{debounce: 1ms}}\n"
                                            "state: {{dir: {}}}\nrootPrefix: {}\nresources:\n{}",
                                            dir_, tree_.root().prefix(), resources))});
  }
  void Serve(const std::string& resources) {
    const config::LoadResult loaded = Load(resources);
    ASSERT_EQ(config::Text(loaded.errors), "");
    parts_.grants.Open(loaded.config, kubelet_);
    parts_.resources.Open(loaded.config, kubelet::RegistrationPath::kKubeletSocket, kubelet_);
  }
  // "NAME: healthy ids", one line each.
  std::string Offered() {
    std::string all;
    for (const auto& [name, served] : parts_.resources.served()) {
      all += name + ":";
      const OfferPtr& offer = served->offer();
      for (size_t i = 0; offer != nullptr && i < offer->shares.size(); ++i) {
        if (offer->IsHealthy(offer->shares[i])) all += " " + offer->shares[i].id;
      }
      all += "\n";
    }
    return all;
  }
  void AwaitOffered(const std::string& wanted) {
    EXPECT_TRUE(fake::RunUntil(parts_.loop, Duration(20'000), [&] { return Offered() == wanted; }))
        << Offered();
  }

  const FixtureTree tree_;
  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "foreign");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  const Kinds kinds_;
  const config::Schema schema_{kinds_};
  Node node_{SystemClock(), {}};
  PartsUnderTest parts_{node_, dir_};
};

TEST_F(ForeignKindTest, ItsDevicesAreOfferedAsThoseOfAnyKind) {
  Serve("- {name: fixture.com/card, card: {}}\n");

  AwaitOffered("fixture.com/card: 0000:41:00.0 0000:42:00.0 0000:43:00.0\n");
}

TEST_F(ForeignKindTest, AllBackendsLearnOfAResetThatAPersonReports) {
  Serve("- {name: \"fixture.com/{profile}\", card: {}}\n");
  AwaitOffered(
      "fixture.com/card-0001: 0000:41:00.0\n"
      "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n");

  parts_.reconciler.WasReset({"fixture.com/card-0002", "0000:43:00.0"});

  for (const char* const member : {"/card-0001", "/card-0002"}) {
    EXPECT_EQ(os::ReadFile(tree_.root().Path(member)).value(), "0000:43:00.0");
  }
}

TEST_F(ForeignKindTest, AFamilyIsNamedByTheHardwareThatItsBackendFinds) {
  Serve("- {name: \"fixture.com/{profile}\", card: {}}\n");

  AwaitOffered(
      "fixture.com/card-0001: 0000:41:00.0\n"
      "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n");
}

TEST_F(ForeignKindTest, AFamilyIsNamedByTheSelectorsOfItsSection) {
  AddCard("0000:44:00.0", "0x0003");
  tree_.Link(DirectoryOf("0000:41:00.0") + "/driver", "../../../bus/pci/drivers/vfio-pci");
  tree_.Link(DirectoryOf("0000:42:00.0") + "/physfn", "../0000:47:00.0");
  tree_.Write(DirectoryOf("0000:43:00.0") + "/net/ib0/type", "32\n");
  Serve(
      "- name: \"fixture.com/{profile}\"\n"
      "  card:\n"
      "    selectors:\n"
      "    - {name: passed, by: driver, value: vfio-pci}\n"
      "    - {name: virtual, by: pf, value: \"0000:47:00.0\"}\n"
      "    - {name: band, by: link, value: infiniband}\n"
      "    - {name: absent, by: device, value: \"0009\"}\n"
      "    - {name: other, by: vendor, value: 1d1d}\n");

  AwaitOffered(
      "fixture.com/band: 0000:43:00.0\n"
      "fixture.com/other: 0000:44:00.0\n"
      "fixture.com/passed: 0000:41:00.0\n"
      "fixture.com/virtual: 0000:42:00.0\n");
}

TEST_F(ForeignKindTest, AConfigurationKnowsTheKindsThatItIsGivenAlone) {
  EXPECT_EQ(config::Text(Load("- {name: fixture.com/card, dummy: {}}\n").errors),
            "t.yaml:6:3: resources[0] needs one section of 'card' [config-missing]\n"
            "- {name: fixture.com/card, dummy: {}}\n"
            "  ^\n"
            "t.yaml:6:28: unknown key 'dummy' in resources[0] [config-unknown-key]\n"
            "- {name: fixture.com/card, dummy: {}}\n"
            "                           ^\n");
}

// Beside the cards: pairs of them.
class PairedKindTest : public ForeignKindTest {
 protected:
  PairedKindTest() : ForeignKindTest(WithPairs()) {
    node_.ledger().Presume({});  // no container holds a device
    Serve(
        "- {name: \"fixture.com/{profile}\", card: {}}\n"
        "- {name: fixture.com/pair, pair: {gpu: fixture.com/card-0002, nic: fixture.com/card-0001}}"
        "\n");
    AwaitOffered(
        "fixture.com/card-0001: 0000:41:00.0\n"
        "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n"
        "fixture.com/pair: 0000:42:00.0_0000:41:00.0\n");
  }
  static Kinds WithPairs() {
    Kinds kinds(1, CardKind());
    std::ranges::copy_if(AllKinds(), std::back_inserter(kinds),
                         [](const tessera::Kind& kind) { return kind.section.name == "pair"; });
    return kinds;
  }
  void Allocate(const std::string& resource, const std::string& id) {
    std::optional<Result<Grant>> answer;
    parts_.resources.Find(resource)->offering().allocator().Allocate(
        {id}, [&](Result<Grant> grant) { answer = std::move(grant); });
    EXPECT_TRUE(*answer) << answer->error().message;
  }
};

TEST_F(PairedKindTest, WhoHasAPairHasItsPartsInTheirOwnResources) {
  Allocate("fixture.com/pair", "0000:42:00.0_0000:41:00.0");

  AwaitOffered(
      "fixture.com/card-0001:\n"
      "fixture.com/card-0002: 0000:43:00.0\n"
      "fixture.com/pair: 0000:42:00.0_0000:41:00.0\n");
}

TEST_F(PairedKindTest, APairIsNotOfferedWhileSomebodyHasAPart) {
  Allocate("fixture.com/card-0002", "0000:42:00.0");

  AwaitOffered(
      "fixture.com/card-0001: 0000:41:00.0\n"
      "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n"
      "fixture.com/pair:\n");
}

TEST_F(PairedKindTest, WhatIsAskedForNextIsNearToWhatWasGranted) {
  for (const char* address : {"0000:45:00.0", "0000:46:00.0"}) AddCard(address, "0x0001");
  parts_.resources.RescanSoon();
  AwaitOffered(
      "fixture.com/card-0001: 0000:41:00.0 0000:45:00.0 0000:46:00.0\n"
      "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n"
      "fixture.com/pair: 0000:42:00.0_0000:41:00.0 0000:43:00.0_0000:45:00.0\n");
  const std::vector<std::string> free = {"0000:41:00.0", "0000:45:00.0", "0000:46:00.0"};
  Allocator& cards = parts_.resources.Find("fixture.com/card-0001")->offering().allocator();
  EXPECT_EQ(cards.Prefer(free, {}, 1), std::vector<std::string>{"0000:41:00.0"});

  Allocate("fixture.com/card-0002", "0000:43:00.0");

  EXPECT_EQ(cards.Prefer(free, {}, 1), std::vector<std::string>{"0000:45:00.0"});
}

TEST_F(PairedKindTest, APartThatComesLaterMakesAPair) {
  AddCard("0000:45:00.0", "0x0001");
  parts_.resources.RescanSoon();

  AwaitOffered(
      "fixture.com/card-0001: 0000:41:00.0 0000:45:00.0\n"
      "fixture.com/card-0002: 0000:42:00.0 0000:43:00.0\n"
      "fixture.com/pair: 0000:42:00.0_0000:41:00.0 0000:43:00.0_0000:45:00.0\n");
}

}  // namespace
}  // namespace tessera::agent
