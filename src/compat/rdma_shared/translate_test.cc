// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/translate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "json/json.h"
#include "kinds/kinds.h"

namespace tessera::config::rdma_shared {
namespace {

Translated From(const std::string& text) {
  return Translate(Document::Parse("config.json", text));
}

// The configuration of a good file, in one line.
std::string YamlOf(const std::string& text) {
  const Translated translated = From(text);
  EXPECT_EQ(Text(translated.errors), "");
  const LoadResult loaded = Load(FullSchema(), {.file = Document::Parse("t", translated.yaml)});
  EXPECT_EQ(Text(loaded.errors), "");
  return json::Write(json::Parse(translated.yaml).value().at("resources"));
}

// Messages alone.
std::string Told(const std::string& text) {
  const Translated translated = From(text);
  std::string told;
  for (const Problem& problem : translated.errors) told += problem.message + "\n";
  for (const Problem& problem : translated.warnings) told += "warning: " + problem.message + "\n";
  return told;
}

TEST(RdmaSharedTranslate, AResourceIsSharedByAsManyContainers) {
  EXPECT_EQ(YamlOf(R"({"periodicUpdateInterval": 300, "configList": [{
      "resourceName": "hca_shared_devices_a", "rdmaHcaMax": 1000,
      "selectors": {"vendors": ["15b3"], "deviceIDs": ["101B"], "ifNames": ["ib0", "ib1"]}}]})"),
            R"([{"name":"rdma/hca_shared_devices_a","policy":"replicas","replicas":1000,)"
            R"("rdma":{"select":[{"vendor":"15b3","device":"101b","interface":"ib0"},)"
            R"({"vendor":"15b3","device":"101b","interface":"ib1"}],"issm":true}}])");
}

TEST(RdmaSharedTranslate, KeysAreReadInAnyCase) {
  const std::string yaml = YamlOf(
      R"({"configlist": [{"ResourceName": "a", "RESOURCEPREFIX": "example.com", "rdmahcamax": 2,
          "Selectors": {"LINKTYPES": ["InfiniBand"]}}]})");
  EXPECT_EQ(yaml, R"([{"name":"example.com/a","policy":"replicas","replicas":2,)"
                  R"("rdma":{"select":[{"link":"infiniband"}],"issm":true}}])");
}

TEST(RdmaSharedTranslate, TheOldListOfDevicesHasInterfaces) {
  for (const char* const selectors : {"null", "{}"}) {
    EXPECT_EQ(YamlOf(R"({"configList": [{"resourceName": "a", "rdmaHcaMax": 3,
                         "devices": ["ib0"], "selectors": )" +
                     std::string(selectors) + "}]}"),
              R"([{"name":"rdma/a","policy":"replicas","replicas":3,)"
              R"("rdma":{"select":[{"interface":"ib0"}],"issm":true}}])");
  }
}

TEST(RdmaSharedTranslate, AnEmptyOldListOfDevicesIsNone) {
  EXPECT_EQ(YamlOf(R"({"configList": [{"resourceName": "a", "rdmaHcaMax": 3,
                       "devices": [], "selectors": {"vendors": ["15b3"]}}]})"),
            R"([{"name":"rdma/a","policy":"replicas","replicas":3,)"
            R"("rdma":{"select":[{"vendor":"15b3"}],"issm":true}}])");
}

TEST(RdmaSharedTranslate, AResourceForOneContainerIsSharedAllTheSame) {
  const std::string text =
      R"({"configList": [{"resourceName": "a", "rdmaHcaMax": 1, "devices": ["ib0"]}]})";
  EXPECT_EQ(YamlOf(text), R"([{"name":"rdma/a","policy":"replicas","replicas":2,)"
                          R"("rdma":{"select":[{"interface":"ib0"}],"issm":true}}])");
  EXPECT_EQ(Told(text),
            "warning: configList[0].rdmaHcaMax is 1: each card has 2 shares, the fewest "
            "that a shared one can have\n");
}

TEST(RdmaSharedTranslate, CardsThatTwoResourcesMayMatchAreTold) {
  EXPECT_EQ(
      Told(R"({"configList": [
      {"resourceName": "a", "rdmaHcaMax": 2, "selectors": {"vendors": ["15b3", "8086"]}},
      {"resourceName": "b", "rdmaHcaMax": 2, "selectors": {"vendors": ["14e4"]}},
      {"resourceName": "c", "rdmaHcaMax": 2, "selectors": {"vendors": ["8086"], "drivers": ["x"]}},
      {"resourceName": "d", "rdmaHcaMax": 2, "devices": ["ib0"]}]})"),
      "warning: configList[2].selectors may match cards of rdma/a, which then has them alone: "
      "the plugin gives them to both\n"
      "warning: configList[3].devices may match cards of rdma/a, which then has them alone: "
      "the plugin gives them to both\n");
}

TEST(RdmaSharedTranslate, OneKeyWithoutACommonValueKeepsCardsApart) {
  EXPECT_EQ(Told(R"({"configList": [
      {"resourceName": "a", "rdmaHcaMax": 2,
       "selectors": {"vendors": ["8086", "15b3"], "drivers": ["x", "y"]}},
      {"resourceName": "b", "rdmaHcaMax": 2,
       "selectors": {"vendors": ["15b3", "14e4"], "drivers": ["z", "w"]}}]})"),
            "");
}

TEST(RdmaSharedTranslate, AResourceForNoContainerIsLeftOut) {
  const std::string text =
      R"({"configList": [{"resourceName": "a", "rdmaHcaMax": 0, "devices": ["ib0"]},
                         {"resourceName": "b", "rdmaHcaMax": 2, "devices": ["ib1"]}]})";
  EXPECT_EQ(YamlOf(text), R"([{"name":"rdma/b","policy":"replicas","replicas":2,)"
                          R"("rdma":{"select":[{"interface":"ib1"}],"issm":true}}])");
  EXPECT_EQ(Told(text),
            "warning: configList[0].rdmaHcaMax is 0: the resource is left out, as in the plugin\n");
}

TEST(RdmaSharedTranslate, AllProblemsAreToldWithTheirPaths) {
  EXPECT_EQ(Told(R"({"configList": [
      {"resourceName": "a b", "rdmaHcaMax": 1, "selectors": {"vendors": ["15b3"]}},
      {"resourceName": "b", "selectors": {}},
      {"resourceName": "c", "rdmaHcaMax": -1, "devices": ["x"], "selectors": {"vendors": ["1"]}},
      {"resourceName": "d", "rdmaHcaMax": 2, "selectors": {"vendor": ["15b3"]}},
      {"resourceName": "e", "rdmaHcaMax": 2, "devices": ["x"]},
      {"resourceName": "e", "rdmaHcaMax": 2, "devices": ["x"]}]})"),
            "configList[0].resourceName takes letters, digits, '-', '_' and '.', not 'a b'\n"
            "configList[1].rdmaHcaMax is missing: it is the number of containers that share a "
            "device\n"
            "configList[1].selectors is empty: name at least one value, such as a vendor\n"
            "configList[2].rdmaHcaMax takes a whole number from 0 to 1000000, not '-1'\n"
            "configList[2].devices cannot be with 'selectors': leave one out\n"
            "configList[3].selectors is empty: name at least one value, such as a vendor\n"
            "configList[5].resourceName is that of an earlier resource: give it another name\n"
            "warning: unknown key configList[3].selectors.vendor has no effect, as in the "
            "plugin\n");
}

TEST(RdmaSharedTranslate, AnIntervalOfItsOwnIsTold) {
  const std::string rest =
      R"(, "configList": [{"resourceName": "a", "rdmaHcaMax": 2, "devices": ["x"]}]})";
  EXPECT_EQ(Told(R"({"periodicUpdateInterval": 60)" + rest), "");
  EXPECT_EQ(Told(R"({"periodicUpdateInterval": 0)" + rest),
            "warning: periodicUpdateInterval has no effect: changes are found within seconds\n");
}

TEST(RdmaSharedTranslate, AProblemHasItsPlace) {
  EXPECT_EQ(Text(From("{\"configList\":\n 7}").errors),
            "config.json:2:2: configList takes a list, not '7' [config-wrong-type]\n"
            " 7}\n"
            " ^\n");
}

TEST(RdmaSharedTranslate, AFileWithoutResourcesIsTold) {
  EXPECT_EQ(Told("{}"), "configList is missing: it lists the resources\n");
  EXPECT_EQ(Told("[]"), "the file takes an object of keys\n");
}

TEST(RdmaSharedTranslate, TooManyCombinationsAreRefused) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  EXPECT_EQ(
      Told(R"({"configList": [{"resourceName": "a", "rdmaHcaMax": 1, "selectors":
      {"drivers": [)" +
           many + R"(], "ifNames": [)" + many + "]}}]}"),
      "configList[0].selectors has too many combinations: a resource has at most 1024, a file "
      "2048; use fewer values\n");
}

TEST(RdmaSharedTranslate, TooManyCombinationsOfAFileAreRefused) {
  std::string values;
  for (int i = 0; i < 32; ++i) values += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  std::string text = R"({"configList": [)";
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        R"({}{{"resourceName": "r{}", "rdmaHcaMax": 2,
            "selectors": {{"vendors": ["{}"], "drivers": [{}], "ifNames": [{}]}}}})",
        i == 0 ? "" : ",", i, i, values, values);
  }
  EXPECT_EQ(Told(text + "]}"),
            "configList[2].selectors has too many combinations: a resource has at most 1024, a "
            "file 2048; use fewer values\n");
}

}  // namespace
}  // namespace tessera::config::rdma_shared
