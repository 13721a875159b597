// SPDX-License-Identifier: Apache-2.0
// Mistakes of users with which NVIDIA's plugin starts anyway. The agent starts too, and warns of
// each.
#include <functional>
#include <ostream>

#include "backend/nvidia/core/nvidia_config.h"
#include "compat/nvidia/told_test.h"
#include "config/print.h"
#include "kinds/kinds.h"

namespace tessera::config::nvidia {
namespace {

struct Misuse {
  const char* name;
  Started started;
  const char* warning;                                   // empty: no warning
  std::function<void(Config&)> change = [](Config&) {};  // from the default result
};

NvidiaConfig& Gpus(Config& config) {
  return *config.resources[0].kind.As<NvidiaConfig>();
}

void GiveNodes(Config& config) {
  config.resources[0].rendering.strategies.push_back(Strategy::kDeviceSpecs);
}

// With this strategy there is no warning that a pod may bypass the variable.
constexpr char kVolumeMounts[] = "--device-list-strategy=volume-mounts";

const std::vector<Misuse> kMisuses = {
    {"ASocketThatIsNotInKubeletsDirectory",
     {.words = {"--kubelet-socket=/run/kubelet.sock"}},
     "kubelet-socket is '/run/kubelet.sock' and has no effect: kubelet is looked for in its usual "
     "places; DIRECTORY/device-plugins/kubelet.sock says where its directory is\n"},
    {"ASocketWithoutAPath",
     {.environment = {{"KUBELET_SOCKET", ""}}},
     "kubelet-socket is '' and has no effect: kubelet is looked for in its usual places; "
     "DIRECTORY/device-plugins/kubelet.sock says where its directory is\n"},
    {"ARootThatIsNotAbsolute",
     {.words = {"--driver-root-ctr-path=./driver/"}},
     "flags.plugin.containerDriverRoot is './driver/': '/driver/' is used\n",
     [](Config& config) { Gpus(config).driver_root = "/driver/"; }},
    {"ARootThatGoesUp",
     {.environment = {{"NVIDIA_DEV_ROOT", "/run/nvidia/../host"}}},
     "flags.nvidiaDevRoot is '/run/nvidia/../host': '/run/host' is used\n",
     [](Config& config) { Gpus(config).dev_root = "/run/host"; }},
    {"EmptyRoots",
     {.environment = {{"NVIDIA_DRIVER_ROOT", ""},
                      {"NVIDIA_DEV_ROOT", ""},
                      {"CONTAINER_DRIVER_ROOT", ""}}},
     "",
     [](Config& config) { Gpus(config).driver_root = "/"; }},
    {"AStrategyThatStandsTwice",
     {.words = {"--device-list-strategy=volume-mounts,volume-mounts"}},
     ""},
    {"ASwitchAndAWord",
     {.words = {"--pass-device-specs", "true"}},
     "'true' and the arguments after it have no effect, as in NVIDIA's plugin; write a switch's "
     "value after '=', as in --gds-enabled=false\n",
     GiveNodes},
    {"AnXidThatIsNone",
     {.environment = {{"DP_DISABLE_HEALTHCHECKS", "all,x"}}},
     "DP_DISABLE_HEALTHCHECKS has 'x', which is not an XID and has no effect\n",
     [](Config& config) { Gpus(config).other_xids = tessera::nvidia::OtherXids::kIgnore; }},
    {"AResourceThatIsSharedTwice",
     {.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: "
              "nvidia.com/gpu, replicas: 4}]}}\n"},
     "sharing.timeSlicing.resources[1].name 'nvidia.com/gpu' is repeated: the larger number of "
     "replicas counts\n",
     [](Config& config) { config.resources[0].policy = {Division::kReplicas, 4}; }},
    {"AResourceThatIsSharedTwiceAlike",
     {.yaml = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: "
              "2}]}}\n"},
     "sharing.timeSlicing.resources[1].name 'nvidia.com/gpu' is repeated: the larger number of "
     "replicas counts\n",
     [](Config& config) { config.resources[0].policy = {Division::kReplicas, 2}; }},
    {"ADoubledKey",
     {.yaml = "flags: {plugin: {passDeviceSpecs: false, passDeviceSpecs: true}}\n"},
     "key 'passDeviceSpecs' is repeated; the first is on line 1; the last one counts\n",
     GiveNodes},
    {"TwoDocuments",
     {.yaml = "flags: {plugin: {passDeviceSpecs: true}}\n---\nflags: {plugin: {}}\n"},
     "a second document begins here; only the first is read\n",
     GiveNodes},
    {"ADocumentsEnd", {.yaml = "flags: {gdsEnabled: false}\n---\n"}, ""},
};

void PrintTo(const Misuse& misuse, std::ostream* out) {
  *out << misuse.name;
}

class NvidiaMisuse : public testing::TestWithParam<Misuse> {};

TEST_P(NvidiaMisuse, IsToldAndRuns) {
  Started usual{.words = {kVolumeMounts}};
  Config wanted = Load(FullSchema(), usual.From()).config;
  GetParam().change(wanted);
  Started started = GetParam().started;
  started.words.insert(started.words.begin(), kVolumeMounts);

  const LoadResult result = Load(FullSchema(), started.From());

  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(Messages(result.warnings), GetParam().warning);
  EXPECT_EQ(result.config, wanted);
}

INSTANTIATE_TEST_SUITE_P(All, NvidiaMisuse, testing::ValuesIn(kMisuses),
                         [](const testing::TestParamInfo<Misuse>& test) {
                           return std::string(test.param.name);
                         });

TEST(NvidiaMisuseOfCdi, IsToldAndRuns) {
  const std::string cdi = "--device-list-strategy=cdi-cri,cdi-cri";
  const Config usual = Load(FullSchema(), Started{.words = {cdi}}.From()).config;
  EXPECT_EQ(usual.resources[0].rendering.strategies, std::vector{Strategy::kCdiCri});
  for (const auto& [word, warning] :
       {std::pair{"--cdi-annotation-prefix=cdi.k8s.io/of-our-own-plugin_",
                  "flags.plugin.cdiAnnotationPrefix and 'nvidia-device-plugin_' after it must be "
                  "the beginning of an annotation's key, domain/name with at most 32 characters "
                  "behind the slash, not 'cdi.k8s.io/of-our-own-plugin_nvidia-device-plugin_'; "
                  "'cdi.k8s.io/' is used\n"},
        std::pair{"--nvidia-ctk-path=nvidia-ctk",
                  "flags.plugin.nvidiaCTKPath is 'nvidia-ctk', which is not an absolute path and "
                  "has no effect: the hook is looked for in its usual places\n"},
        std::pair{"--driver-root=.", "flags.nvidiaDriverRoot is '.': '/' is used\n"},
        std::pair{"--cdi-disable-hooks=none",
                  "cdi-disable-hooks has 'none', which has no effect\n"}}) {
    const LoadResult result = Load(FullSchema(), Started{.words = {cdi, word}}.From());
    EXPECT_EQ(Text(result.errors), "") << word;
    EXPECT_EQ(Messages(result.warnings), warning) << word;
    EXPECT_EQ(result.config, usual) << word;
  }
}

// Every switch takes all of Go's words, by flag and by variable.
TEST(NvidiaSwitches, TakeTheSameWordsByFlagAndByVariable) {
  constexpr std::pair<const char*, bool> kWords[] = {
      {"1", true},    {"t", true},      {"T", true},      {"true", true},
      {"TRUE", true}, {"True", true},   {"0", false},     {"f", false},
      {"F", false},   {"false", false}, {"FALSE", false}, {"False", false}};
  for (const Option& option : Options()) {
    if (!option.IsSwitch()) continue;
    const auto member = std::get<bool Settings::*>(option.member);
    for (const auto& [word, value] : kWords) {
      Settings wanted;
      wanted.*member = value;
      for (const std::string& flag : option.flags) {
        EXPECT_EQ(Good({.words = {"--" + flag + "=" + word}}), wanted) << flag << " " << word;
      }
      for (const std::string& variable : option.variables) {
        EXPECT_EQ(Good({.environment = {{variable, word}}}), wanted) << variable << " " << word;
      }
    }
    Settings wanted;
    wanted.*member = true;
    EXPECT_EQ(Good({.words = {"-" + option.flags.front()}}), wanted) << option.flags.front();
    if (option.key.empty()) continue;
    wanted.*member = false;
    const size_t dot = option.key.find('.');
    std::string yaml = "{" + option.key.substr(dot + 1) + ": No}";
    if (const size_t inner = yaml.find('.'); inner != std::string::npos) {
      yaml = yaml.substr(0, inner) + ": {" + yaml.substr(inner + 1) + "}";
    }
    EXPECT_EQ(Good({.yaml = option.key.substr(0, dot) + ": " + yaml + "\n"}), wanted) << yaml;
  }
}

}  // namespace
}  // namespace tessera::config::nvidia
