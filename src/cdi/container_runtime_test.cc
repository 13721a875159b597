// SPDX-License-Identifier: Apache-2.0
#include "cdi/container_runtime.h"

#include <gtest/gtest.h>

#include <string>

#include "config/schema/yaml.h"
#include "kinds/kinds.h"

namespace tessera {
namespace {

class ContainerRuntimeTest : public testing::Test {
 protected:
  ~ContainerRuntimeTest() override { (void)os::RemoveTree(directory_); }

  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::MakeDirectories(directory_ + path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }
  void Containerd(const std::string& text) { Put("/etc/containerd/config.toml", text); }
  // The evidence for CDI, or "nothing".
  std::string Shown(const std::string& runtime, const std::string& kubelet = "v1.36.3") {
    return ShowsCdi(os::Root(directory_), {runtime, kubelet}).value_or("nothing");
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-runtime-").value();
};

TEST_F(ContainerRuntimeTest, ContainerdFromTwoOnReadsCdiByItself) {
  EXPECT_EQ(Shown("containerd://2.2.0"), "containerd://2.2.0");
  EXPECT_EQ(Shown("containerd://2.0.4-k3s2"), "containerd://2.0.4-k3s2");
  EXPECT_EQ(Shown("containerd://1.7.24"), "nothing");
  EXPECT_EQ(Shown("containerd://1.6.36"), "nothing");
}

TEST_F(ContainerRuntimeTest, CrioFrom123OnReadsCdiByItself) {
  EXPECT_EQ(Shown("cri-o://1.31.0"), "cri-o://1.31.0");
  EXPECT_EQ(Shown("cri-o://1.22.5"), "nothing");
}

TEST_F(ContainerRuntimeTest, WhatNobodyKnowsIsNoCdi) {
  for (const char* runtime : {"", "docker://28.1.1", "containerd://", "containerd://two",
                              "containerd://2", "containerd", "://", "cri-dockerd://99.9"}) {
    EXPECT_EQ(Shown(runtime), "nothing") << runtime;
  }
}

TEST_F(ContainerRuntimeTest, AKubeletBefore129HandsNoNamesOn) {
  EXPECT_EQ(Shown("containerd://2.2.0", "v1.28.15"), "nothing");
  EXPECT_EQ(Shown("containerd://2.2.0", "v1.29.0+k3s1"), "containerd://2.2.0");
  EXPECT_EQ(Shown("containerd://2.2.0", ""), "containerd://2.2.0");
}

TEST_F(ContainerRuntimeTest, TheConfigurationShowsItWhereTheVersionDoesNot) {
  Containerd("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = true # on\n");
  EXPECT_EQ(Shown("containerd://1.7.24"), "/etc/containerd/config.toml");
  EXPECT_EQ(Shown(""), "/etc/containerd/config.toml");
  EXPECT_EQ(Shown("containerd://1.6.36"), "nothing");  // which knows no such key
}

TEST_F(ContainerRuntimeTest, AFormatThatOnlyContainerdTwoReadsShowsIt) {
  Containerd("version = 3\n");
  EXPECT_EQ(Shown(""), "/etc/containerd/config.toml");
  Containerd("version = 2\n");
  EXPECT_EQ(Shown(""), "nothing");
}

TEST_F(ContainerRuntimeTest, AConfigurationThatSwitchesItOffCountsWhateverTheVersion) {
  Containerd("version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
  EXPECT_EQ(Shown("containerd://2.2.0"), "nothing");
  Containerd("# enable_cdi = false\n");
  EXPECT_EQ(Shown("containerd://2.2.0"), "containerd://2.2.0");
}

// The files of each distribution with its own containerd.
struct Row {
  const char* kubelet;  // its version; empty: it has none of its own
  const char* data;     // a path below its directory
  const char* socket;
  const char* config;
};
constexpr Row kDistributions[] = {
    {"v1.36.3+k3s1", "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
     "/run/k3s/containerd/containerd.sock",
     "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"},
    {"v1.36.3+rke2r1", "/var/lib/rancher/rke2/agent/kubelet.kubeconfig",
     "/run/k3s/containerd/containerd.sock",
     "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"},
    {"v1.36.3+k0s", "/var/lib/k0s/bin/containerd", "/run/k0s/containerd.sock",
     "/etc/k0s/containerd.toml"},
    {"", "/var/snap/microk8s/current/args/kubelet", "/var/snap/microk8s/common/run/containerd.sock",
     "/var/snap/microk8s/current/args/containerd.toml"},
};

TEST_F(ContainerRuntimeTest, ADistributionsOwnFileAloneCounts) {
  for (const Row& row : kDistributions) {
    Containerd("version = 3\n");
    for (const char* mark : {row.data, row.socket}) {
      Put(mark, "");
      EXPECT_EQ(Shown("", ""), "nothing") << mark;
      Put(row.config, "version = 2\n");
      EXPECT_EQ(Shown("", ""), "nothing") << mark;
      Put(row.config, "version = 3\n");
      EXPECT_EQ(Shown("", ""), row.config) << mark;
      Containerd("version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
      EXPECT_EQ(Shown("", ""), row.config) << mark;
      ASSERT_TRUE(os::RemoveTree(directory_));
      Containerd("version = 3\n");
    }
    EXPECT_EQ(Shown("", ""), "/etc/containerd/config.toml");
  }
}

TEST_F(ContainerRuntimeTest, TheVersionOfAKubeletSaysWhichDistributionItIsOf) {
  for (const Row& row : kDistributions) {
    if (*row.kubelet == '\0') continue;
    Containerd("version = 3\n");
    EXPECT_EQ(Shown("containerd://1.7.24", row.kubelet), "nothing") << row.kubelet;
    EXPECT_EQ(Shown("containerd://1.7.24"), "/etc/containerd/config.toml");
    Put(row.config, "version = 3\n");
    EXPECT_EQ(Shown("containerd://1.7.24", row.kubelet), row.config);
    // Leftovers of a distribution that the node had before.
    EXPECT_EQ(Shown("containerd://1.7.24"), "/etc/containerd/config.toml");
    ASSERT_TRUE(os::RemoveTree(directory_));
  }
}

TEST_F(ContainerRuntimeTest, OfDistributionsThatCannotBeToldApartAllMustSayYes) {
  Put(kDistributions[0].config, "version = 3\n");
  Put(kDistributions[1].config, "version = 2\n");
  EXPECT_EQ(Shown("", ""), "nothing");
  Put(kDistributions[1].config, "version = 3\n");
  EXPECT_EQ(Shown("", ""), kDistributions[0].config);
  Put(kDistributions[1].config, "version = 3\n[plugins.cri]\nenable_cdi = false\n");
  EXPECT_EQ(Shown("", ""), "nothing");
}

TEST_F(ContainerRuntimeTest, BesideCrioAContainerdsFileCountsNot) {
  Containerd("version = 3\n");
  Put("/run/crio/crio.sock", "");
  EXPECT_EQ(Shown("", ""), "nothing");
  Put("/etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/etc/cdi\"]\n");
  EXPECT_EQ(Shown("", ""), "/etc/crio/crio.conf");
  EXPECT_EQ(Shown("containerd://1.7.24"), "/etc/containerd/config.toml");
}

TEST_F(ContainerRuntimeTest, AContainerdThatServesNoKubeletCountsNot) {
  Containerd("disabled_plugins = [\"cri\"]\nversion = 3\n");
  EXPECT_EQ(Shown(""), "nothing");
}

TEST_F(ContainerRuntimeTest, CriosDirectoriesOfDocumentsShowIt) {
  Put("/etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/etc/cdi\"]\n");
  EXPECT_EQ(Shown(""), "/etc/crio/crio.conf");
}

TEST_F(ContainerRuntimeTest, TheVersionsAreThoseOfTheNodesStatus) {
  const auto node = json::Parse(R"({"status": {"nodeInfo": {
      "containerRuntimeVersion": "containerd://2.2.0", "kubeletVersion": "v1.36.3"}}})");
  EXPECT_EQ(VersionsOf(*node), (RuntimeVersions{"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(VersionsOf(*json::Parse(R"({"status": []})")), RuntimeVersions());
  EXPECT_EQ(VersionsOf(*json::Parse("3")), RuntimeVersions());
}

TEST_F(ContainerRuntimeTest, RemembersTheVersions) {
  EXPECT_EQ(RememberedVersions(directory_), RuntimeVersions());
  const RuntimeVersions versions{"containerd://2.2.0", "v1.36.3"};
  ASSERT_TRUE(RememberVersions(directory_, versions));
  EXPECT_EQ(RememberedVersions(directory_), versions);
}

TEST_F(ContainerRuntimeTest, ATornMemoryIsNone) {
  Put("/container-runtime", "containerd://2.2");
  EXPECT_EQ(RememberedVersions(directory_), RuntimeVersions());
}

class SuitedTest : public ContainerRuntimeTest {
 protected:
  // The first resource's strategies for this node's runtime, and their source.
  std::string Chosen(const std::string& resource) {
    config::LoadResult loaded = config::Load(
        FullSchema(),
        {.file = config::Document::Parse("t.yaml", "version: tessera/v1\nresources:\n" + resource),
         .environment = {},
         .flags = {{"state-dir", directory_}}});
    loaded.config.root_prefix = directory_;
    EXPECT_EQ(config::Text(loaded.errors), "");
    loaded = SuitedToRuntime(std::move(loaded));
    std::string text;
    for (const config::Setting& setting : loaded.Settings()) {
      const bool told = setting.path.ends_with(".strategies") || setting.path.ends_with("cdi.kind");
      if (told && !setting.value.empty()) text += setting.value + " by " + setting.source + "\n";
    }
    return text + config::Text(loaded.warnings);
  }
};

TEST_F(SuitedTest, GpusGoByCdiWhereTheRuntimeReadsIt) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(Chosen("  - {name: nvidia.com/gpu, nvidia: {}}\n"),
            "cdi-cri by containerd://2.2.0\n"
            "k8s.device-plugin.nvidia.com/gpu by containerd://2.2.0\n");
}

TEST_F(SuitedTest, GpusAreMountedWhereNobodyKnowsTheRuntime) {
  EXPECT_EQ(Chosen("  - {name: nvidia.com/gpu, nvidia: {}}\n"),
            "envvar, volume-mounts, device-specs by default\n");
}

// Otherwise a reload after the runtime is known is refused as one of another format.
TEST_F(SuitedTest, TheFormatOfTheFileIsKept) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  config::LoadResult loaded = config::Load(
      FullSchema(), {.file = config::Document::Parse(
                         "t.yaml", "version: tessera/v1\nresources: [{name: a.b/c, nvidia: {}}]\n"),
                     .environment = {},
                     .flags = {{"state-dir", directory_}}});
  loaded.config.root_prefix = directory_;
  loaded.taken_for = "HAMi's";

  const config::LoadResult suited = SuitedToRuntime(std::move(loaded));

  EXPECT_EQ(suited.config.resources[0].rendering.strategies.front(), Strategy::kCdiCri);
  EXPECT_EQ(suited.taken_for, "HAMi's");
}

TEST_F(SuitedTest, WhatIsChosenStays) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(Chosen("  - name: nvidia.com/gpu\n"
                   "    strategies: [envvar, volume-mounts, device-specs]\n"
                   "    nvidia: {}\n"),
            "envvar, volume-mounts, device-specs by t.yaml:4\n");
}

TEST_F(SuitedTest, AKindThatIsNamedIsKept) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(Chosen("  - {name: nvidia.com/gpu, cdi: {kind: our.org/gpu}, nvidia: {}}\n"),
            "cdi-cri by containerd://2.2.0\nour.org/gpu by t.yaml:3\n");
}

TEST_F(SuitedTest, DevicesThatHaveMoreThanOneWayOnlyByChoiceStay) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(Chosen("  - {name: dummy.com/npu, dummy: {count: 2}}\n"),
            "envvar, volume-mounts, device-specs by default\n");
}

TEST_F(SuitedTest, ResourcesOfTwoDriversWhoseDocumentsWouldBeOneStay) {
  ASSERT_TRUE(RememberVersions(directory_, {"containerd://2.2.0", "v1.36.3"}));
  EXPECT_EQ(
      Chosen("  - {name: a.com/gpu, nvidia: {driverRoot: /a, select: [{index: \"0\"}]}}\n"
             "  - {name: b.com/gpu, nvidia: {driverRoot: /b}}\n"),
      "envvar, volume-mounts, device-specs by default\n"
      "envvar, volume-mounts, device-specs by default\n"
      "containerd://2.2.0: supports CDI, which is used only if 'strategies' say so: "
      "resources[1].nvidia needs the 'driverRoot', 'hostDriverRoot', 'devRoot', 'cdiHookPath' and "
      "'cdiLeaveOut' of resources[0], whose 'cdi.kind' it shares [config-bad-value]\n");
}

TEST_F(ContainerRuntimeTest, ItsHandlersAreThoseOfAllFilesThatContainerdReads) {
  const auto handlers = [&](const std::string& runtime) {
    return RuntimeHandlers(os::Root(directory_), {.runtime = runtime});
  };
  EXPECT_EQ(handlers(""), std::nullopt);

  Containerd(
      "version = 2\nimports = ['conf.d/*.toml']\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n"
      "[plugins.'io.containerd.nri.v1'.containerd.runtimes.other]\n");
  Put("/etc/containerd/conf.d/card.toml",
      "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.card]\n");

  EXPECT_EQ(handlers("containerd://2.2.0"), (std::set<std::string>{"card", "runc"}));
  EXPECT_EQ(handlers("cri-o://1.31.0"), std::nullopt);
}

TEST_F(ContainerRuntimeTest, ItsHandlersAreNotKnownWhereAFileCannotBeRead) {
  Containerd("imports = ['/etc/containerd/card.toml']\n[plugins.cri.containerd.runtimes.runc]\n");

  EXPECT_EQ(RuntimeHandlers(os::Root(directory_), {}), std::nullopt);
}

}  // namespace
}  // namespace tessera
