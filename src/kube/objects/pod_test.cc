// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/pod.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace tessera::kube {
namespace {

PodFields Wanted() {
  return {.keys = {"hami.io/", "nvidia.com/"},
          .resource = [](std::string_view name) { return name.starts_with("nvidia.com/"); },
          .variable = [](std::string_view name) { return name.starts_with("CUDA_"); }};
}

Result<Pod> ReadPodText(std::string_view text) {
  return ReadPod(json::Parse(text).value(), Wanted());
}

// `text` with the first `from` replaced by `to`.
std::string WithInstead(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  changed.replace(text.find(from), from.size(), to);
  return changed;
}

constexpr std::string_view kPod = R"({
  "kind": "Pod",
  "metadata": {
    "name": "trainer", "namespace": "team-a", "uid": "0b7d5a44", "resourceVersion": "17",
    "labels": {"app": "x", "hami.io/vgpu-node": "n1"},
    "annotations": {
      "hami.io/bind-phase": "allocating", "nvidia.com/vgpu-mode": "mps", "other": "y"},
    "managedFields": [{"manager": "m", "fieldsV1": {"f:metadata": {}}}]
  },
  "spec": {
    "nodeName": "n1",
    "initContainers": [
      {"name": "fetch", "image": "i"},
      {"name": "proxy", "restartPolicy": "Always"},
      {"name": "late"}],
    "containers": [
      {"name": "main",
       "env": [{"name": "CUDA_A", "value": "1"}, {"name": "PATH", "value": "/bin"},
               {"name": "CUDA_B"}],
       "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "2", "nvidia.com/gpumem": "3000"},
                     "requests": {"nvidia.com/gpu": "1"}}}],
    "volumes": [{"name": "v"}]
  },
  "status": {
    "phase": "Pending",
    "initContainerStatuses": [
      {"name": "fetch", "state": {"terminated": {"exitCode": 0}}},
      {"name": "proxy", "state": {"terminated": {"exitCode": 0}}},
      {"name": "late", "state": {"terminated": {"exitCode": 1}}},
      {"name": "unknown", "state": {}}]
  }
})";

TEST(Pod, IsReadAsFarAsItIsWanted) {
  using Kind = Container::Kind;
  const Pod expected{
      .uid = "0b7d5a44",
      .pod_namespace = "team-a",
      .name = "trainer",
      .node = "n1",
      .resource_version = "17",
      .phase = Pod::Phase::kPending,
      .labels = {{"hami.io/vgpu-node", "n1"}},
      .annotations = {{"hami.io/bind-phase", "allocating"}, {"nvidia.com/vgpu-mode", "mps"}},
      .containers = {{.name = "fetch", .kind = Kind::kInit, .succeeded = true},
                     {.name = "proxy", .kind = Kind::kSidecar},
                     {.name = "late", .kind = Kind::kInit},
                     {.name = "main",
                      .kind = Kind::kApp,
                      .limits = {{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "3000"}},
                      .requests = {{"nvidia.com/gpu", "1"}},
                      .variables = {{"CUDA_A", "1"}, {"CUDA_B", ""}}}}};

  const auto pod = ReadPodText(kPod);

  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_TRUE(*pod == expected) << pod->containers.size() << " " << pod->containers[3].name;
  EXPECT_EQ(pod->containers[3].limits, expected.containers[3].limits);
  EXPECT_EQ(pod->containers[3].variables, expected.containers[3].variables);
  EXPECT_EQ(pod->KubeletUid(), "0b7d5a44");
}

constexpr std::string_view kSmall =
    R"({"metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"1"},)"
    R"("spec":{"containers":[{"name":"c"}]}})";

TEST(Pod, WhatKubernetesLeavesOutIsEmpty) {
  const Pod expected{.uid = "u",
                     .pod_namespace = "d",
                     .name = "p",
                     .resource_version = "1",
                     .containers = {{.name = "c"}}};

  // Without wanted resources, all pods are kept complete.
  const auto read = [](std::string_view text) {
    PodFields wanted = Wanted();
    wanted.resource = {};
    return ReadPod(json::Parse(text).value(), wanted).value();
  };
  EXPECT_TRUE(read(kSmall) == expected);
  EXPECT_TRUE(
      read(R"({"metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"1",)"
           R"("labels":null,"annotations":null,"deletionTimestamp":null},)"
           R"("spec":{"nodeName":null,"initContainers":null,"containers":[{"name":"c","env":null,)"
           R"("resources":{"limits":null}}]},"status":{"phase":null}})") == expected);
}

TEST(Pod, OneThatAsksForNothingThatIsWantedIsKeptWithoutItsContainers) {
  EXPECT_EQ(ReadPodText(kSmall)->containers.size(), 0U);
  EXPECT_EQ(ReadPodText(kSmall)->name, "p");
}

// The value that the pod form keeps of a text.
Result<Pod> ReadByForm(std::string_view text, size_t piece = 4096) {
  const Form form = PodForm(Wanted());
  json::Reader reader(form.shape, form.most);
  for (size_t at = 0; at < text.size(); at += piece) TRY(reader.Add(text.substr(at, piece)));
  return ReadPod(TRY(reader.End()), Wanted());
}

TEST(Pod, ByItsFormItIsTheSame) {
  for (const size_t piece : {1U, 7U, 4096U}) {
    EXPECT_EQ(ReadByForm(kPod, piece).value(), ReadPodText(kPod).value());
  }
}

TEST(Pod, AnAnnotationThatIsTooLongIsSaidAndNotKept) {
  const std::string long_one =
      WithInstead(kPod, R"("allocating")", fmt::format(R"("{}")", std::string(250'000, 'x')));

  const Pod pod = ReadByForm(long_one).value();

  EXPECT_EQ(pod.excess, "annotations: hami.io/bind-phase has 250000 bytes, at most 32768 are read");
  EXPECT_EQ(pod.annotations, (Texts{{"nvidia.com/vgpu-mode", "mps"}}));
  EXPECT_EQ(pod.containers, ReadPodText(kPod)->containers);
}

TEST(Pod, OfOneThatIsTooLargeThereIsWhatItIs) {
  std::string containers = R"("containers": [{"name": "n0"})";
  for (int i = 1; i < 4400; ++i) {
    containers +=
        fmt::format(R"(,{{"name": "n{}", "resources": {{"limits": {{"cpu": "1"}}}}}})", i);
  }

  const Pod pod = ReadByForm(WithInstead(kPod, R"("containers": [)", containers + ",")).value();

  EXPECT_EQ(pod.FullName(), "team-a/trainer");
  EXPECT_EQ(pod.uid, "0b7d5a44");
  EXPECT_EQ(pod.excess, "its fields that are read have more than 98304 bytes");
  EXPECT_LT(pod.containers.size(), 600U);
}

TEST(Pod, WhatIsNotReadOfItMayBeOfAnySize) {
  std::string sources = R"("containers": [{"name": "first", "envFrom": [{})";
  for (int i = 0; i < 80'000; ++i) sources += R"(,{"configMapRef":{"name":"a"}})";
  sources += R"(], "env": [{"name": "PATH"})";
  for (int i = 0; i < 10'000; ++i) sources += R"(,{"name":"X","value":"y","valueFrom":{"a":1}})";

  const Pod pod = ReadByForm(WithInstead(kPod, R"("containers": [)", sources + "]},")).value();

  EXPECT_EQ(pod.excess, "");
  EXPECT_EQ(pod.containers.size(), 5U);
}

TEST(Pod, OneThatAsksForNothingIsKeptWithoutWhatIsSaidOnIt) {
  std::string text(kPod);
  for (const char* name :
       {R"("nvidia.com/gpu": "2")", R"("nvidia.com/gpumem": "3000")", R"("nvidia.com/gpu": "1")"}) {
    text = WithInstead(text, name, R"("cpu": "1")");
  }

  const Pod pod = ReadByForm(text).value();

  EXPECT_EQ(pod.annotations, Texts());
  EXPECT_EQ(pod.labels, Texts());
  EXPECT_EQ(pod.FullName(), "team-a/trainer");
}

TEST(Pod, NothingIsKeptThatNobodyAskedFor) {
  const Pod pod = ReadPod(json::Parse(kPod).value(), {}).value();

  EXPECT_EQ(pod.labels, Texts());
  EXPECT_EQ(pod.annotations, Texts());
  EXPECT_EQ(pod.containers[3], (Container{.name = "main"}));
}

TEST(Pod, OneWithPreferredAffinityOrSpreadPrefersNodes) {
  const auto prefers = [](const std::string& spec) {
    const std::string text = WithInstead(kPod, R"("nodeName")", spec + R"(, "nodeName")");
    PodFields wanted = Wanted();
    wanted.preferences = true;
    json::Reader reader(PodForm(wanted).shape, 1 << 20);
    EXPECT_TRUE(reader.Add(text));
    return ReadPod(reader.End().value(), wanted).value().prefers_nodes;
  };
  const std::string term = R"("preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}])";
  EXPECT_TRUE(prefers(R"("affinity": {"nodeAffinity": {)" + term + "}}"));
  EXPECT_TRUE(prefers(R"("affinity": {"podAffinity": {)" + term + "}}"));
  EXPECT_TRUE(prefers(R"("affinity": {"podAntiAffinity": {)" + term + "}}"));
  EXPECT_TRUE(prefers(R"("topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}])"));
  EXPECT_FALSE(prefers(R"("topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}])"));
  EXPECT_FALSE(prefers(
      R"("affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}})"));
}

TEST(Pod, AStaticOneHasAtKubeletTheUidThatItsMirrorNames) {
  const json::Value mirror = json::Parse(R"({"metadata":{"name":"p-n1","namespace":"d","uid":"u",
      "resourceVersion":"1","annotations":{"kubernetes.io/config.mirror":"5f3a"}},
      "spec":{"containers":[{"name":"c"}]}})")
                                 .value();

  const Pod pod = ReadPod(mirror, {}).value();

  EXPECT_EQ(pod.KubeletUid(), "5f3a");
  EXPECT_EQ(pod.uid, "u");
  EXPECT_EQ(KubeletUidIn(mirror), "5f3a");
}

TEST(Pod, OneThatIsBeingDeletedSaysSo) {
  EXPECT_FALSE(ReadPodText(kSmall)->deleting);
  EXPECT_TRUE(ReadPodText(WithInstead(kSmall, R"("uid")",
                                      R"("deletionTimestamp":"2026-11-20T18:00:00Z","uid")"))
                  ->deleting);
}

TEST(Pod, APhaseOfATimeToComeIsUnknown) {
  const auto phase = [](std::string_view text) {
    std::string object(kSmall);
    object.insert(object.size() - 1, fmt::format(R"(,"status":{{"phase":"{}"}})", text));
    return ReadPodText(object)->phase;
  };
  EXPECT_EQ(phase("Running"), Pod::Phase::kRunning);
  EXPECT_EQ(phase("Succeeded"), Pod::Phase::kSucceeded);
  EXPECT_EQ(phase("Failed"), Pod::Phase::kFailed);
  EXPECT_EQ(phase("Hibernating"), Pod::Phase::kUnknown);
}

TEST(Pod, OfAVariableThatIsSetTwiceTheLastCounts) {
  const auto variables = [](std::string_view env) {
    return ReadPodText(
               WithInstead(kSmall, R"("name":"c")",
                           fmt::format(R"("name":"c","env":[{}],)"
                                       R"("resources":{{"limits":{{"nvidia.com/gpu":"1"}}}})",
                                       env)))
        ->containers[0]
        .variables;
  };
  EXPECT_EQ(variables(R"({"name":"CUDA_A","value":"1"},{"name":"CUDA_A","value":"2"})"),
            (Texts{{"CUDA_A", "2"}}));
  EXPECT_EQ(variables(R"({"name":"CUDA_A","value":"1"},{"name":"CUDA_A","valueFrom":{}})"),
            Texts());
}

TEST(Pod, WhatIsBrokenIsNamed) {
  struct Case {
    std::string_view from;
    std::string_view to;
    std::string_view message;
  };
  for (const Case& c : {
           Case{R"("uid":"u",)", "", "pod d/p: metadata: uid is missing"},
           Case{R"("uid":"u")", R"("uid":7)", "pod d/p: metadata: uid is not a string"},
           Case{R"("namespace":"d",)", "", "pod p: metadata: namespace is missing"},
           Case{R"("name":"p",)", "", "a pod without a name: metadata: name is missing"},
           Case{R"(,"resourceVersion":"1")", "", "pod d/p: metadata: resourceVersion is missing"},
           Case{R"("uid":"u")", R"("uid":"u","annotations":[])",
                "pod d/p: metadata: annotations is not an object"},
           Case{R"("uid":"u")", R"("uid":"u","labels":{"hami.io/a b":1})",
                "pod d/p: metadata: labels: \"hami.io/a b\" is not a string"},
           Case{R"("containers":[{"name":"c"}])", "", "pod d/p: spec: it has no containers"},
           Case{R"([{"name":"c"}])", R"({"name":"c"})", "pod d/p: spec: containers is not a list"},
           Case{R"([{"name":"c"}])", R"([{"name":"c"},1])",
                "pod d/p: spec: containers[1] is not an object"},
           Case{R"({"name":"c"})", "{}", "pod d/p: spec: containers[0]: name is missing"},
           Case{R"("name":"c")", R"("name":"c","resources":{"limits":{"nvidia.com/gpu":{}}})",
                "pod d/p: spec: containers[0]: resources: limits: nvidia.com/gpu is not a string"},
           Case{R"("name":"c")", R"("name":"c","env":[{"value":"1"}])",
                "pod d/p: spec: containers[0]: env: name is missing"},
           Case{R"("name":"c")", R"("name":"c","env":[{"name":"CUDA_A","value":1}])",
                "pod d/p: spec: containers[0]: env: CUDA_A: value is not a string"},
           Case{R"("spec")", R"("status":7,"spec")", "pod d/p: status is not an object"},
       }) {
    const std::string broken = WithInstead(kSmall, c.from, c.to);
    const auto pod = ReadPodText(broken);

    ASSERT_FALSE(pod.has_value()) << broken;
    EXPECT_EQ(pod.error(), (Error{Reason::kInvalid, std::string(c.message)}));
  }
  EXPECT_EQ(ReadPodText("[]").error(), (Error{Reason::kInvalid, "a pod is not an object"}));
}

TEST(Pod, OfABrokenOneItIsSaidWhichItIsWhereThatCanBeTold) {
  const auto parse = [](const char* text) { return json::Parse(text).value(); };

  EXPECT_EQ(KubeletUidIn(parse(R"({"metadata":{"uid":"u","annotations":7}})")), "u");
  for (const char* text : {"7", "{}", R"({"metadata":7})", R"({"metadata":{"uid":7,"name":7}})"}) {
    EXPECT_EQ(KubeletUidIn(parse(text)), "") << text;
  }
}

}  // namespace
}  // namespace tessera::kube
