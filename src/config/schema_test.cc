// SPDX-License-Identifier: Apache-2.0
#include "config/schema.h"

#include "kinds/kinds.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tessera::config {
namespace {

const Key& KeyAt(const std::string& path) {
  for (const PathKey& key : FullSchema().keys()) {
    if (key.path == path) return *key.key;
  }
  ADD_FAILURE() << "no key " << path;
  return FullSchema().root();
}

TEST(Schema, EveryKeyIsDescribed) {
  for (const PathKey& key : FullSchema().keys()) {
    SCOPED_TRACE(key.path);
    EXPECT_FALSE(key.key->doc.empty());
    EXPECT_TRUE(key.key->doc.ends_with('.'));
    EXPECT_EQ(key.key->IsScalar(), !key.key->example.empty());
    EXPECT_EQ(key.key->IsScalar(), key.key->children.empty());
    EXPECT_TRUE(key.key->type == Type::kInt || key.key->unit.empty());
  }
}

TEST(Schema, EveryPathIsThereOnce) {
  std::set<std::string> paths;
  for (const PathKey& key : FullSchema().keys())
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
}

TEST(Schema, EveryValueHasAPlaceInConfig) {
  for (const PathKey& key : FullSchema().keys()) {
    SCOPED_TRACE(key.path);
    const bool bound = key.key->field.store && key.key->field.load;
    EXPECT_EQ(bound, key.key->IsScalar() && key.key->expands_to.empty());
    EXPECT_EQ(key.key->list.append != nullptr, key.key->type == Type::kList);
  }
}

TEST(Schema, EveryDefaultIsALegalValue) {
  for (const PathKey& key : FullSchema().keys()) {
    if (!key.key->IsScalar() || key.key->required) continue;
    EXPECT_TRUE(FullSchema().ParseValue(*key.key, FullSchema().DefaultText(*key.key))) << key.path;
  }
}

TEST(Schema, DefaultsAreThoseOfTheStructs) {
  std::map<std::string, std::string> defaults;
  for (const PathKey& key : FullSchema().keys()) {
    if (key.key->IsScalar()) defaults[key.path] = FullSchema().DefaultText(*key.key);
  }
  const std::string file = "resources[].files.groups[].paths[].";
  const std::map<std::string, std::string> expected = {
      {"advertise.debounce", "50ms"},
      {"api.condition", "DevicesUnhealthy"},
      {"api.events", "true"},
      {"api.kubeconfig", ""},
      {"api.nodeName", ""},
      {"api.use", "true"},
      {"control.socket", "/run/tessera/agent.sock"},
      {"health.checkInterval", "5s"},
      {"health.checkTimeout", "2s"},
      {"health.failures", "3"},
      {"health.flapWindow", "10m"},
      {"health.flaps", "3"},
      {"health.hold", "1m"},
      {"health.holdLimit", "30m"},
      {"health.passes", "2"},
      {"health.recovery", "10s"},
      {"health.staleAfter", "1m"},
      {"health.window", "1m"},
      {"http.address", "127.0.0.1:9440"},
      {"kubelet.pollInterval", "2s"},
      {"kubelet.registerTimeout", "12s"},
      {"kubelet.registration", "auto"},
      {"kubelet.root", ""},
      {"kubelet.socketPrefix", "tessera"},
      {"kubelet.streamTimeout", "10s"},
      {"labels.file", "/etc/kubernetes/node-feature-discovery/features.d/gfd"},
      {"labels.gpus", "driver"},
      {"labels.machineTypeFile", "/sys/class/dmi/id/product_name"},
      {"labels.output", "off"},
      {"labels.removeOnExit", "false"},
      {"labels.sleepInterval", "1m"},
      {"labels.timestamp", "true"},
      {"ledger.interval", "10s"},
      {"ledger.pendingLimit", "10m"},
      {"log.format", "text"},
      {"log.level", "info"},
      {"resources[].amd.exclude[].address", ""},
      {"resources[].amd.exporter",
       "/var/lib/amd-metrics-exporter/amdgpu_device_metrics_exporter_grpc.socket"},
      {"resources[].amd.ids", "address"},
      {"resources[].amd.names", "uuid"},
      {"resources[].amd.profile", ""},
      {"resources[].amd.vgpu.coresResource", "amd.com/gpucores"},
      {"resources[].amd.vgpu.directory", "/usr/local/vgpu"},
      {"resources[].amd.vgpu.library", "/usr/local/vgpu/libamvgpu.so"},
      {"resources[].amd.vgpu.memoryResource", "amd.com/gpumem"},
      {"resources[].amd.vgpu.register", "true"},
      {"resources[].ascend.mode", "nodes"},
      {"resources[].ascend.profile", ""},
      {"resources[].ascend.static", "false"},
      {"resources[].ascend.template", ""},
      {"resources[].cdi.annotationPrefix", "cdi.k8s.io/tessera_"},
      {"resources[].cdi.dir", "/var/run/cdi"},
      {"resources[].cdi.kind", ""},
      {"resources[].cdi.write", "true"},
      {"resources[].dummy.count", "64"},
      {"resources[].dummy.faultFile", ""},
      {"resources[].dummy.mounts[].containerPath", ""},
      {"resources[].dummy.mounts[].hostPath", ""},
      {"resources[].dummy.mounts[].readOnly", "true"},
      {"resources[].dummy.nodes[].containerPath", ""},
      {"resources[].dummy.nodes[].hostPath", ""},
      {"resources[].dummy.nodes[].permissions", "rw"},
      {"resources[].dummy.numaNodes", "0"},
      {"resources[].dummy.reset", "never"},
      {"resources[].env", ""},
      {file + "containerPath", ""},
      {file + "mount", "false"},
      {file + "optional", "false"},
      {file + "path", ""},
      {file + "permissions", "rw"},
      {file + "readOnly", "true"},
      {"resources[].files.paths", ""},
      {"resources[].pair.gpu", ""},
      {"resources[].pair.nic", ""},
      {"resources[].rdma.class", "network"},
      {"resources[].rdma.cni", "false"},
      {"resources[].rdma.function", "any"},
      {"resources[].rdma.info[].address", ""},
      {"resources[].rdma.info[].key", ""},
      {"resources[].rdma.info[].value", ""},
      {"resources[].rdma.issm", "false"},
      {"resources[].rdma.names", "address"},
      {"resources[].rdma.select[].acpiIndex", ""},
      {"resources[].rdma.select[].address", ""},
      {"resources[].rdma.select[].device", ""},
      {"resources[].rdma.select[].driver", ""},
      {"resources[].rdma.select[].interface", ""},
      {"resources[].rdma.select[].link", ""},
      {"resources[].rdma.select[].pf", ""},
      {"resources[].rdma.select[].pkey", ""},
      {"resources[].rdma.select[].pfAddress", ""},
      {"resources[].rdma.select[].vendor", ""},
      {"resources[].rdma.select[].verbs", "true"},
      {"resources[].rdma.select[].vhost", "false"},
      {"resources[].rdma.verbs", "true"},
      {"resources[].rdma.vhost", "false"},
      {"resources[].fpga.mode", "af"},
      {"resources[].fpga.profile", ""},
      {"resources[].fpga.vendor", "intel"},
      {"resources[].name", ""},
      {"resources[].nvidia.cdiHookPath", ""},
      {"resources[].nvidia.cdiLeaveOut", ""},
      {"resources[].nvidia.devRoot", "/"},
      {"resources[].nvidia.discovery", "auto"},
      {"resources[].nvidia.driverRoot", "/"},
      {"resources[].nvidia.exclude[].index", ""},
      {"resources[].nvidia.exclude[].model", ""},
      {"resources[].nvidia.exclude[].numa", ""},
      {"resources[].nvidia.exclude[].uuid", ""},
      {"resources[].nvidia.failOnInitError", "false"},
      {"resources[].nvidia.features", ""},
      {"resources[].nvidia.hostDriverRoot", ""},
      {"resources[].nvidia.idStrategy", "uuid"},
      {"resources[].nvidia.imex", "none"},
      {"resources[].nvidia.inMigMode", "left-out"},
      {"resources[].nvidia.memoryIfUntold", "0"},
      {"resources[].nvidia.mig", ""},
      {"resources[].nvidia.mps.containerRoot", ""},
      {"resources[].nvidia.mps.hostRoot", "/run/nvidia/mps"},
      {"resources[].nvidia.mps.memory", "0"},
      {"resources[].nvidia.mps.sizes[].index", ""},
      {"resources[].nvidia.mps.sizes[].memory", "0"},
      {"resources[].nvidia.mps.sizes[].model", ""},
      {"resources[].nvidia.mps.sizes[].uuid", ""},
      {"resources[].nvidia.mps.threads", "0"},
      {"resources[].nvidia.otherXids", "table"},
      {"resources[].nvidia.probation.recover", "5m"},
      {"resources[].nvidia.probation.reset", "0s"},
      {"resources[].nvidia.select[].index", ""},
      {"resources[].nvidia.select[].model", ""},
      {"resources[].nvidia.select[].numa", ""},
      {"resources[].nvidia.select[].uuid", ""},
      {"resources[].nvidia.vgpu.allowDisableControl", "false"},
      {"resources[].nvidia.vgpu.corePolicy", "default"},
      {"resources[].nvidia.vgpu.coreScaling", "1"},
      {"resources[].nvidia.vgpu.coresResource", "nvidia.com/gpucores"},
      {"resources[].nvidia.vgpu.defaultCores", "0"},
      {"resources[].nvidia.vgpu.defaultMemory", "0"},
      {"resources[].nvidia.vgpu.directory", "/usr/local/vgpu"},
      {"resources[].nvidia.vgpu.enforced", "true"},
      {"resources[].nvidia.vgpu.hami.compat", "2.8"},
      {"resources[].nvidia.vgpu.hami.register", "true"},
      {"resources[].nvidia.vgpu.hami.topologyScores", "false"},
      {"resources[].nvidia.vgpu.install", ""},
      {"resources[].nvidia.vgpu.library", ""},
      {"resources[].nvidia.vgpu.lockDirectory", "/tmp/vgpulock"},
      {"resources[].nvidia.vgpu.logLevel", ""},
      {"resources[].nvidia.vgpu.memoryBy", "library"},
      {"resources[].nvidia.vgpu.memoryFactor", "1"},
      {"resources[].nvidia.vgpu.memoryPercentageResource", "nvidia.com/gpumem-percentage"},
      {"resources[].nvidia.vgpu.memoryResource", "nvidia.com/gpumem"},
      {"resources[].nvidia.vgpu.memoryScaling", "1"},
      {"resources[].nvidia.vgpu.mode", "equal"},
      {"resources[].nvidia.vgpu.podCorePolicy", "fixed"},
      {"resources[].nvidia.vgpu.sizes[].cores", "0"},
      {"resources[].nvidia.vgpu.sizes[].memory", "0"},
      {"resources[].nvidia.vgpu.taskPriority", ""},
      {"resources[].nvidia.vgpu.unplaced", "refuse"},
      {"resources[].nvidia.vgpu.evictMismatched", "false"},
      {"resources[].nvidia.xids[].class", "recover"},
      {"resources[].nvidia.xids[].xid", "0"},
      {"resources[].numaTopology", "true"},
      {"resources[].onePerContainer", "false"},
      {"resources[].placement", "spread"},
      {"resources[].policy", "whole"},
      {"resources[].replicaSeparator", "colons"},
      {"resources[].replicas", "1"},
      {"resources[].strategies", "envvar, volume-mounts, device-specs"},
      {"rootPrefix", ""},
      {"state.dir", "/var/lib/tessera"},
      {"version", "tessera/v1"},
  };
  EXPECT_EQ(defaults, expected);
}

TEST(Schema, FlagsAndVariablesFollowFromThePath) {
  EXPECT_EQ(FlagName("kubelet.socketPrefix"), "kubelet-socket-prefix");
  EXPECT_EQ(EnvironmentName("kubelet.socketPrefix"), "TESSERA_KUBELET_SOCKET_PREFIX");
  EXPECT_EQ(FlagName("rootPrefix"), "root-prefix");
}

TEST(Schema, OnlySingleValuesOutsideListsHaveFlags) {
  std::set<std::string> without;
  for (const PathKey& key : FullSchema().keys()) {
    if (!key.path.starts_with("resources")) without.insert(key.path);
  }
  for (const PathKey& key : FlagKeys()) EXPECT_EQ(without.erase(key.path), 1U) << key.path;
  EXPECT_EQ(without,
            (std::set<std::string>{"advertise", "api", "control", "health", "http", "kubelet",
                                   "labels", "ledger", "log", "state", "version"}));
}

TEST(Schema, AnEmptyTextIsAValueOnlyWhereItIsTheDefault) {
  EXPECT_TRUE(FullSchema().ParseValue(KeyAt("kubelet.root"), ""));
  EXPECT_TRUE(FullSchema().ParseValue(KeyAt("resources[].env"), ""));
  EXPECT_FALSE(FullSchema().ParseValue(KeyAt("state.dir"), ""));
  EXPECT_FALSE(FullSchema().ParseValue(KeyAt("resources[].name"), ""));
  EXPECT_FALSE(FullSchema().ParseValue(KeyAt("resources[].dummy.nodes[].hostPath"), ""));
}

TEST(Schema, ADecimalNumberIsShownWithAllItsDigits) {
  const Key& scaling = KeyAt("resources[].nvidia.vgpu.memoryScaling");
  for (const char* text : {"1.8", "0.1", "1", "0.30000000000000004", "99.99"}) {
    EXPECT_EQ(ValueText(*FullSchema().ParseValue(scaling, text)), text);
  }
}

TEST(Schema, ValuesAreUtf8) {
  const Parsed<Value> value = FullSchema().ParseValue(KeyAt("state.dir"), "/gr\xfc");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "takes text in UTF-8, not '/gr\uFFFD'");
}

}  // namespace
}  // namespace tessera::config
