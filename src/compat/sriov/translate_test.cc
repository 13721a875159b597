// SPDX-License-Identifier: Apache-2.0
#include "compat/sriov/translate.h"

#include <gtest/gtest.h>

#include "compat/rdma_shared/flags.h"
#include "config/load.h"
#include "json/json.h"
#include "kinds/kinds.h"

namespace tessera::config::sriov {
namespace {

using rdma_shared::Translated;

Translated From(const std::string& text) {
  return Translate(Document::Parse("config.json", text), kPrefix);
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

TEST(SriovTranslate, SelectorsAreEntriesForEachCombination) {
  EXPECT_EQ(YamlOf(R"({"resourceList": [{"resourceName": "cx6", "resourcePrefix": "nvidia.com",
      "selectors": {"vendors": ["15B3"], "pfNames": ["ens3f0np0#0-3", "ens4"], "isRdma": true}}]})"),
            R"([{"name":"nvidia.com/cx6","rdma":{"issm":true,"cni":true,)"
            R"("select":[{"vendor":"15b3","pf":"ens3f0np0#0-3"},{"vendor":"15b3","pf":"ens4"}],)"
            R"("verbs":true,"vhost":false}}])");
}

TEST(SriovTranslate, AListOfSelectorsIsTheirUnion) {
  EXPECT_EQ(YamlOf(R"({"resourceList": [{"resourceName": "dpdk", "deviceType": "netDevice",
      "excludeTopology": true, "selectors": [{"drivers": ["vfio-pci"], "needVhostNet": true},
      {"rootDevices": ["0000:AF:00.0#1"], "needVhostNet": true}]}]})"),
            R"([{"name":"intel.com/dpdk","rdma":{"issm":true,"cni":true,)"
            R"("select":[{"driver":"vfio-pci"},{"pfAddress":"0000:af:00.0#1"}],)"
            R"("verbs":false,"vhost":true},"numaTopology":false}])");
}

TEST(SriovTranslate, SelectorsMayDifferInWhatContainersGet) {
  EXPECT_EQ(YamlOf(R"({"resourceList": [{"resourceName": "mixed", "selectors": [
      {"vendors": ["15b3"], "isRdma": true},
      {"drivers": ["vfio-pci"], "needVhostNet": true}]}]})"),
            R"([{"name":"intel.com/mixed","rdma":{"issm":true,"cni":true,)"
            R"("select":[{"vendor":"15b3"},{"driver":"vfio-pci","verbs":false,"vhost":true}],)"
            R"("verbs":true,"vhost":false}}])");
}

TEST(SriovTranslate, ASelectorOfEveryFunctionIsAsTheOthers) {
  EXPECT_EQ(Told(R"({"resourceList": [{"resourceName": "a", "selectors": [{"vendors": ["15b3"]},
      {"isRdma": true}]}]})"),
            "resourceList[0].selectors has a selector of every function, and others with another "
            "'isRdma' or 'needVhostNet': divide the resource\n");
  EXPECT_EQ(Told(R"({"resourceList": [{"resourceName": "a", "selectors": [
      {"vendors": ["15b3"], "isRdma": true}, {"isRdma": true}]}]})"),
            "");
}

TEST(SriovTranslate, AllKeysOfASelectorMustFit) {
  EXPECT_EQ(
      YamlOf(R"({"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["ens3f0np0"],
      "rootDevices": ["0000:AF:00.0#1"], "acpiIndexes": ["101"]}}]})"),
      R"([{"name":"intel.com/a","rdma":{"issm":true,"cni":true,)"
      R"("select":[{"acpiIndex":"101","pf":"ens3f0np0","pfAddress":"0000:af:00.0#1"}],)"
      R"("verbs":false,"vhost":false}}])");
}

TEST(SriovTranslate, AcceleratorsAreChosenByTheirIds) {
  EXPECT_EQ(YamlOf(R"({"resourceList": [{"resourceName": "fec", "deviceType": "accelerator",
      "selectors": {"vendors": ["8086"], "devices": ["0d5d"], "drivers": ["vfio-pci"],
                    "pfNames": ["x"], "isRdma": true, "needVhostNet": true}}]})"),
            R"([{"name":"intel.com/fec","rdma":{"class":"accelerator",)"
            R"("select":[{"vendor":"8086","device":"0d5d","driver":"vfio-pci"}],)"
            R"("verbs":false,"vhost":false}}])");
}

TEST(SriovTranslate, AdditionalInfoIsThatOfAllDevicesAndOfOne) {
  EXPECT_EQ(YamlOf(R"({"resourceList": [{"resourceName": "a", "additionalInfo":
      {"*": {"site": "x"}, "0000:af:00.1": {"rack": "7"}}}]})"),
            R"([{"name":"intel.com/a","rdma":{"issm":true,"cni":true,"verbs":false,"vhost":false,)"
            R"("info":[{"key":"site","value":"x"},)"
            R"({"key":"rack","address":"0000:af:00.1","value":"7"}]}}])");
}

TEST(SriovTranslate, KeysAreReadInAnyCaseAndNoSelectorIsEveryFunction) {
  EXPECT_EQ(YamlOf(R"({"ResourceList": [{"resourcename": "all"}]})"),
            R"([{"name":"intel.com/all","rdma":{"issm":true,"cni":true,)"
            R"("verbs":false,"vhost":false}}])");
}

TEST(SriovTranslate, AllProblemsAreToldWithTheirPaths) {
  EXPECT_EQ(
      Told(R"({"resourceList": [
      {"resourceName": "a", "deviceType": "auxNetDevice", "additionalInfo": {"*": "v"}},
      {"resourceName": "b", "selectors": [{"isRdma": true, "vendors": ["15b3"]},
                                          {"vendors": ["8086"], "vdpaType": "vhost"}]},
      {"resourceName": "c", "additionalInfo": [], "selectors": {"ddpProfiles": ["GTPv1"]}},
      {"resourceName": "d", "deviceType": "accelerator", "selectors": {"pfNames": ["x"], "isRdma": 7,
       "vdpaType": "vhost"}},
      {"selectors": {}}]})"),
      "resourceList[0].deviceType takes 'netDevice' or 'accelerator', not 'auxNetDevice': keep the "
      "plugin for this resource\n"
      "resourceList[0].additionalInfo.* takes an object of texts\n"
      "resourceList[1].selectors[1].vdpaType is not served: keep the plugin for this resource\n"
      "resourceList[2].selectors.ddpProfiles is not served: keep the plugin for this resource\n"
      "resourceList[2].additionalInfo takes an object of addresses\n"
      "resourceList[4].resourceName is missing: kubelet needs the name that pods ask for\n"
      "warning: unknown key resourceList[3].selectors.pfNames has no effect, as in the plugin\n"
      "warning: unknown key resourceList[3].selectors.isRdma has no effect, as in the plugin\n"
      "warning: unknown key resourceList[3].selectors.vdpaType has no effect, as in the plugin\n");
}

TEST(SriovFlags, ThoseOfThePluginsManifestsAreTaken) {
  const std::vector<std::string> words = {"--log-dir=sriovdp", "--log-level=10",
                                          "--resource-prefix=example.com"};
  const GoCommandLine line = ParseGoFlags(Flags(), words);
  EXPECT_EQ(Text(line.errors) + Text(line.warnings), "");
  EXPECT_EQ(line.ValueOf("resource-prefix", kPrefix), "example.com");
}

TEST(SriovFlags, CdiHasNoEffectAndIsTold) {
  EXPECT_EQ(Text(rdma_shared::ParseFlags(std::vector<std::string>{"-use-cdi"}, Flags()).warnings),
            "flag -use-cdi: has no effect: containers get the same nodes from kubelet "
            "[config-bad-value]\n");
}

TEST(SriovTranslate, TooManyCombinationsOfAResourceAreRefused) {
  std::string values;
  for (int i = 0; i < 600; ++i) values += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  const std::string selector = R"({"vendors": [)" + values + "]}";
  EXPECT_EQ(Told(R"({"resourceList": [{"resourceName": "a", "selectors": [)" + selector + "," +
                 selector + "]}]}"),
            "resourceList[0].selectors has too many combinations: a resource has at most 1024, a "
            "file 2048; use fewer values\n");
}

TEST(SriovTranslate, AFileThatIsNoObjectIsTold) {
  EXPECT_EQ(Told("7"), "the file takes an object of keys\n");
  EXPECT_EQ(Told("{}"), "resourceList is missing: it lists the resources\n");
}

}  // namespace
}  // namespace tessera::config::sriov
