// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_view.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::cli {
namespace {

constexpr uint64_t kOneMib = uint64_t{1} << 20;

VgpuContainer Trainer() {
  VgpuContainer container{
      .pod = "uid-1",
      .container = "train",
      .grant = "0123",
      .resource = "nvidia.com/gpu",
      .parts = {{"GPU-1", 2048, 30}},
      .file = "/vgpu/containers/0123/0123.cache",
      .region =
          {.policy = "default",
           .priority = 1,
           .devices =
               {{.uuid = "GPU-1", .limit = 2048 * kOneMib, .percent = 30, .used = 612 * kOneMib}},
           .processes = {{.slot = 0,
                          .pid = 17,
                          .held = {{0, 100 * kOneMib, 8 * kOneMib, 492 * kOneMib, 600 * kOneMib,
                                    64 * kOneMib}}},
                         {.slot = 1, .pid = 18, .held = {{0, 0, 0, 12 * kOneMib, 12 * kOneMib, 0}}},
                         {.slot = 2, .pid = 19},
                         {.slot = 3, .pid = 20}}},
      .got = {29.36},
      .alive = {true, false, true, false}};
  return container;
}

VgpuContainer Broken(Reason reason, const std::string& why) {
  return {.pod = "uid-2",
          .container = "web",
          .parts = {{"GPU-2", 1024, 0}},
          .file = "/vgpu/containers/4567/4567.cache",
          .problem = Error{reason, why}};
}

std::string TextOf(const std::vector<VgpuContainer>& containers) {
  return VgpuText(containers, {});
}

TEST(VgpuText, HasDevicesProcessesAndWhatToKnow) {
  EXPECT_EQ(TextOf({Trainer()}),
            R"(CONTAINER    DEVICE     LIMIT     USED  SHARE     GOT
uid-1/train  GPU-1   2048 MiB  612 MiB   30 %  29.4 %

CONTAINER    PID  STATE  DEVICE  CONTEXT  MODULE     DATA  MANAGED    TOTAL
uid-1/train   17  runs   GPU-1   100 MiB   8 MiB  492 MiB   64 MiB  600 MiB
uid-1/train   18  gone   GPU-1     0 MiB   0 MiB   12 MiB    0 MiB   12 MiB
uid-1/train   19  runs                                                0 MiB

note: uid-1/train: 1 process is gone and still counted, until the next process of the container starts, ends or allocates
)");
}

TEST(VgpuText, ContainersThatHaveEndedAreLeftOutButOfAnyWidth) {
  VgpuContainer ended = Broken(Reason::kNotFound, "there is no region yet");
  ended.ended = true;
  const std::vector<VgpuContainer> all = {Trainer(), ended, ended};
  const std::string text = VgpuText(all, {.columns = 120});
  EXPECT_EQ(text.find("uid-2"), text.npos) << text;
  EXPECT_TRUE(text.ends_with(
      "note: 2 containers that kubelet no longer knows are left out; '-o wide' shows all\n"))
      << text;
  EXPECT_NE(VgpuText(all, {}).find("uid-2/web (ended)  GPU-2"), std::string::npos);
}

TEST(VgpuText, ANoteThatIsOfManyIsSaidOnce) {
  std::vector<VgpuContainer> all(5, Broken(Reason::kNotFound, "there is no region yet"));
  for (size_t i = 0; i < all.size(); ++i) all[i].container = "c" + std::to_string(i);
  const std::string text = TextOf(all);
  EXPECT_EQ(text.substr(text.find("note: ")),
            "note: uid-2/c0, uid-2/c1, uid-2/c2 and 2 more: there is no region yet\n");
}

TEST(VgpuText, NoLineIsLongerThanTheView) {
  VgpuContainer container = Trainer();
  container.pod_name = "a-namespace-with-a-long-name/" + std::string(80, 'p') + "-x2k4p";
  container.region.devices[0].uuid = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
  const std::vector<VgpuContainer> all = {container};
  const std::string text = VgpuText(all, {.columns = kMostColumns});
  for (const std::string& line : Split(text, '\n')) {
    EXPECT_LE(Width(line), static_cast<size_t>(kMostColumns)) << line;
  }
  EXPECT_NE(text.find("-x2k4p/train  GPU-8a1f1d3c… "), std::string::npos) << text;
}

TEST(VgpuText, OneOfWhichNothingIsKnownHasItsGrantAndTheReason) {
  EXPECT_EQ(TextOf({Broken(Reason::kNotFound, "there is no region yet")}),
            R"(CONTAINER  DEVICE     LIMIT  SHARE
uid-2/web  GPU-2   1024 MiB    all

note: uid-2/web: there is no region yet
)");
  EXPECT_EQ(TextOf({Broken(Reason::kBadRegion, "it is no file")}),
            R"(CONTAINER  DEVICE     LIMIT  SHARE
uid-2/web  GPU-2   1024 MiB    all

note: uid-2/web: no region: /vgpu/containers/4567/4567.cache: it is no file; )" +
                std::string(ReasonAdvice(Reason::kBadRegion)) + "\n");
}

TEST(VgpuText, TheGrantCountsAndNotWhatTheRegionSays) {
  VgpuContainer container = Trainer();
  container.region.devices[0].limit = 0;
  container.region.devices[0].percent = 99;
  container.region.processes = {};
  EXPECT_EQ(TextOf({container}),
            R"(CONTAINER    DEVICE     LIMIT     USED  SHARE     GOT
uid-1/train  GPU-1   2048 MiB  612 MiB   30 %  29.4 %

note: uid-1/train: its region has the limit none for GPU-1, its grant 2048 MiB; the library uses the grant
)");
}

TEST(VgpuText, HamiCoreGoesByTheRegion) {
  VgpuContainer container = Trainer();
  container.region = {.maker = region::Maker::kHamiCore,
                      .words = {.recent = -1, .limited = 0},
                      .devices = {{.uuid = "GPU-1", .limit = 1024 * kOneMib, .used = 513 * 1024}},
                      .processes = {{.slot = 0, .pid = 17, .held = {{0, 0, 0, 0, 513 * 1024}}}},
                      .odd = 2};
  container.got = {std::nullopt};
  container.alive = {std::nullopt};
  EXPECT_EQ(TextOf({container}),
            R"(CONTAINER    DEVICE     LIMIT     USED  SHARE
uid-1/train  GPU-1   1024 MiB  0.5 MiB    all

CONTAINER    PID  STATE    DEVICE  CONTEXT  MODULE   DATA    TOTAL
uid-1/train   17  unknown  GPU-1     0 MiB   0 MiB  0 MiB  0.5 MiB

note: uid-1/train: its region has the limit 1024 MiB for GPU-1, its grant 2048 MiB; the library uses the region
note: uid-1/train: 2 numbers in its region are impossible and ignored
note: uid-1/train: its launches wait while a container of higher priority works
note: uid-1/train: it may use more than its share of compute time now
)");
}

TEST(VgpuText, OfAThousandSlotsNotAllAreShown) {
  VgpuContainer container = Trainer();
  container.region.processes.assign(1024, {.pid = 5});
  container.alive.assign(1024, true);
  const std::string text = TextOf({container});
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 1 + 65 + 1 + 1);
  EXPECT_TRUE(text.ends_with(
      "note: uid-1/train: of 1024 slots no more than 64 are shown; '-o json' has all\n"));
}

TEST(CompareWith, NamesPodsByTheirUids) {
  std::vector<VgpuContainer> containers = {Trainer(), Broken(Reason::kNotFound, "no"), {}};
  CompareWith(json::Parse(R"({"holdings": [
             {"uid": "uid-1", "namespace": "ml", "pod": "train-0", "container": "train"},
             {"uid": "uid-2", "namespace": "", "pod": ""},
             {"uid": "", "namespace": "ml", "pod": "unknown"}]})")
                  .value(),
              containers);
  EXPECT_EQ(containers[0].pod_name, "ml/train-0");
  EXPECT_EQ(containers[1].pod_name, "");
  EXPECT_EQ(containers[2].pod_name, "");
  EXPECT_TRUE(TextOf({containers[0]}).find("\nml/train-0/train  GPU-1") != std::string::npos);
}

TEST(CompareWith, WhatKubeletHasNoMoreHasEnded) {
  const auto ended = [](std::string_view ledger, const VgpuContainer& container) {
    std::vector<VgpuContainer> containers = {container};
    CompareWith(json::Parse(ledger).value(), containers);
    return containers[0].ended;
  };
  constexpr std::string_view kOther = R"({"reconciled": true, "podResources": "ok", "pending": [],
    "holdings": [{"uid": "uid-1", "container": "other", "namespace": "a", "pod": "b"}]})";
  VgpuContainer container = Trainer();
  EXPECT_TRUE(ended(kOther, container));
  container.fresh = true;
  EXPECT_FALSE(ended(kOther, container));
  container = Trainer();
  container.pod = "";  // nobody knows whose it is
  EXPECT_FALSE(ended(kOther, container));

  EXPECT_FALSE(ended(R"({"reconciled": true, "podResources": "ok", "holdings":
    [{"uid": "uid-1", "container": "train"}]})",
                     Trainer()));
  EXPECT_FALSE(ended(R"({"reconciled": false, "podResources": "ok"})", Trainer()));
  EXPECT_FALSE(ended(R"({"reconciled": true, "podResources": "nobody listens"})", Trainer()));
  EXPECT_FALSE(ended(R"({"reconciled": true, "podResources": "ok", "holdings":
    [{"uid": "", "namespace": "a", "pod": "b"}]})",
                     Trainer()));

  container = Trainer();
  container.ids = {"GPU-1::0"};
  EXPECT_FALSE(ended(R"({"reconciled": true, "podResources": "ok",
    "pending": [{"shares": ["GPU-1::0"]}]})",
                     container));
  EXPECT_TRUE(ended(R"({"reconciled": true, "podResources": "ok",
    "pending": [{"shares": ["GPU-1::1"]}]})",
                    container));
}

TEST(VgpuDocument, HasAllOfIt) {
  VgpuContainer container = Trainer();
  container.region.processes.resize(2);
  container.region.devices[0].limit = kOneMib;
  const std::vector<VgpuContainer> all = {container};
  EXPECT_EQ(VgpuDocument(all), json::Parse(R"({"containers": [{
    "pod": "", "uid": "uid-1", "container": "train", "grant": "0123",
    "resource": "nvidia.com/gpu", "ended": false,
    "region": "/vgpu/containers/0123/0123.cache",
    "granted": [{"uuid": "GPU-1", "limitBytes": 2147483648, "cores": 30}],
    "library": "tessera", "policy": "default", "priority": 1, "switchedOn": true,
    "blocked": false, "oddNumbers": 0,
    "devices": [{"uuid": "GPU-1", "limitBytes": 2147483648, "usedBytes": 641728512, "cores": 30,
                 "regionLimitBytes": 1048576, "coresGot": 29.36}],
    "processes": [
      {"slot": 0, "pid": 17, "state": "runs", "devices": [
        {"uuid": "GPU-1", "contextBytes": 104857600, "moduleBytes": 8388608,
         "dataBytes": 515899392, "managedBytes": 67108864, "totalBytes": 629145600}]},
      {"slot": 1, "pid": 18, "state": "gone", "devices": [
        {"uuid": "GPU-1", "contextBytes": 0, "moduleBytes": 0, "dataBytes": 12582912,
         "managedBytes": 0, "totalBytes": 12582912}]}]}]})")
                                   .value());
}

TEST(VgpuDocument, OneOfWhichNothingIsKnownHasAProblem) {
  const std::vector<VgpuContainer> all = {Broken(Reason::kBadRegion, "it is no file")};
  EXPECT_EQ(VgpuDocument(all), json::Parse(R"({"containers": [{
    "pod": "", "uid": "uid-2", "container": "web", "grant": "", "resource": "", "ended": false,
    "region": "/vgpu/containers/4567/4567.cache",
    "problem": {"reason": "bad-region", "message": "it is no file"},
    "granted": [{"uuid": "GPU-2", "limitBytes": 1073741824, "cores": 0}]}]})")
                                   .value());
}

}  // namespace
}  // namespace tessera::cli
