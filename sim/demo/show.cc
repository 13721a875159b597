// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/show.h"

#include <csignal>
#include <future>

namespace tessera::demo {
namespace {

constexpr Duration kFrame{50};
// The player checks for an interruption often. If a call to an agent hangs this long, the agents
// are killed, which ends the call.
constexpr Duration kPatience{3'000};

}  // namespace

Show::Show(std::unique_ptr<Output> output, Picture picture, Interruption& interruption)
    : output_(std::move(output)),
      interruption_(interruption),
      began_(SystemClock().Now()),
      picture_(std::move(picture)) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready] {
    const std::vector<os::Loop::Handle> signals = CatchSignals();
    const os::Loop::Handle frames = loop_.Every(kFrame, [this] { Draw(); });
    ready.set_value();
    loop_.Run();
    loop_.RunOnce();  // takes observations of a show that ended before its loop ran
    last_resort_ = {};
  });
  ready.get_future().wait();
}

Show::~Show() {
  loop_.Stop();
  if (thread_.joinable()) thread_.join();
}

void Show::Observe(Observation observation) {
  loop_.Post([this, observation = std::move(observation)] { Take(observation); });
}

Summary Show::Finish(Duration took) {
  loop_.Stop();
  thread_.join();
  Summary summary = tally_.Finish(took, laws_.checked());
  output_->End(summary);
  output_.reset();
  return summary;
}

void Show::Take(const Observation& observation) {
  tally_.Count(observation);
  picture_.Update(observation);
  for (const Event& event : narrator_.EventsOf(observation)) Happened(event);
  for (const Breach& breach : laws_.Check(observation)) {
    tally_.Count(breach);
    ++picture_.broken;
    Happened(Narrator::EventsOf(observation.at, breach));
  }
  picture_.checks = 0;
  for (const auto& [law, times] : laws_.checked()) picture_.checks += times;
}

void Show::Happened(const Event& event) {
  picture_.Add(event);
  if (!output_->Happened(event)) interruption_.Raise(SIGPIPE);
}

void Show::Draw() {
  picture_.now = SystemClock().Now() - began_;
  if (!output_->Draw(picture_)) interruption_.Raise(SIGPIPE);
}

void Show::Interrupt(int signal) {
  const bool again = interruption_.signal() != 0;
  interruption_.Raise(signal);
  const auto kill_agents = [this] {
    for (pid_t pid : picture_.agents) kill(pid, SIGKILL);
  };
  if (again) {
    kill_agents();
  } else {
    last_resort_ = loop_.After(kPatience, kill_agents);
  }
}

std::vector<os::Loop::Handle> Show::CatchSignals() {
  std::vector<os::Loop::Handle> handles;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    handles.push_back(loop_.OnSignal(signal, [this, signal] { Interrupt(signal); }));
  }
  // So a write to a closed pipe fails with an error, which Happened and Draw return.
  handles.push_back(loop_.OnSignal(SIGPIPE, [] {}));
  handles.push_back(loop_.OnSignal(SIGWINCH, [this] { output_->Resized(); }));
  handles.push_back(loop_.OnSignal(SIGTSTP, [this] {
    output_->Suspend();
    raise(SIGSTOP);
    output_->Resume();
  }));
  return handles;
}

}  // namespace tessera::demo
