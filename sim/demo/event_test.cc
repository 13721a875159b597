// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/event.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

std::vector<std::string> Lines(const std::vector<Event>& events) {
  std::vector<std::string> lines;
  for (const Event& event : events) lines.push_back(PlainLine(event));
  return lines;
}
using Texts = std::vector<std::string>;

TEST(Narrator, AdmittedPodIsTold) {
  Narrator narrator;
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Admitted("train", {"0", "1", "2", "7"}), {}, 2'500))),
            Texts({"00:02.500  pod train runs with dummy.com/npu 0-2,7"}));
}

TEST(Narrator, RefusedPodIsToldWithTheReason) {
  Narrator narrator;
  PodTried tried = Admitted("greedy", {});
  tried.admission = {};
  tried.admission.reason = "UnexpectedAdmissionError";
  tried.admission.message = "too\nmany";
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(tried))),
            Texts({"00:00.000  pod greedy refused: UnexpectedAdmissionError: too many"}));
}

TEST(Narrator, NumbersAreToldWhenTheyChange) {
  Narrator narrator;
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Listed(), {Npus(4)}))),
            Texts({"00:00.000  dummy.com/npu: 4 of 4 allocatable"}));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Listed(), {Npus(4)}))), Texts());
}

TEST(Narrator, StoryIsMarked) {
  Narrator narrator;
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Caption{"kubelet restarts"}, {}, 61'000))),
            Texts({"01:01.000  -- kubelet restarts"}));
}

TEST(Narrator, WhatWasAlreadySoIsQuiet) {
  Narrator narrator;
  const Expected met{.text = "x", .seen = "", .met = true, .waited = Duration(0)};
  EXPECT_TRUE(narrator.EventsOf(Saw(met))[0].quiet);
  const Expected missed{.text = "x", .seen = "y", .met = false, .waited = Duration(5'000)};
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(missed))),
            Texts({"00:00.000  NOT AS EXPECTED after 5.0 s: x; seen: y"}));
}

const std::vector<HardwareDevice> kGpus = {
    {"6", "GPU-a", "big"}, {"6:0", "MIG-a", "1g"}, {"6:1", "MIG-b", "2g"}, {"7", "GPU-b", "big"}};

TEST(Narrator, HardwareIsToldByModel) {
  Narrator narrator;
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{{}, kGpus}))),
            Texts({"00:00.000  hardware: 2 x big, 2 MIG devices"}));
  const std::vector<HardwareDevice> divided = {{"0", "0000:05:00.0", "big"},
                                               {"0:0", "0000:05:00.0-0", "cpx"}};
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{{}, divided}))),
            Texts({"00:00.000  hardware: 1 x big, 1 partition"}));
}

TEST(Narrator, PairsAreNamedByTheirParts) {
  Narrator narrator;
  const std::vector<HardwareDevice> both = {{"2", "0000:33:00.0", "big"},
                                            {"3", "0000:35:00.0", "card"},
                                            {"3:0", "0000:35:00.1", "virtual function"}};
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{{}, both}))),
            Texts({"00:00.000  hardware: 1 x big, 1 x card, 1 virtual function"}));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Admitted("a", {"0000:33:00.0_0000:35:00.0"})))),
            Texts({"00:00.000  pod a runs with dummy.com/npu 2+3"}));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Admitted("b", {"0000:33:00.0_other"})))),
            Texts({"00:00.000  pod b runs with dummy.com/npu 0000:33:00.0_other"}));
}

TEST(Narrator, WhatIsWrongWithTheHardwareIsToldInItsOwnWords) {
  Narrator narrator;
  using What = ChangeHardware::What;
  const ChangeHardware lost{What::kFaults, "gpus: {6: {lost: true}}\n"};
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{lost, {}}))),
            Texts({"00:00.000  hardware: gpus: {6: {lost: true}}"}));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{ChangeHardware{What::kFaults, ""}, {}}))),
            Texts({"00:00.000  hardware: all faults are cleared"}));
}

TEST(Narrator, ADivisionIsToldByProfiles) {
  Narrator narrator;
  std::vector<HardwareDevice> touched = {kGpus[0], kGpus[1], {"6:-", "MIG-c", "3g"}, kGpus[3]};
  const ChangeHardware change{ChangeHardware::What::kMig, "6: []"};
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(HardwareMade{change, touched}))),
            Texts({"00:00.000  GPU 6 is divided into 1g; GPU 7 is divided into nothing"}));
}

TEST(Narrator, GrantedGpusAreToldByIndex) {
  Narrator narrator;
  narrator.EventsOf(Saw(HardwareMade{{}, kGpus}));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(Admitted("p", {"GPU-b::1", "GPU-a::0", "MIG-b"})))),
            Texts({"00:00.000  pod p runs with dummy.com/npu 6::0,6:1,7::1"}));
}

PodTried AdmittedToVgpus() {
  PodTried tried = Admitted("p", {FirstGpu(3), FirstGpu(4), SecondGpu(0)});
  tried.admission.grants[0].resource = kGpu;
  tried.admission.grants[0].response.envs = {};
  return tried;
}

TEST(Narrator, VirtualGpusAreToldByWhatTheyAreWorth) {
  Narrator narrator;
  narrator.EventsOf(Saw(TwoGpus()));
  narrator.EventsOf(Saw(DividedByTen()));
  EXPECT_EQ(Lines(narrator.EventsOf(Saw(AdmittedToVgpus()))),
            Texts({"00:00.000  pod p runs with nvidia.com/gpu 16312 MiB and 20% of GPU 0, 4096 "
                   "MiB and 10% of GPU 1"}));
}

TEST(Event, JsonLineSaysWhatVirtualGpusAreWorth) {
  Narrator narrator;
  narrator.EventsOf(Saw(TwoGpus()));
  narrator.EventsOf(Saw(DividedByTen()));
  const std::vector<Event> events = narrator.EventsOf(Saw(AdmittedToVgpus()));
  const std::string grants = json::Write(*json::GetArray(events.at(0).details, "grants"));
  EXPECT_EQ(grants.substr(grants.find("\"parts\"")),
            R"("parts":[{"gpu":"0","memory_mib":16312,"compute_percent":20},)"
            R"({"gpu":"1","memory_mib":4096,"compute_percent":10}]}])");
}

TEST(Event, JsonLineHasTheParticulars) {
  Narrator narrator;
  Observation seen = Saw(Admitted("p", {"3"}), {}, 1'250);
  seen.scenario_line = "default.yaml:12";
  EXPECT_EQ(JsonLine(narrator.EventsOf(seen)[0]),
            R"({"time_ms":1250,"event":"pod-admitted","text":"pod p runs with dummy.com/npu 3",)"
            R"("pod":"p","grants":[{"container":"main","resource":"dummy.com/npu","ids":["3"],)"
            R"("env":{"DUMMY_VISIBLE_DEVICES":"3"}}],"step":"default.yaml:12"})");
}

TEST(ShortIds, RunsOfThreeAndMoreAreShortened) {
  EXPECT_EQ(ShortIds({"0", "1", "2", "3", "7"}), "0-3,7");
  EXPECT_EQ(ShortIds({"0", "1", "5"}), "0,1,5");
  EXPECT_EQ(ShortIds({"a", "b"}), "a,b");
  EXPECT_EQ(ShortIds({"1", "3", "5"}, 2), "1,3,...");
  EXPECT_EQ(ShortIds({}), "");
}

}  // namespace
}  // namespace tessera::demo
