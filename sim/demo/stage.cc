// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "backend/dummy/fault_file.h"
#include "base/text.h"
#include "config/schema.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"
#include "os/files.h"
#include "share/share.h"
#include "sim/demo/agent_calls.h"

namespace tessera::demo {
namespace {

// The agent's own limit is two seconds.
constexpr Duration kStopLimit{5'000};
constexpr Duration kStopPoll{10};

std::set<std::string> SickIn(const std::vector<kubelet::ResourceStatus>& resources) {
  std::set<std::string> sick;
  for (const kubelet::ResourceStatus& resource : resources) {
    for (const kubelet::DeviceStatus& device : resource.devices) {
      if (!device.healthy) sick.insert(resource.name + " " + device.id);
    }
  }
  return sick;
}

// $TMPDIR, unless paths below it are too long for unix sockets.
std::string TemporaryPlace() {
  constexpr size_t kLongest = 16;
  const char* wanted = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string_view place = wanted == nullptr ? "" : wanted;
  return place.starts_with('/') && place.size() <= kLongest ? std::string(place) : "/tmp";
}

std::string EndText(int code) {
  return code > 128 ? fmt::format("died of signal {}", code - 128)
                    : fmt::format("ended by itself with exit code {}", code);
}

}  // namespace

Result<std::unique_ptr<Stage>> Stage::Build(Options options, Observer observer,
                                            const Interruption& interruption) {
  std::string directory = TRY(os::MakeTemporaryDirectory(TemporaryPlace() + "/tessera-demo-"));
  std::unique_ptr<Stage> stage(
      new Stage(std::move(options), std::move(directory), std::move(observer), interruption));
  TRY(os::MakeDirectories(stage->directory_ + "/kubelet"));
  TRY(os::MakeDirectories(stage->directory_ + "/state"));
  return stage;
}

Stage::Stage(Options options, std::string directory, Observer observer,
             const Interruption& interruption)
    : options_(std::move(options)),
      directory_(std::move(directory)),
      observer_(std::move(observer)),
      interruption_(interruption),
      began_(SystemClock().Now()) {}

Stage::~Stage() {
  while (!agents_.empty()) static_cast<void>(StopAgent());
  if (kubelet_ != nullptr) StopKubelet();
  if (!options_.keep) static_cast<void>(os::RemoveTree(directory_));
}

Status Stage::StartKubelet() {
  if (kubelet_ != nullptr) return Fail(Reason::kInvalid, "kubelet runs already");
  Note(KubeletMoved{.up = true, .how = "started"});
  kubelet::EmbeddedOptions options = options_.kubelet;
  options.root = directory_ + "/kubelet";
  kubelet_ = TRY(kubelet::EmbeddedKubelet::Start(options));
  {
    const MutexLock lock(mutex_);
    asked_ = kubelet_.get();
  }
  kubelet_->SetListener([this](const kubelet::KubeletEvent& event) { NoteKubelet(event); });
  // The agent may have registered before the listener was set.
  for (const kubelet::ResourceStatus& resource : Resources()) {
    if (!resource.connected || resource.devices.empty()) continue;
    NoteKubelet({kubelet::KubeletEvent::Kind::kList, SystemClock().Now(), resource.name, ""});
  }
  return {};
}

void Stage::StopKubelet() {
  Resources();  // stores the last resources
  {
    const MutexLock lock(mutex_);
    asked_ = nullptr;
  }
  kubelet_->Stop();
  kubelet_.reset();
  Note(KubeletMoved{.up = false, .how = "stopped"});
}

void Stage::KillKubelet() {
  Resources();
  {
    const MutexLock lock(mutex_);
    asked_ = nullptr;
  }
  kubelet_->SetListener(nullptr);
  kubelet_->Kill();
  kubelet_.reset();
  Note(KubeletMoved{.up = false, .how = "killed: nothing is tidied up"});
}

std::vector<kubelet::ResourceStatus> Stage::Resources() {
  const MutexLock lock(mutex_);
  if (asked_ != nullptr) resources_ = asked_->Resources();
  return resources_;
}

Status Stage::InstallHardware() {
  if (options_.hardware == nullptr) return {};
  Note(HardwareMade{.change = {}, .devices = options_.hardware->devices()});
  return options_.hardware->Install(node_directory());
}

Status Stage::WriteConfig(const AgentConfig& config, bool broken) {
  Note(Configured{.envs = config.envs,
                  .first = agents_.empty(),
                  .broken = broken,
                  .vgpus = config.vgpus,
                  .paired = config.paired});
  if (!broken) {
    for (const auto& [resource, vgpus] : config.vgpus) vgpus_[resource] = vgpus;
    TRY(PutLibraries(config));
  }
  return os::WriteFileAtomically(directory_ + "/tessera.yaml", config.text);
}

// Placeholder files: no container of the demo runs a program.
Status Stage::PutLibraries(const AgentConfig& config) const {
  for (const auto& [resource, vgpus] : config.vgpus) {
    const std::string path = node_directory() + vgpus.division.library;
    TRY(os::MakeDirectories(path.substr(0, path.rfind('/'))));
    TRY(os::ReplaceFile(path, "the limiting library\n"));
  }
  return {};
}

Status Stage::StartAgent() {
  std::vector<std::string> argv = {options_.program, "agent", "--config",
                                   directory_ + "/tessera.yaml"};
  std::map<std::string, std::string> flags = AgentFlags(directory_);
  if (options_.hardware != nullptr) flags[config::FlagName("rootPrefix")] = node_directory();
  for (const auto& [name, value] : flags) {
    argv.push_back("--" + name);
    argv.push_back(value);
  }
  os::Process process = TRY(os::Process::Start(argv, directory_ + "/agent.log"));
  const pid_t pid = process.pid();
  agents_.push_back({std::move(process), pid});
  Note(AgentMoved{.pid = pid, .up = true, .how = "started"});
  return {};
}

Status Stage::StopAgent() {
  if (agents_.empty()) return Fail(Reason::kInvalid, "no agent runs");
  os::Process& process = agents_.front().process;
  const Steady end = SystemClock().Now() + kStopLimit;
  process.Signal(SIGTERM);
  std::optional<int> code = process.Poll();
  while (!code && SystemClock().Now() < end) {
    // The demo's interruption does not shorten the wait: the agent gets the terminal's signal too.
    Interruption().WaitUntil(SystemClock().Now() + kStopPoll);
    code = process.Poll();
  }
  if (code) {
    // An agent that has just started does not listen to signals yet.
    const bool by_signal = *code == 128 + SIGTERM;
    Gone(0, *code == 0 || by_signal, *code == 0 ? "stopped with SIGTERM" : EndText(*code));
    return {};
  }
  TRY(KillAgent());
  return Fail(Reason::kTimedOut, "the agent did not stop within {}", FormatDuration(kStopLimit));
}

Status Stage::KillAgent() {
  if (agents_.empty()) return Fail(Reason::kInvalid, "no agent runs");
  agents_.front().process.Signal(SIGKILL);
  agents_.front().process.Wait();
  Gone(0, true, "killed with SIGKILL");
  return {};
}

bool Stage::CheckAgents() {
  for (size_t i = 0; i < agents_.size(); ++i) {
    const std::optional<int> code = agents_[i].process.Poll();
    if (!code) continue;
    Gone(i, interruption_.signal() != 0, EndText(*code));
    return false;
  }
  return true;
}

void Stage::Gone(size_t index, bool wanted, std::string how) {
  const pid_t pid = agents_[index].pid;
  agents_.erase(agents_.begin() + static_cast<std::ptrdiff_t>(index));
  Note(AgentMoved{.pid = pid, .up = false, .wanted = wanted, .how = std::move(how)});
}

Result<kubelet::EmbeddedKubelet*> Stage::Running() {
  if (kubelet_ == nullptr) return Fail(Reason::kUnavailable, "kubelet is down");
  return kubelet_.get();
}

kubelet::Admission Stage::RunPod(const kubelet::PodSpec& pod) {
  if (kubelet_ == nullptr) {
    kubelet::Admission none;
    none.reason = "Pending";
    none.message = "kubelet is down";
    Note(PodTried{pod, none, {}});
    return none;
  }
  const std::set<std::string> before = SickIn(Resources());
  kubelet::Admission admission = kubelet_->RunPod(pod);
  const std::set<std::string> after = SickIn(Resources());
  std::set<std::string> sick;
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(),
                        std::inserter(sick, sick.end()));
  Note(PodTried{pod, admission, std::move(sick)});
  ReadLimits();
  return admission;
}

Status Stage::EndPod(const std::string& pod) {
  auto* running = TRY(Running());
  TRY(running->EndPod(kPodNamespace, pod));
  Note(PodEnded{pod});
  return {};
}

Status Stage::RestartContainer(const std::string& pod, const std::string& container) {
  const Status done = TRY(Running())->RestartContainer(kPodNamespace, pod, container);
  const auto error = done ? std::nullopt : std::optional(done.error());
  Note(ContainerRestarted{pod, container, error});
  ReadLimits();
  return {};
}

void Stage::ReadLimits() {
  if (vgpus_.empty() || kubelet_ == nullptr) return;
  LimitsRead read;
  for (const std::string& pod : kubelet_->Pods()) {
    const std::string name = pod.substr(sizeof kPodNamespace);
    for (const kubelet::ContainerGrant& grant : kubelet_->GrantsOf(kPodNamespace, name)) {
      if (grant.container == kInitContainer || !vgpus_.contains(grant.resource)) continue;
      read.containers.push_back({.pod = name,
                                 .container = grant.container,
                                 .resource = grant.resource,
                                 .ids = grant.ids,
                                 .variables = LimitsOf(grant)});
    }
  }
  Note(std::move(read));
}

// From the grant's own CDI document, if it has one.
std::map<std::string, std::string> Stage::LimitsOf(const kubelet::ContainerGrant& grant) const {
  const auto name = grant.response.annotations.find(kGrantAnnotation);
  if (grant.response.envs.contains("CUDA_DEVICE_SM_LIMIT") ||
      name == grant.response.annotations.end()) {
    return grant.response.envs;
  }
  const Result<std::string> text = os::ReadFile(fmt::format(
      "{}{}/{}", node_directory(), vgpus_.at(grant.resource).cdi_dir, GrantFileName(name->second)));
  const auto document = text ? cdi::Read(*text) : tl::unexpected(text.error());
  std::map<std::string, std::string> variables;
  if (!document || document->devices.size() != 1) return variables;
  for (const std::string& variable : document->devices.front().edits.env) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return variables;
}

Status Stage::MakeFault(Fault fault) {
  if (fault.device.empty() && !fault.pod.empty()) {
    for (const kubelet::ContainerGrant& grant :
         TRY(Running())->GrantsOf(kPodNamespace, fault.pod)) {
      if (grant.resource == fault.resource && !grant.ids.empty()) {
        fault.device = DeviceOfShare(grant.ids.front());
      }
    }
    if (fault.device.empty()) {
      return Fail(Reason::kNotFound, "pod {} holds no {}", fault.pod, fault.resource);
    }
  }
  Note(FaultMade{fault});
  return dummy::ChangeFaultFile(dummy::FaultFile(directory_ + "/state", fault.resource), fault.verb,
                                fault.device, fault.detail);
}

Status Stage::MakeChange(const ChangeHardware& change) {
  if (options_.hardware == nullptr) {
    return Fail(Reason::kInvalid, "there is no hardware; --hardware says what there is");
  }
  std::vector<HardwareDevice> touched = TRY(options_.hardware->Ask(change));
  Note(HardwareMade{.change = change, .devices = std::move(touched)});
  return options_.hardware->Make(change);
}

Status Stage::MakeCordon(const SetCordon& cordon) {
  Note(CordonMade{cordon});
  return CallCordon(control_socket(), cordon);
}

void Stage::Note(What what) {
  const MutexLock lock(mutex_);
  if (asked_ != nullptr) resources_ = asked_->Resources();
  observer_({.at = SystemClock().Now() - began_,
             .what = std::move(what),
             .resources = resources_,
             .scenario_line = scenario_line_});
}

void Stage::NoteKubelet(const kubelet::KubeletEvent& event) {
  const MutexLock lock(mutex_);
  if (asked_ != nullptr) resources_ = asked_->Resources();
  // Not caused by a step: no place in the scenario.
  observer_({.at = SystemClock().Now() - began_,
             .what = KubeletTold{event},
             .resources = resources_,
             .scenario_line = ""});
}

void Stage::SetStep(std::string scenario_line) {
  const MutexLock lock(mutex_);
  scenario_line_ = std::move(scenario_line);
}

std::string Stage::LogTail(size_t lines) const {
  const Result<std::string> log = os::ReadFile(directory_ + "/agent.log");
  if (!log) return "";
  std::vector<std::string> all = Split(Trim(*log), '\n');
  if (all.size() > lines) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(lines));
  return Join(all, "\n") + "\n";
}

}  // namespace tessera::demo
