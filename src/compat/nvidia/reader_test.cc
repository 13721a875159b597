// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/reader.h"

#include "compat/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

Settings GoodFile(const std::string& yaml) {
  return Good({.yaml = yaml});
}

Settings Everything() {
  Settings settings;
  settings.mig_strategy = "single";
  settings.fail_on_init_error = false;
  settings.mps_root = "/mps";
  settings.driver_root = "/driver";
  settings.dev_root = "/dev-root";
  settings.gdrcopy = settings.gds = settings.mofed = true;
  settings.discovery_strategy = "nvml";
  settings.pass_device_specs = true;
  settings.list_strategies = {"envvar", "cdi-cri"};
  settings.id_strategy = "index";
  settings.cdi_annotation_prefix = "cdi.example.com/";
  settings.cdi_hook_path = "/ctk";
  settings.container_driver_root = "/inside";
  settings.allocation_policy = "packed";
  settings.imex_channels = {0};
  settings.imex_required = true;
  settings.gfd_oneshot = true;
  settings.gfd_no_timestamp = true;
  settings.gfd_sleep_interval = Duration(90'000);
  settings.gfd_output_file = "/out";
  settings.gfd_machine_type_file = "/machine";
  settings.use_node_feature_api = false;
  settings.time_slicing = Replication{.fail_requests_greater_than_one = true,
                                      .resources = {{.name = "nvidia.com/gpu", .replicas = 10}}};
  settings.mps = Replication{
      .rename_by_default = true,
      .resources = {{.name = "nvidia.com/gpu", .rename = "nvidia.com/gpu.shared", .replicas = 2}}};
  return settings;
}

TEST(NvidiaReader, EveryKeyIsRead) {
  EXPECT_EQ(GoodFile(R"(version: v1
flags:
  migStrategy: single
  failOnInitError: false
  mpsRoot: /mps
  nvidiaDriverRoot: /driver
  nvidiaDevRoot: /dev-root
  gdrcopyEnabled: true
  gdsEnabled: true
  mofedEnabled: true
  useNodeFeatureAPI: false
  deviceDiscoveryStrategy: nvml
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [envvar, cdi-cri]
    deviceIDStrategy: index
    cdiAnnotationPrefix: cdi.example.com/
    nvidiaCTKPath: /ctk
    containerDriverRoot: /inside
    sharedDevicesAllocationPolicy: packed
  gfd:
    oneshot: true
    noTimestamp: true
    sleepInterval: 90s
    outputFile: /out
    machineTypeFile: /machine
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
    - name: gpu
      replicas: 10
  mps:
    renameByDefault: true
    resources:
    - {name: nvidia.com/gpu, replicas: 2, devices: all}
imex:
  channelIDs: [0]
  required: true
)"),
            Everything());
}

TEST(NvidiaReader, JsonIsRead) {
  EXPECT_EQ(GoodFile("{\n"
                     "\t\"version\": \"v1\",\n"
                     "\t\"flags\": {\"migStrategy\": \"none\", \"failOnInitError\": false,\n"
                     "\t\t\"nvidiaDevRoot\": null},\n"
                     "\t\"sharing\": {\"timeSlicing\": {\"resources\": [\n"
                     "\t\t{\"name\": \"nvidia.com/gpu\", \"replicas\": 4}]}}\n"
                     "}\n"),
            (Settings{.fail_on_init_error = false,
                      .time_slicing =
                          Replication{.resources = {{.name = "nvidia.com/gpu", .replicas = 4}}}}));
}

TEST(NvidiaReader, AFileOfNothingIsTheDefaults) {
  for (const char* yaml : {"", "# nothing\n", "---\n", "{}", "null", "version: v1\n", "version:\n",
                           "version: \"\"\n", "flags:\nsharing: {}\nimex: {}\nresources: {}\n",
                           "flags: {migStrategy: ~, failOnInitError: null}\n",
                           "imex: {channelIDs: []}\n", "imex: {channelIDs: null}\n"}) {
    EXPECT_EQ(GoodFile(yaml), Settings()) << yaml;
  }
}

TEST(NvidiaReader, ScalarsAreThoseOfYaml11) {
  EXPECT_EQ(GoodFile("flags: {gdsEnabled: yes, failOnInitError: Off, mpsRoot: 12, "
                     "plugin: {deviceListStrategy: envvar}}\n"),
            (Settings{.fail_on_init_error = false, .mps_root = "12", .gds = true}));
}

TEST(NvidiaReader, PlainKeysMayBeSpeltInAnyCase) {
  EXPECT_EQ(GoodFile("FLAGS: {MigStrategy: single, PLUGIN: {passdevicespecs: true}}\n"
                     "Imex: {CHANNELIDS: [0]}\n"),
            (Settings{.mig_strategy = "single", .pass_device_specs = true, .imex_channels = {0}}));
}

TEST(NvidiaReader, KeysOfSharesMayNot) {
  const Started started{.yaml =
                            "sharing: {timeSlicing: {RenameByDefault: true, resources: [{name: "
                            "gpu, replicas: 2, Devices: 3}]}}\n"};
  EXPECT_EQ(Warned(started),
            "unknown key 'RenameByDefault' in sharing.timeSlicing has no effect\n"
            "unknown key 'Devices' in sharing.timeSlicing.resources[0] has no effect\n");
  EXPECT_EQ(Told(started), "");
  EXPECT_EQ(
      Told({.yaml = "sharing: {timeSlicing: {Resources: []}}\n"}),
      "no resources specified: sharing.timeSlicing needs at least one in 'resources', or must "
      "be left out\n");
}

TEST(NvidiaReader, AnUnknownKeyIsWarnedAboutWhereItStands) {
  std::string errors;
  std::string warnings;
  EXPECT_EQ(Read({.yaml = "flags:\n  migStrateg: single\n"}, &errors, &warnings), Settings());
  EXPECT_EQ(errors, "");
  EXPECT_EQ(warnings,
            "t.yaml:2:3: unknown key 'migStrateg' in flags has no effect; did you mean "
            "'migStrategy'? [config-unknown-key]\n"
            "  migStrateg: single\n"
            "  ^\n");
}

TEST(NvidiaReader, AnErrorNamesFileLineAndKey) {
  std::string errors;
  std::string warnings;
  Read({.yaml = "flags:\n  gdsEnabled: \"yes\"\n"}, &errors, &warnings);
  EXPECT_EQ(errors,
            "t.yaml:2:15: flags.gdsEnabled takes true or false, not the text 'yes' "
            "[config-wrong-type]\n"
            "  gdsEnabled: \"yes\"\n"
            "              ^\n");
}

struct BadFile {
  const char* name;  // of the test: what is wrong
  const char* yaml;
  const char* told;
};

class BadNvidiaFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadNvidiaFile, IsToldWordForWord) {
  EXPECT_EQ(Told({.yaml = GetParam().yaml}), GetParam().told);
}

constexpr BadFile kBadFiles[] = {
    {"AnotherVersion", "version: v2\n", "unknown version 'v2': NVIDIA's format is 'v1'\n"},
    {"OurVersion", "version: tessera/v1\n",
     "unknown version 'tessera/v1': NVIDIA's format is 'v1', and this is Tessera's own, which is "
     "for 'tessera agent --config'\n"},
    {"AConfigMap", "apiVersion: v1\nkind: ConfigMap\n",
     "the file is a Kubernetes object of kind 'ConfigMap', not a configuration; put the text below "
     "its 'data' into a file of its own\n"},
    {"APod", "apiVersion: v1\nkind: Pod\n",
     "the file is a Kubernetes object of kind 'Pod', not a configuration\n"},
    {"AList", "- a\n", "the file takes a map of keys, not a list\n"},
    {"ASectionThatIsText", "flags: none\n", "flags takes a map of keys, not 'none'\n"},
    {"TextThatIsAList", "flags: {migStrategy: [none]}\n",
     "flags.migStrategy takes text, not a list\n"},
    {"ATruthValueThatIsANumber", "flags: {gdsEnabled: 1}\n",
     "flags.gdsEnabled takes true or false, not '1'\n"},
    {"AStrategyThatIsANumber", "flags: {plugin: {deviceListStrategy: 5}}\n",
     "flags.plugin.deviceListStrategy takes text, not '5'\n"},
    {"ChannelsThatAreNoList", "imex: {channelIDs: 0}\n",
     "imex.channelIDs takes a list of whole numbers, not '0'\n"},
    {"AChannelThatIsText", "imex: {channelIDs: [\"0\"]}\n",
     "imex.channelIDs takes a whole number, not the text '0'\n"},
    {"AnIntervalOfDays", "flags: {gfd: {sleepInterval: 1d}}\n",
     "flags.gfd.sleepInterval takes a time such as 60s or 1h30m, or 'infinite', not '1d'\n"},
    {"APatternWithoutAName", "resources: {gpus: [{pattern: \"*\"}]}\n",
     "resources.gpus[0] needs the key 'name'\n"},
    {"ANameWithoutAPattern", "resources: {mig: [{name: a}]}\n",
     "resources.mig[0] needs the key 'pattern'\n"},
    {"PatternsThatAreNoList", "resources: {gpus: {}}\n",
     "resources.gpus takes a list, not a map\n"},
    {"ANameOfAnotherDomain", "resources: {gpus: [{pattern: a, name: example.com/a}]}\n",
     "resources.gpus[0].name must be lower-case letters, digits, '-' and '.' behind 'nvidia.com/', "
     "with a letter or digit at both ends, not 'example.com/a'\n"},
    {"TimeSlicingOfNothing", "sharing: {timeSlicing: {}}\n",
     "no resources specified: sharing.timeSlicing needs at least one in 'resources', or must be "
     "left "
     "out\n"},
    {"AnEmptyListOfResources", "sharing: {timeSlicing: {resources: []}}\n",
     "no resources specified: sharing.timeSlicing needs at least one in 'resources', or must be "
     "left "
     "out\n"},
    {"ResourcesThatAreNoList", "sharing: {timeSlicing: {resources: 3}}\n",
     "sharing.timeSlicing.resources takes a list, not '3'\n"},
    {"AResourceThatIsText", "sharing: {timeSlicing: {resources: [gpu]}}\n",
     "sharing.timeSlicing.resources[0] takes a map of keys, not 'gpu'\n"},
    {"NoReplicas", "sharing: {timeSlicing: {resources: [{name: gpu}]}}\n",
     "sharing.timeSlicing.resources[0] needs the key 'replicas'\n"},
    {"NoName", "sharing: {timeSlicing: {resources: [{replicas: 2}]}}\n",
     "sharing.timeSlicing.resources[0] needs the key 'name'\n"},
    {"OneReplica", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}\n",
     "sharing.timeSlicing.resources[0].replicas must be at least 2, not 1\n"},
    {"ReplicasThatAreText", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: \"2\"}]}}\n",
     "sharing.timeSlicing.resources[0].replicas takes a whole number, not the text '2'\n"},
    {"ReplicasThatAreNotWhole",
     "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2.5}]}}\n",
     "sharing.timeSlicing.resources[0].replicas takes a whole number, not '2.5'\n"},
    {"ANameThatIsANumber", "sharing: {timeSlicing: {resources: [{name: 5, replicas: 2}]}}\n",
     "sharing.timeSlicing.resources[0].name takes text, not '5'\n"},
    {"NoSuchDevices",
     "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: some}]}}\n",
     "sharing.timeSlicing.resources[0].devices takes 'all', a number of devices, or a list of "
     "indices and UUIDs, not 'some'\n"},
    {"NoDevices", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: 0}]}}\n",
     "sharing.timeSlicing.resources[0].devices takes 'all', a number of devices, or a list of "
     "indices and UUIDs, not '0'\n"},
    {"DevicesThatAreNotWhole",
     "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: 2.0}]}}\n",
     "sharing.timeSlicing.resources[0].devices takes 'all', a number of devices, or a list of "
     "indices and UUIDs, not '2.0'\n"},
    {"ADeviceBelowNought",
     "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [0, -1]}]}}\n",
     "sharing.timeSlicing.resources[0].devices takes a GPU's index, '<gpu>:<mig>', 'GPU-<uuid>', "
     "'MIG-<uuid>' or 'MIG-GPU-<uuid>/<gi>/<ci>', not '-1'\n"},
};

INSTANTIATE_TEST_SUITE_P(NvidiaReader, BadNvidiaFile, testing::ValuesIn(kBadFiles),
                         [](const testing::TestParamInfo<BadFile>& test) {
                           return std::string(test.param.name);
                         });

TEST(NvidiaReader, MergedKeysCountAsIfTheyStoodThere) {
  Settings wanted;
  wanted.mig_strategy = "single";
  wanted.gds = true;
  EXPECT_EQ(Good({.yaml = "flags: &x {migStrategy: single, gdsEnabled: true}\n"
                          "sharing: {}\n"
                          "imex: {}\n"}),
            wanted);
  std::string errors;
  std::string warnings;
  EXPECT_EQ(Read({.yaml = "x: &x {migStrategy: mixed, gdsEnabled: true}\n"
                          "flags: {<<: *x, migStrategy: single}\n"},
                 &errors, &warnings),
            wanted);
  EXPECT_EQ(errors, "");
}

TEST(NvidiaReader, WhatStandsTwiceIsToldAndTheLastCounts) {
  const Started started = {.yaml =
                               "flags: {migStrategy: mixed}\n"
                               "flags: {migStrategy: none, migStrategy: single}\n"
                               "---\n"
                               "flags: [\n"};
  std::string errors;
  std::string warnings;
  Settings wanted;
  wanted.mig_strategy = "single";
  EXPECT_EQ(Read(started, &errors, &warnings), wanted);
  EXPECT_EQ(errors, "");
  EXPECT_EQ(Warned(started),
            "key 'migStrategy' is repeated; the first is on line 2; the last one counts\n"
            "key 'flags' is repeated; the first is on line 1; the last one counts\n"
            "a second document begins here; only the first is read\n");
}

TEST(NvidiaReader, AWholeNumberMayBeWrittenWithAFractionOfNothing) {
  for (const char* number : {"4", "4.0", "0x4", "4e0"}) {
    const Settings settings =
        Good({.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: " +
                      std::string(number) + "}]}}\n"});
    EXPECT_EQ(settings.time_slicing->resources[0].replicas, 4) << number;
  }
}

TEST(NvidiaReader, DevicesAreAllOrSoManyOrThoseOfAList) {
  const auto devices = [](const std::string& text) {
    const Document document = Document::Parse(
        "t.yaml",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: " + text + "}]}}\n");
    Findings findings(document);
    Settings settings;
    Reader(document, settings, findings).ReadAll();
    EXPECT_EQ(Text(findings.SortedErrors()), "");
    return settings.time_slicing->resources[0].devices;
  };
  EXPECT_EQ(devices("all"), ReplicatedDevices());
  EXPECT_EQ(devices("2"), (ReplicatedDevices{.all = false, .count = 2}));
  EXPECT_EQ(
      devices("[0, \"1\", 0:1, GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42]"),
      (ReplicatedDevices{.all = false,
                         .list = {"0", "1", "0:1", "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42"}}));
}

}  // namespace
}  // namespace tessera::config::nvidia
