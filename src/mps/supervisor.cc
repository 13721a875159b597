// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"

namespace tessera::mps {
namespace {

using nvidia::MpsState;

constexpr Duration kGlance{500};      // between checks that the daemon runs
constexpr Duration kSteady{60'000};   // a daemon that ran for this long ran well
constexpr Duration kLate{10'000};     // slack for a status on a busy machine
constexpr Duration kFirstPause{500};  // before a restart
constexpr Duration kLongestPause{60'000};
constexpr int kQuestionsALook = 12;  // commands between readings of missing GPUs
constexpr char kLater[] =
    "MPS was started without it; it is added once no process uses MPS of the resource";
constexpr char kQuestion[] = "get_default_active_thread_percentage";

}  // namespace

Supervisor::Supervisor(std::string resource, const Clock& clock, MpsControl& control, Times times)
    : resource_(std::move(resource)),
      clock_(clock),
      control_(control),
      times_(times),
      backoff_(kFirstPause, kLongestPause) {
  status_.boot = control_.Boot();
}

Duration Supervisor::Step() {
  return status_.pid == 0 ? StartSupervision() : Watch();
}

Duration Supervisor::StartSupervision() {
  Result<Sizes> sizes = control_.ReadSizes();
  if (!sizes) return Failed(sizes.error());
  status_.refused = sizes->refused;
  late_.clear();
  for (const auto& [device, why] : sizes->refused) {
    log::Warn("a device is not shared by MPS", Error{Reason::kMpsUnfit, why},
              {{"resource", resource_}, {"device", device}});
  }
  for (const Sizes::Gpu& gpu : sizes->gpus) {
    if (gpu.memory > 0) continue;
    // NVIDIA's plugin does so too.
    log::Warn("clients of MPS may take all memory of a GPU: the driver does not report its size",
              {{"resource", resource_},
               {"gpu", gpu.uuid},
               {"advice", "set a client's limit by 'nvidia: {mps: {memory: ...}}'"}});
  }
  TellOfUnread(*sizes);
  if (!std::exchange(begun_, true)) {
    if (Adopt(*sizes)) return kGlance;
    // The former daemon's clients lose it now. The agent must see kDown before a new daemon is
    // ready.
    if (control_.ReadStatus()) return DaemonDown("it does not match the saved status");
  }
  control_.Kill();  // the daemon of an earlier process
  if (const Status launched = Launch(*sizes); !launched) {
    control_.Kill();
    return Failed(launched.error());
  }
  return kGlance;
}

void Supervisor::TellOfUnread(const Sizes& sizes) {
  if (std::exchange(unread_, sizes.unread) == sizes.unread) return;
  for (const auto& [index, why] : sizes.unread) {
    log::Warn("a GPU is left out of MPS for now",
              Error{Reason::kMpsUnfit, why + ": look at it with 'nvidia-smi'; it is added when it "
                                             "answers and no process uses MPS of the resource"},
              {{"resource", resource_}});
  }
}

// The status of the still running daemon that an earlier process started, if any.
std::optional<nvidia::MpsStatus> Supervisor::FormerStatus() {
  Result<nvidia::MpsStatus> last = control_.ReadStatus();
  const std::optional<pid_t> daemon = control_.Find();
  if (!last || !daemon || last->boot != status_.boot || last->pid != *daemon) return std::nullopt;
  return *std::move(last);
}

// Adopts a running daemon; its clients see no change.
bool Supervisor::Adopt(const Sizes& sizes) {
  const std::optional<nvidia::MpsStatus> last = FormerStatus();
  if (!last) return false;
  if (!Agree(last->threads, last->served, sizes)) {
    log::Warn("MPS is restarted, because it runs with other sizes", {{"resource", resource_}});
    return false;
  }
  RestoreSockets();
  Status answer = Ask();
  for (int i = 1; i < times_.failures && !answer; ++i) answer = Ask();
  if (!answer && CheckSockets()) {
    log::Warn("MPS is restarted", answer.error(), {{"resource", resource_}});
    return false;
  }
  Serve(sizes, last->pid);
  status_.served = last->served;
  for (const Sizes::Gpu& gpu : sizes.gpus) {
    if (last->served.contains(gpu.uuid)) continue;
    status_.refused[gpu.uuid] = kLater;
    late_.insert(gpu.uuid);
  }
  if (answer) {
    PublishStatus();
  } else {
    DaemonSilent(answer.error());
  }
  log::Info("MPS already runs and is kept", {{"resource", resource_}, {"pid", last->pid}});
  return true;
}

Status Supervisor::Launch(Sizes& sizes) {
  std::erase_if(sizes.gpus, [&](const Sizes::Gpu& gpu) {
    const Status set = control_.SetExclusive(gpu.uuid, true);
    if (set) {
      exclusive_.insert(gpu.uuid);
      return false;
    }
    log::Warn("a device is not shared by MPS", set.error(),
              {{"resource", resource_}, {"device", gpu.uuid}});
    status_.refused[gpu.uuid] = set.error().message;
    sizes.all_of_node = false;
    return true;
  });
  if (sizes.gpus.empty()) return Fail(Reason::kMpsUnfit, "it has no GPU that MPS can share");
  const pid_t daemon = TRY(control_.Start(sizes));
  for (const std::string& command : Commands(sizes)) TRY_IN(control_.Ask(command), command);
  TRY(Ask());
  if (const Status kept = control_.KeepSockets(); !kept) {
    log::Warn("the sockets of MPS cannot be restored if another program removes them", kept.error(),
              {{"resource", resource_}});
  }
  Serve(sizes, daemon);
  PublishStatus();
  log::Info("MPS runs", {{"resource", resource_},
                         {"pid", daemon},
                         {"gpus", sizes.gpus.size()},
                         {"threads", sizes.threads}});
  return {};
}

void Supervisor::Serve(const Sizes& sizes, pid_t daemon) {
  status_.pid = daemon;
  status_.threads = sizes.threads;
  status_.served.clear();
  for (const Sizes::Gpu& gpu : sizes.gpus) {
    status_.served[gpu.uuid] = gpu.memory;
    exclusive_.insert(gpu.uuid);
  }
  since_ = clock_.Now();
  look_ = since_ + times_.interval * kQuestionsALook;
  DaemonAnswered();
}

Status Supervisor::Ask() {
  const std::string answer = TRY(control_.Ask(kQuestion));
  const std::string_view number = Trim(answer);
  if (!number.empty() && number.front() >= '0' && number.front() <= '9') return {};
  return Fail(Reason::kUnavailable, "its answer about threads is {}", Brief(number));
}

Duration Supervisor::Watch() {
  if (!control_.IsAlive(status_.pid)) return DaemonDown("it ended by itself");
  RestoreSockets();
  const Steady now = clock_.Now();
  if (now < ask_) return std::min(kGlance, std::chrono::ceil<Duration>(ask_ - now));
  Status answer = Ask();
  // A container can remove the sockets while the question is on its way.
  if (!answer && RestoreSockets()) answer = Ask();
  if (!answer) return DaemonSilent(answer.error());
  if (status_.state == MpsState::kSilent) log::Info("MPS answers again", {{"resource", resource_}});
  if (now - since_ >= kSteady) backoff_.Succeeded();
  DaemonAnswered();
  PublishStatus();
  if (TakesIn()) return StartAnew();
  return std::min(kGlance, times_.interval);
}

// Whether a restart can take in GPUs that the daemon was started without. Only without clients,
// which would lose the daemon.
bool Supervisor::TakesIn() {
  const Steady now = clock_.Now();
  if ((unread_.empty() && late_.empty()) || now < look_) return false;
  look_ = now + times_.interval * kQuestionsALook;
  const Result<Sizes> sizes = control_.ReadSizes();
  if (!sizes) return false;
  TellOfUnread(*sizes);
  const std::set<std::string> told = std::exchange(late_, {});
  for (const std::string& gpu : told) status_.refused.erase(gpu);
  for (const Sizes::Gpu& gpu : sizes->gpus) {
    // A GPU whose compute mode cannot be set is refused already, and would be again.
    if (status_.served.contains(gpu.uuid) || status_.refused.contains(gpu.uuid)) continue;
    late_.insert(gpu.uuid);
  }
  if (!late_.empty() && !HasClients()) return true;
  for (const std::string& gpu : late_) {
    status_.refused[gpu] = kLater;
    if (told.contains(gpu)) continue;
    log::Warn("a GPU is added once MPS has no client", Error{Reason::kMpsUnfit, kLater},
              {{"resource", resource_}, {"device", gpu}});
  }
  if (late_ != told) PublishStatus();
  return false;
}

// True also if the daemon cannot list its clients: there may be some.
bool Supervisor::HasClients() {
  const Result<std::string> servers = control_.Ask("get_server_list");
  if (!servers) return true;
  for (const std::string& line : Split(std::string(Trim(*servers)), '\n')) {
    const std::string_view server = Trim(line);
    if (server.empty()) continue;
    if (server.find_first_not_of("0123456789") != std::string_view::npos) return true;
    const auto clients = control_.Ask(fmt::format("get_client_list {}", server));
    if (!clients || !Trim(*clients).empty()) return true;
  }
  return false;
}

Duration Supervisor::StartAnew() {
  log::Info("MPS is restarted to add GPUs, because it has no client",
            {{"resource", resource_}, {"gpus", late_.size()}});
  status_.state = MpsState::kDown;
  status_.detail = "it is restarted to add GPUs";
  PublishStatus();  // before anything else, as ending takes its time
  Quit();
  status_.pid = 0;
  status_.served.clear();
  return kFirstPause;
}

// Ends the daemon, and kills any process that is left of it.
void Supervisor::Quit() {
  if (!control_.Ask("quit") || !control_.AwaitEnd(status_.pid)) {
    log::Warn("MPS does not end by itself and is killed", {{"resource", resource_}});
  }
  control_.Kill();
}

void Supervisor::DaemonAnswered() {
  const Steady now = clock_.Now();
  unanswered_ = 0;
  told_.clear();
  status_.state = MpsState::kReady;
  status_.detail.clear();
  status_.answered = now;
  ask_ = now + times_.interval;
}

// A container can remove or replace sockets in the directory. The daemon and its clients must go
// on. True if they were restored.
bool Supervisor::RestoreSockets() {
  const Result<bool> mended = control_.RestoreSockets();
  if (!mended || !*mended) return false;
  log::Warn("sockets of MPS were removed or replaced; they are restored",
            {{"resource", resource_}});
  return true;
}

// Fails if the daemon's sockets are the cause of its silence, not the daemon itself.
Status Supervisor::CheckSockets() {
  if (TRY(control_.RestoreSockets())) {
    return Fail(Reason::kUnavailable, "its sockets were removed or replaced; they are restored");
  }
  if (control_.Accepts()) return {};
  return Fail(Reason::kUnavailable, "it accepts no connection");
}

// A daemon counts as hung only if it accepts a connection and does not answer. Otherwise its
// clients can still use it.
Duration Supervisor::DaemonSilent(const Error& error) {
  const Status reached = CheckSockets();
  if (reached && ++unanswered_ >= times_.failures) {
    return DaemonDown(fmt::format("it did not answer {} times: {}", unanswered_, error.message));
  }
  status_.state = MpsState::kSilent;
  status_.detail =
      reached ? "the MPS control daemon does not answer: " + error.message
              : fmt::format(
                    "the MPS control daemon cannot be reached: {}. Its clients continue, but no "
                    "other can start; when they have ended, 'kill {}' makes it restart",
                    reached.error().message, status_.pid);
  if (std::exchange(told_, status_.detail) != status_.detail) {
    log::Warn("MPS does not answer", Error{Reason::kMpsDown, status_.detail},
              {{"resource", resource_}, {"pid", status_.pid}});
  }
  ask_ = clock_.Now() + times_.interval;
  PublishStatus();
  return std::min(kGlance, times_.interval);
}

Duration Supervisor::DaemonDown(const std::string& why) {
  log::Warn("MPS is down", Error{Reason::kMpsDown, why},
            {{"resource", resource_}, {"pid", status_.pid}});
  status_.state = MpsState::kDown;
  status_.detail = why + "; it is started again";
  status_.pid = 0;
  status_.served.clear();
  unanswered_ = 0;
  PublishStatus();  // first: grants from here on are of no use
  control_.Kill();
  return backoff_.Failed();
}

Duration Supervisor::Failed(const Error& error) {
  if (std::exchange(told_, error.message) != error.message) {
    log::LogError("MPS cannot be started", error, {{"resource", resource_}});
  }
  status_.state = MpsState::kDown;
  status_.detail = "it cannot be started: " + error.message;
  PublishStatus();
  return backoff_.Failed();
}

void Supervisor::PublishStatus() {
  status_.next = clock_.Now() + times_.interval + times_.timeout + kLate;
  control_.WriteStatus(status_);
}

void Supervisor::End() {
  status_.state = MpsState::kDown;
  status_.detail = "it is stopping";
  PublishStatus();  // before anything else, as ending takes its time
  if (const auto last = begun_ ? std::nullopt : FormerStatus()) {
    status_.pid = last->pid;
    for (const auto& [gpu, memory] : last->served) exclusive_.insert(gpu);
  }
  if (status_.pid != 0) {
    Quit();
  } else {
    control_.Kill();
  }
  for (const std::string& gpu : exclusive_) {
    if (const Status set = control_.SetExclusive(gpu, false); !set) {
      log::Warn("cannot restore a GPU's compute mode", set.error(), {{"gpu", gpu}});
    }
  }
  exclusive_.clear();
  status_.pid = 0;
  control_.CleanUp();
  log::Info("MPS ended", {{"resource", resource_}});
}

}  // namespace tessera::mps
