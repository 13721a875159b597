// SPDX-License-Identifier: Apache-2.0
// A node on which 0.1.0 has bound grants (state-0.1.0/README.md). The agent takes it over, and
// leaves what 0.1.0 wrote, so that 0.1.0 can take it back.
#include <csignal>
#include <filesystem>
#include <set>

#include "agent_fixture.h"
#include "grant/fraction.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kFormer[] = "test/integration/state-0.1.0";
constexpr char kGrantOfA[] = "a5149d92d2c3f7f68f91bd7f4a16fdd5";
constexpr char kGrantOfB[] = "6b15fee0b5612a7387ec7fb60544771f";

class FormerStateTest : public AgentTest {
 protected:
  FormerStateTest() {
    EXPECT_TRUE(fs::exists(kFormer)) << "tests run in the root of the tree";
    for (const auto& entry : fs::recursive_directory_iterator(kFormer)) {
      if (!entry.is_regular_file()) continue;
      const fs::path to = dir_ / entry.path().lexically_relative(kFormer);
      fs::create_directories(to.parent_path());
      fs::copy_file(entry.path(), to, fs::copy_options::overwrite_existing);
    }
  }
  void Start() {
    StartAll(
        "  - {name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], "
        "cdi: {kind: ab.com/gpu, dir: /cdi}, nvidia: {vgpu: {}}}\n",
        "rootPrefix: " + node_.directory() + "\n");
    Expect(kGpu, 80, 80);
  }
  // The file's content now, and as 0.1.0 wrote it.
  std::string Now(const std::string& file) const {
    return os::ReadFile(dir_ + "/" + file).value_or("nothing");
  }
  static std::string Then(const std::string& file) {
    return os::ReadFile(std::string(kFormer) + "/" + file).value_or("nothing");
  }
  static std::vector<std::string> FilesOf(const std::string& grant) {
    return {"state/grants/" + grant + ".json", "node/cdi/" + GrantFileName(grant),
            "node/usr/local/vgpu/limits/" + grant + "/limits"};
  }

  NvidiaNode node_{dir_ + "/node", "8xa100"};
};

TEST_F(FormerStateTest, PodsKeepWhatTheyHold) {
  Start();
  ASSERT_TRUE(LedgerKnows("a")) << Get("/ledger");
  ASSERT_TRUE(LedgerKnows("b")) << Get("/ledger");

  std::set<std::string> held;
  for (const char* pod : {"a", "b"}) {
    const auto grants = kubelet_->GrantsOf("default", pod);
    ASSERT_EQ(grants.size(), 1U) << pod;
    held.insert(grants[0].ids.begin(), grants[0].ids.end());
  }
  EXPECT_EQ(held.size(), 3U);
  const kubelet::Admission next = Run("c", {{kGpu, 1}});
  ASSERT_TRUE(next.admitted) << next.message;
  EXPECT_FALSE(held.contains(next.grants[0].ids[0])) << next.grants[0].ids[0];
}

TEST_F(FormerStateTest, WhatIsBoundIsLeftAsItWas) {
  Start();
  ASSERT_TRUE(LedgerKnows("a")) << Get("/ledger");
  ASSERT_TRUE(AwaitSaved(8));
  EndAgent(SIGTERM, kGpu);

  for (const char* grant : {kGrantOfA, kGrantOfB}) {
    for (const std::string& file : FilesOf(grant)) EXPECT_EQ(Now(file), Then(file)) << file;
  }
  EXPECT_EQ(Now("state/state.jsonl"), Then("state/state.jsonl"));
}

}  // namespace
}  // namespace tessera
