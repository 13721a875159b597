// SPDX-License-Identifier: Apache-2.0
// Matched grants of requested sizes, on a runtime without CDI: matched when kubelet asks, and
// checked when the container is about to be made.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/allocator.h"
#include "fraction/grant_requests_under_test.h"
#include "kubelet/answered_test.h"

namespace tessera::agent {
namespace {

using Kind = kube::Container::Kind;

std::string Varint(size_t number) {
  std::string bytes;
  for (; number > 127; number >>= 7) bytes += static_cast<char>(number | 128);
  return bytes + static_cast<char>(number);
}
std::string LongField(int number, const std::string& bytes) {
  return static_cast<char>(number << 3 | 2) + Varint(bytes.size()) + bytes;
}
// The grant as a ContainerAllocateResponse, which kubelet keeps.
std::string AnswerOf(const Grant& grant) {
  std::string text;
  const auto add = [&](int number, const std::map<std::string, std::string>& map) {
    for (const auto& [key, value] : map) {
      text += LongField(number, LongField(1, key) + LongField(2, value));
    }
  };
  add(1, grant.envs);
  for (const Mount& mount : grant.mounts) {
    text += LongField(2, LongField(1, mount.container_path) + LongField(2, mount.host_path));
  }
  for (const DeviceNode& node : grant.devices) {
    text += LongField(3, LongField(1, node.container_path) + LongField(2, node.host_path));
  }
  add(4, grant.annotations);
  return text;
}

class GrantMatchedTest : public GrantRequestsTest {
 protected:
  GrantMatchedTest() {
    rendering_.strategies = {Strategy::kEnvvar};
    rendering_.env = "NVIDIA_VISIBLE_DEVICES";
    const std::string node = directory_ + "/node";
    may_make_nodes_ = mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  }
  void Serve() {
    allocator_->Set({.offer = std::make_shared<const Offer>(offer_), .rendering = rendering_});
  }
  Result<Grant> Ask(const std::vector<std::string>& ids) {
    Serve();
    return kubelet::Answered(*allocator_, ids);
  }
  // kubelet has given the grant to that container.
  void HoldGrant(const std::string& pod, const std::string& container, const std::string& id,
                 const Grant& grant) {
    Hold(pod, container, {id}, AnswerOf(grant));
  }
  std::string GateOfGrant(const Grant& grant) const {
    return directory_ + grant.devices.at(0).host_path;
  }
  static std::string MountAt(const Grant& grant, const std::string& place) {
    for (const Mount& mount : grant.mounts) {
      if (mount.container_path == place) return mount.host_path;
    }
    return "none";
  }

  bool may_make_nodes_ = false;
  http::Metrics metrics_;
  std::vector<std::string> granted_;
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      kGpu, std::make_shared<os::Workers>(1),
      std::make_shared<GrantBinder>(directory_ + "/kubelet", directory_ + "/state",
                                    os::Root(directory_), context_, inbox_),
      context_, metrics_, [this](const Offer&, std::vector<std::string> ids) {
        granted_ = std::move(ids);
        return Status();
      });
};

#define SKIP_WITHOUT_NODES() \
  if (!may_make_nodes_) GTEST_SKIP() << "this machine lets nobody make device nodes"

TEST_F(GrantMatchedTest, AContainerIsAnsweredWithWhatWasChosenForItsPod) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();

  const std::string name = grant.annotations.at(kGrantAnnotation);
  EXPECT_EQ(grant.envs,
            (std::map<std::string, std::string>{
                {"NVIDIA_VISIBLE_DEVICES", Gpu(1)},
                {"CUDA_DEVICE_MEMORY_LIMIT_0", "300m"},
                {"CUDA_DEVICE_SM_LIMIT", "30"},
                {"CUDA_DEVICE_SM_LIMIT_0", "30"},
                {"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/usr/local/vgpu/" + name + ".cache"}}));
  EXPECT_EQ(grant.annotations,
            (std::map<std::string, std::string>{{kGrantAnnotation, name},
                                                {kPartsAnnotation, Gpu(1) + "=300:30"},
                                                {kPodAnnotation, "uid-1"},
                                                {kContainerAnnotation, "app"}}));
  EXPECT_EQ(MountAt(grant, "/usr/local/vgpu"), "/usr/local/vgpu/containers/uid-1_app");
  EXPECT_EQ(MountAt(grant, "/etc/ld.so.preload"), "/usr/local/vgpu/ld.so.preload");
  EXPECT_EQ(
      grant.devices,
      (std::vector<DeviceNode>{{"/usr/local/vgpu/grants/" + name, "/dev/tessera-grant", "r"}}));
}

TEST_F(GrantMatchedTest, ItsGateIsMadeWhenItIsAboutToStartAndNotBefore) {
  SKIP_WITHOUT_NODES();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  EXPECT_FALSE(os::Exists(GateOfGrant(grant)));

  HoldGrant("uid-1", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(told_, std::vector<std::string>{"uid-1 app has " + Chosen(1, 300, 30) + ";"});
  const os::FileInfo gate = os::Inspect(GateOfGrant(grant)).value();
  EXPECT_EQ(gate.type, os::FileInfo::Type::kCharDevice);
  EXPECT_EQ(gate.rdev, makedev(1, 3));
  const std::string files = directory_ + "/usr/local/vgpu";
  EXPECT_EQ(os::Inspect(files + "/grants").value().mode, 0700U);
  EXPECT_EQ(os::Inspect(files + "/containers").value().mode, 0700U);
  EXPECT_EQ(os::Inspect(files + "/containers/uid-1_app").value().mode, 0777U);
}

TEST_F(GrantMatchedTest, ItStartsAgainAlsoWhereSomebodyHasPutSomethingElseInItsGatesPlace) {
  SKIP_WITHOUT_NODES();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_TRUE(os::RemoveFile(GateOfGrant(grant)));
  ASSERT_EQ(symlink("/dev/zero", GateOfGrant(grant).c_str()), 0);

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::Inspect(GateOfGrant(grant)).value().type, os::FileInfo::Type::kCharDevice);
}

TEST_F(GrantMatchedTest, AGateGoesWithItsGrant) {
  SKIP_WITHOUT_NODES();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  checkpoint_.entries.clear();
  Save();
  RemoveForgotten();
  clock_.Advance(Duration(60'000));
  RemoveForgotten();
  EXPECT_FALSE(os::Exists(GateOfGrant(grant)));
}

TEST_F(GrantMatchedTest, WhileAPodIsWaitedForOtherCallsAreAnswered) {
  context_->pods.SetLookup([](const std::string&, Duration, const PodCache::Answer&) {});
  Serve();
  auto waits = kubelet::Ask(*allocator_, {Share(1, 0)});

  EXPECT_EQ(allocator_->Prefer({Share(0, 0), Share(1, 1)}, {}, 1).size(), 1U);
  auto waits_too = kubelet::Ask(*allocator_, {Share(0, 0)});

  EXPECT_EQ(waits_too.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_NE(waits.get().has_value(), waits_too.get().has_value()) << "there is one container";
}

TEST_F(GrantMatchedTest, WhatKubeletGaveToAnotherPodIsRefusedForGood) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");

  HoldGrant("uid-2", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}),
            "wrong-match: nvidia.com/gpu: kubelet gave container app of pod uid-2 the grant of "
            "container app of pod uid-1");
  EXPECT_EQ(told_, std::vector<std::string>{"uid-2 app is refused for good: wrong-match"});
  EXPECT_FALSE(os::Exists(GateOfGrant(grant)));
}

TEST_F(GrantMatchedTest, WhatWasChosenAnewAfterKubeletHadAskedIsRefusedForGood) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 200, 30) + ";");

  HoldGrant("uid-1", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("wrong-match: nvidia.com/gpu: container app of pod uid-1 was granted "
                        "{0}=300:30, but now {0}=200:30 is chosen for it",
                        Gpu(1)));
  EXPECT_FALSE(os::Exists(GateOfGrant(grant)));
}

// The container's variables have the former sizes; a pod's own variables could have any.
TEST_F(GrantMatchedTest, WhereTheLibraryIsTesserasOwnOtherSizesAreGrantedAndStandInTheLimitsFile) {
  SKIP_WITHOUT_NODES();
  rendering_.fractions->own_library = true;
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  EXPECT_EQ(grant.envs.at("CUDA_DEVICE_MEMORY_LIMIT_0"), "300m");
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 200, 20) + ";");

  HoldGrant("uid-1", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  const std::string limits = directory_ + MountAt(grant, "/run/tessera/vgpu") + "/limits";
  EXPECT_EQ(os::ReadFile(limits).value(),
            fmt::format("tessera-limits 1\n"
                        "device {} memory=209715200 cores=20\n"
                        "policy=default\npriority=1\noversubscribe=no\ncore-policy=fixed\n"
                        "region={}\n",
                        Gpu(1), grant.envs.at("CUDA_DEVICE_MEMORY_SHARED_CACHE")));
  EXPECT_TRUE(os::Exists(GateOfGrant(grant)));
}

TEST_F(GrantMatchedTest, WhereTheLibraryIsTesserasOwnAnotherGpuIsRefusedForGood) {
  rendering_.fractions->own_library = true;
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 200, 30) + ";");

  HoldGrant("uid-1", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("wrong-match: nvidia.com/gpu: container app of pod uid-1 was granted "
                        "{}=300:30, but now {}=200:30 is chosen for it",
                        Gpu(1), Gpu(0)));
  EXPECT_FALSE(os::Exists(GateOfGrant(grant)));
}

TEST_F(GrantMatchedTest, AContainerWithoutTheLibraryIsSoFromTheBeginning) {
  rendering_.fractions->may_disable_control = true;
  kube::Container free = Asking("app", 300, 30);
  free.variables["CUDA_DISABLE_CONTROL"] = "true";
  Know("uid-1", {free}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  EXPECT_EQ(MountAt(grant, "/etc/ld.so.preload"), "none");

  rendering_.fractions->may_disable_control = false;
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  EXPECT_EQ(Bind({Share(0, 0)}),
            "wrong-match: nvidia.com/gpu: container app of pod uid-1 was granted without the "
            "limiting library, which no longer applies");
}

TEST_F(GrantMatchedTest, TheContainersOfAPodAreAnsweredInTheirOrder) {
  Know("uid-1", {Asking("init", 100, 10, Kind::kInit), Asking("app", 300, 0)},
       Chosen(0, 100, 10) + ";" + Chosen(1, 300, 0) + ";");
  EXPECT_EQ(Ask({Share(0, 0)})->annotations.at(kContainerAnnotation), "init");
  EXPECT_EQ(Ask({Share(0, 0)})->annotations.at(kContainerAnnotation), "app");
  EXPECT_EQ(Ask({Share(0, 0)}).error().reason, Reason::kNotMatched);
}

TEST_F(GrantMatchedTest, AnAgentThatBeginsGoesOnWhereKubeletsCheckpointEnds) {
  Know("uid-1", {Asking("one", 100, 10), Asking("two", 300, 30)},
       Chosen(0, 100, 10) + ";" + Chosen(1, 300, 30) + ";");
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  binder_->TellClaims();
  EXPECT_EQ(Ask({Share(0, 1)})->annotations.at(kContainerAnnotation), "two");
}

TEST_F(GrantMatchedTest, WhereTheDeviceOfAMatchIsSickNobodyHasIt) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  offer_.troubles[1] = Error{Reason::kCheckFailed, "broken"};
  EXPECT_EQ(Ask({Share(0, 0)}).error().message,
            fmt::format("nvidia.com/gpu: device {} is unhealthy: broken", Gpu(1)));
}

TEST_F(GrantMatchedTest, AGateInADirectoryOfSomebodyElsesIsNone) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  const std::string gates = directory_ + "/usr/local/vgpu/grants";
  ASSERT_EQ(symlink(directory_.c_str(), gates.c_str()), 0);
  EXPECT_EQ(Bind({Share(0, 0)}),
            "permission: " + gates + " is not a directory of the agent's user; remove it");
}

TEST_F(GrantMatchedTest, WhatWasPromisedWithoutCdiHoldsWhereThereIsCdiByNow) {
  SKIP_WITHOUT_NODES();
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  const Grant grant = Ask({Share(0, 0)}).value();
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  rendering_.strategies = {Strategy::kCdiCri};
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_TRUE(os::Exists(GateOfGrant(grant)));
  EXPECT_FALSE(os::Exists(directory_ + "/cdi"));
}

TEST_F(GrantMatchedTest, WhatWasPromisedByCdiIsRefusedWhereThereIsNoneByNow) {
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  rendering_.strategies = {Strategy::kCdiCri};
  HoldGrant("uid-1", "app", Share(0, 0), Ask({Share(0, 0)}).value());
  rendering_.strategies = {Strategy::kEnvvar};
  EXPECT_EQ(Bind({Share(0, 0)}),
            "not-placed: nvidia.com/gpu: container app of pod uid-1 was granted its pod's request, "
            "but the configuration now makes no CDI documents; delete the pod");
}

TEST_F(GrantMatchedTest, AMountThatWouldBeAnEmptyDirectoryIsRefusedAlsoForEqualParts) {
  rendering_.fractions->requests.reset();
  const Grant grant = Ask({Share(0, 0)}).value();
  HoldGrant("uid-1", "app", Share(0, 0), grant);
  rendering_.fractions->library = "/usr/local/vgpu/other.so";
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/usr/local/vgpu/other.so", "a library", 0644));
  ASSERT_TRUE(os::RemoveFile(directory_ + kLibrary));
  EXPECT_EQ(Bind({Share(0, 0)}),
            "bad-mount: /usr/local/vgpu/libvgpu.so must be mounted at /usr/local/vgpu/libvgpu.so, "
            "but there is no file");
}

}  // namespace
}  // namespace tessera::agent
