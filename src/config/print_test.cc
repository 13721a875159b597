// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <gtest/gtest.h>

#include "config/schema.h"
#include "json/json.h"
#include "kinds/kinds.h"

namespace tessera::config {
namespace {

// Every key is set to its example, in two resources since there are two kinds.
constexpr const char* kEverything = R"(version: tessera/v1
kubelet: {root: /var/lib/kubelet, registration: kubelet-socket, socketPrefix: tessera-test,
          registerTimeout: 15s, streamTimeout: 20s, pollInterval: 1s}
health: {failures: 5, window: 2m, passes: 3, recovery: 30s, flaps: 5, flapWindow: 1h, hold: 5m,
         holdLimit: 2h, checkInterval: 10s, checkTimeout: 5s, staleAfter: 2m}
state: {dir: /data}
control: {socket: /data/agent.sock}
api: {use: false, kubeconfig: /k, nodeName: n, events: false, condition: GPUUnhealthy}
http: {address: "0.0.0.0:9440"}
log: {level: debug, format: json}
advertise: {debounce: 200ms}
ledger: {interval: 30s, pendingLimit: 5m}
rootPrefix: /tmp/machine
resources:
  - name: dummy.com/npu
    policy: replicas
    replicas: 4
    replicaSeparator: dash
    onePerContainer: true
    numaTopology: false
    placement: pack
    env: NPUS
    strategies: [envvar, cdi-cri]
    cdi: {kind: dummy.com/npu, dir: /etc/cdi, write: false, annotationPrefix: a.b/c_}
    dummy:
      count: 8
      numaNodes: 2
      nodes: [{hostPath: "/dev/npu{id}", containerPath: /dev/npu, permissions: rwm}]
      mounts: [{hostPath: /var/lib/npu, containerPath: /npu, readOnly: false}]
      reset: before-start
      faultFile: /run/faults.json
  - name: serial.example/usb
    files:
      paths: ["/dev/ttyUSB*"]
      groups:
        - paths:
            - {path: "/dev/video*", containerPath: /dev/video, permissions: r}
            - {path: /etc/camera, mount: true, readOnly: false, optional: true}
  - name: nvidia.com/mig
    nvidia:
      driverRoot: /run/nvidia/driver
      hostDriverRoot: /host/driver
      devRoot: /run/nvidia
      select: [{index: 3}, {uuid: GPU-1, model: "*A100*"}, {numa: 1}]
      exclude: [{index: 4}, {uuid: GPU-2, model: "*T4*"}, {numa: 0}]
      memoryIfUntold: 2048
      mig: 1g.10gb
      xids: [{xid: 94, class: application}, {xid: 79, class: reboot}]
      probation: {recover: 10m, reset: 30s}
      otherXids: count
      idStrategy: index
      features: [gdrcopy, gds, mofed]
      imex: required
      failOnInitError: true
      cdiHookPath: /usr/bin/nvidia-ctk
      cdiLeaveOut: [hooks, ipc-sockets]
  - name: nvidia.com/gpu
    policy: mps
    replicas: 8
    nvidia:
      inMigMode: devices
      discovery: nvml
      mps: {hostRoot: /data/mps, containerRoot: /mps, memory: 1024, threads: 20,
            sizes: [{index: 1, uuid: GPU-1, model: "*A100*", memory: 2048}]}
  - name: nvidia.com/vgpu
    policy: vgpu
    replicas: 2
    nvidia:
      vgpu: {directory: /opt/vgpu, lockDirectory: /opt/lock, library: /opt/lib.so, enforced: false,
             sizes: [{memory: 1024, cores: 10}, {memory: 2048, cores: 20}]}
  - name: hami.io/gpu
    policy: vgpu
    replicas: 1
    strategies: [cdi-cri]
    cdi: {kind: k8s.device-plugin.nvidia.com/gpu}
    nvidia:
      vgpu: {mode: requested, install: /lib/libvgpu.so, unplaced: fit, evictMismatched: true,
             memoryResource: a.b/memory, coresResource: a.b/cores,
             memoryPercentageResource: a.b/percentage, defaultMemory: 1024, defaultCores: 10,
             memoryFactor: 256, memoryScaling: 1.8, coreScaling: 0.1, memoryBy: driver,
             logLevel: 4,
             corePolicy: force, taskPriority: 0, podCorePolicy: free, allowDisableControl: true,
             hami: {register: false, topologyScores: true, compat: "2.7"}}
  - name: nvidia.com/mig-{profile}
    nvidia: {mig: "*"}
  - name: amd.com/gpu
    amd: {profile: cpx_nps4, exclude: [{address: "0000:05:00.0"}], ids: uuid, names: index,
          exporter: /run/exporter.sock,
          vgpu: {directory: /opt/amd, library: /opt/libamvgpu.so, memoryResource: a.b/amd-memory,
                 coresResource: a.b/amd-cores, register: false}}
  - name: huawei.com/vnpu
    cdi: {kind: tessera.dev/vnpu}
    strategies: [cdi-cri]
    ascend: {profile: Ascend910B3, template: vir05_1c_16g, static: true, mode: runtime}
  - name: rdma/vf
    cdi: {kind: tessera.dev/vf}
    strategies: [cdi-cri]
    rdma:
      select: [{vendor: "15b3", device: "101e", driver: mlx5_core, address: "0000:af:00.1", interface: ens3f0v0,
                pf: "ens3f0np0#0-3,7", pfAddress: "0000:af:00.0", acpiIndex: "101", link: ether, pkey: "0x8001",
                verbs: false, vhost: true}]
      function: vf
      class: accelerator
      verbs: false
      issm: true
      vhost: true
      cni: true
      info: [{address: "0000:af:00.1", key: rack, value: "7"}]
      names: hca
  - name: fpga.intel.com/region-a
    cdi: {kind: tessera.dev/fpga}
    strategies: [cdi-cri]
    fpga: {vendor: intel, mode: region, profile: region-a}
  - name: amd.com/gpu-nic
    pair: {gpu: amd.com/gpu, nic: rdma/vf}
labels: {output: file, gpus: vfio, file: /out, machineTypeFile: /machine, sleepInterval: 5m, timestamp: false,
         removeOnExit: true}
)";

LoadResult LoadedFrom(const std::string& text, const std::string& name = "t.yaml") {
  LoadResult result = Load(FullSchema(), {.file = Document::Parse(name, text)});
  EXPECT_EQ(Text(result.errors), "");
  return result;
}

TEST(PrintYaml, WordsThatMeanAnythingElseInYaml11AreQuoted) {
  const std::string text = PrintYaml(LoadedFrom("version: tessera/v1\nhttp: {address: \"off\"}\n"));
  EXPECT_NE(text.find("  address: \"off\" "), std::string::npos) << text;
}

TEST(PrintYaml, EveryKeySurvivesARoundTrip) {
  const LoadResult first = LoadedFrom(kEverything);
  const LoadResult second = LoadedFrom(PrintYaml(first));
  EXPECT_EQ(second.config, first.config);
  for (const PathKey& key : FullSchema().keys()) {
    if (!key.key->IsScalar() || !key.key->expands_to.empty()) continue;
    bool set = false;
    for (const Setting& setting : first.Settings()) {
      std::string path = setting.path;
      for (size_t at = path.find('['); at != std::string::npos; at = path.find('[', at + 1)) {
        path.erase(at + 1, path.find(']', at) - at - 1);
      }
      set = set || (path == key.path && setting.source != "default");
    }
    EXPECT_TRUE(set) << key.path << " is not in the test's file";
  }
}

TEST(PrintYaml, DefaultsSurviveARoundTrip) {
  const LoadResult first = LoadedFrom(
      "version: tessera/v1\nresources: [{name: a.com/b, dummy: }, {name: c.com/d, files: {paths: "
      "[/x]}}]\n");
  EXPECT_EQ(LoadedFrom(PrintYaml(first)).config, first.config);
}

TEST(PrintChangedYaml, LeavesOutWhatIsTheDefault) {
  const LoadResult result = LoadedFrom(
      "version: tessera/v1\nlog: {level: debug, format: text}\n"
      "resources: [{name: dummy.com/npu, replicas: 4, policy: replicas, dummy: {count: 64}}, "
      "{name: a.b/c, nvidia: {}}]\n");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(PrintChangedYaml(result),
            "version: tessera/v1                           # t.yaml:1\n"
            "log:\n"
            "  level: debug                                # t.yaml:2\n"
            "resources:\n"
            "  - name: dummy.com/npu                       # t.yaml:3\n"
            "    policy: replicas                          # t.yaml:3\n"
            "    replicas: 4                               # t.yaml:3\n"
            "    dummy: {}\n"
            "  - name: a.b/c                               # t.yaml:3\n"
            "    nvidia: {}\n");
}

TEST(PrintChangedYaml, SurvivesARoundTrip) {
  for (const char* text : {kEverything, "version: tessera/v1\n"}) {
    const LoadResult first = LoadedFrom(text);
    ASSERT_TRUE(first.ok());
    const std::string printed = PrintChangedYaml(first);
    EXPECT_EQ(LoadedFrom(printed).config, first.config) << printed;
    EXPECT_LT(printed.size(), PrintYaml(first).size());
  }
}

TEST(PrintYaml, SaysWhereEachValueCameFrom) {
  const LoadResult result = Load(
      FullSchema(), {.file = Document::Parse(
                         "t.yaml",
                         "version: tessera/v1\nresources:\n- name: dummy.com/npu\n  dummy: {nodes: "
                         "[{hostPath: '/dev/{id}'}]}\n"),
                     .environment = {{"TESSERA_LOG_LEVEL", "debug"}},
                     .flags = {{"state-dir", "/data"}}});
  const std::string printed = PrintYaml(result);
  EXPECT_TRUE(
      printed.starts_with("version: tessera/v1                           # t.yaml:1\n"
                          "kubelet:\n"
                          "  root: \"\"                                    # default\n"))
      << printed;
  EXPECT_NE(printed.find("state:\n"
                         "  dir: /data                                  # flag --state-dir\n"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("log:\n"
                         "  level: debug                                # environment "
                         "TESSERA_LOG_LEVEL\n"),
            std::string::npos)
      << printed;
  EXPECT_TRUE(
      printed.ends_with("resources:\n"
                        "  - name: dummy.com/npu                       # t.yaml:3\n"
                        "    policy: whole                             # default\n"
                        "    replicas: 1                               # default\n"
                        "    replicaSeparator: colons                  # default\n"
                        "    onePerContainer: false                    # default\n"
                        "    numaTopology: true                        # default\n"
                        "    placement: spread                         # default\n"
                        "    env: DUMMY_VISIBLE_DEVICES                # default\n"
                        "    strategies: [envvar, volume-mounts, device-specs]  # default\n"
                        "    cdi:\n"
                        "      kind: \"\"                                # default\n"
                        "      write: true                             # default\n"
                        "      annotationPrefix: cdi.k8s.io/tessera_   # default\n"
                        "      dir: /var/run/cdi                       # default\n"
                        "    dummy:\n"
                        "      count: 64                               # default\n"
                        "      numaNodes: 0                            # default\n"
                        "      nodes:\n"
                        "        - hostPath: \"/dev/{id}\"               # t.yaml:4\n"
                        "          containerPath: \"/dev/{id}\"          # default\n"
                        "          permissions: rw                     # default\n"
                        "      mounts: []\n"
                        "      reset: never                            # default\n"
                        "      faultFile: \"\"                           # default\n"))
      << printed;
}

TEST(PrintYaml, AFileNameThatIsNoCommentIsQuoted) {
  const LoadResult result =
      Load(FullSchema(), {.file = Document::Parse("a\nb.yaml", "version: tessera/v1\n")});
  EXPECT_TRUE(PrintYaml(result).starts_with(
      "version: tessera/v1                           # \"a\\nb.yaml:1\"\n"));
}

TEST(PrintYaml, TextsThatYamlWouldTakeForSomethingElseAreQuoted) {
  for (const char* dir : {"/null", "/a: b", "/a #b", "/a:", "/\"", "/a\\", "/gr\u00fc\u00df"}) {
    const LoadResult first =
        Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n"),
                            .flags = {{"state-dir", dir}}});
    EXPECT_EQ(LoadedFrom(PrintYaml(first)).config.state_dir, dir);
  }
  for (const char* prefix : {"null", "true", "-", "8"}) {
    const LoadResult first =
        Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n"),
                            .flags = {{"kubelet-socket-prefix", prefix}}});
    EXPECT_EQ(LoadedFrom(PrintYaml(first)).config.kubelet.socket_prefix, prefix);
  }
}

TEST(PrintJson, HoldsTheValuesAndTheirSources) {
  const json::Value whole = *json::Parse(PrintJson(LoadedFrom(kEverything)));
  const json::Object& config = *json::GetObject(whole.as_object(), "config");
  const json::Object& sources = *json::GetObject(whole.as_object(), "sources");
  EXPECT_EQ(json::Write(config.at("log")), R"({"level":"debug","format":"json"})");
  const json::Object& resource = json::GetArray(config, "resources")->at(0).as_object();
  EXPECT_EQ(json::Write(resource.at("strategies")), R"(["envvar","cdi-cri"])");
  EXPECT_EQ(json::Write(json::GetObject(resource, "dummy")->at("mounts")),
            R"([{"hostPath":"/var/lib/npu","containerPath":"/npu","readOnly":false}])");
  EXPECT_EQ(json::GetInt(resource, "replicas"), 4);
  EXPECT_EQ(json::GetString(sources, "resources[0].dummy.count"), "t.yaml:26");
  const json::Object& requested = json::GetArray(config, "resources")->at(5).as_object();
  const json::Object& vgpu = *json::GetObject(*json::GetObject(requested, "nvidia"), "vgpu");
  EXPECT_EQ(vgpu.at("memoryScaling"), json::Value(1.8));
}

}  // namespace
}  // namespace tessera::config
