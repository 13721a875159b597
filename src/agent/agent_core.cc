// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_core.h"

#include <algorithm>
#include <utility>

#include "agent/device_log.h"
#include "base/log.h"
#include "config/diff.h"
#include "fraction/asked_resources.h"
#include "fraction/library_files.h"
#include "os/files.h"
#include "os/notify.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "version.h"

namespace tessera::agent {
namespace {

constexpr Duration kRestless{10'000};     // a change in kubelet's directory seldom comes alone
constexpr Duration kSettle{100};          // kubelet gets this time to read our list before we ask
constexpr Duration kCompareAgain{1'000};  // a doubt about kubelet's view is looked into so soon
constexpr int kWorkers = 64;

Node::Parameters NodeParameters(const config::Config& config) {
  return {.policy = config.health.policy,
          .stale_after = config.health.stale_after,
          .ledger_pending = config.ledger_pending};
}

kubelet::RegistrationPath PathFor(config::Registration registration,
                                  const kubelet::Directories& directories) {
  switch (registration) {
    case config::Registration::kKubeletSocket:
      return kubelet::RegistrationPath::kKubeletSocket;
    case config::Registration::kPluginWatcher:
      return kubelet::RegistrationPath::kPluginWatcher;
    case config::Registration::kAuto:
      break;
  }
  return kubelet::PreferredPath(directories);
}

// If the host deletes a directory that is mounted into our container, its path still resolves, but
// it has no links. kubelet cannot see files that are made in it.
bool DirectoryGone(const std::string& path) {
  auto info = os::InspectTarget(path);
  return info && info->type == os::FileInfo::Type::kDirectory && info->links == 0;
}

}  // namespace

Agent::Agent(os::Loop& loop, http::Metrics& metrics, const config::Schema& schema,
             config::Config config)
    : loop_(loop),
      schema_(schema),
      config_(std::move(config)),
      metrics_(metrics),
      workers_(kWorkers),
      node_(SystemClock(), NodeParameters(config_)),
      tick_(loop, [this] { Tick(); }),
      grants_({.loop = loop_,
               .workers = workers_,
               .metrics = metrics_,
               .context = context_,
               .inbox = node_.ledger().inbox(),
               .cut = [this](const auto& cut) { node_reporter_.ReportSpaceCut(cut); }}),
      preparations_({.loop = loop_,
                     .workers = workers_,
                     .state_dir = config_.state_dir,
                     .root = os::Root(config_.root_prefix),
                     .changed =
                         [this](const Preparations::Standing& now) {
                           reconciler_.Reconcile(node_.SetPrepared(now.held, now.outstanding,
                                                                   now.obstacles, now.left));
                         }}),
      resources_({.loop = loop_,
                  .workers = workers_,
                  .metrics = metrics_,
                  .node = node_,
                  .cdi = cdi_,
                  .events = reconciler_,
                  .observer = *this,
                  .context = context_,
                  .preparations = preparations_.preparations()},
                 grants_, [this] { ResourcesChanged(); }),
      reconciler_({.node = node_,
                   .saver = saver_,
                   .cdi = cdi_,
                   .resources = resources_,
                   .node_reporter = node_reporter_,
                   .labels = labels_,
                   .metrics = metrics_,
                   .tick = tick_}) {
  InstallLibraries(config_);
}

Agent::~Agent() {
  os::NotifyServiceManager("STOPPING=1");
  resources_.Close();
  saver_.SaveAll();
}

Status Agent::Start() {
  const std::string boot_id = TRY_IN(os::ReadBootId(), "the kernel's boot id is unknown");
  metrics_.Set(http::Metric::kBuildInfo, {TESSERA_VERSION, TESSERA_COMMIT}, 1);
  RestoreState(boot_id);
  release_.Restore(boot_id);
  if (config_.resources.empty()) log::Warn("no resources are configured: nothing is served");
  FindKubelet();
  WatchKubelet();
  OpenControlSocket();
  OpenStatusPort();
  context_->claims.SetClaimed(ResourcesToMatch(config_.resources));
  node_reporter_.FollowPods(context_, ResourcesAskedFor(config_.resources),
                            VendorAskedFor(config_.resources));
  node_reporter_.Open(config_, os::HostName());
  tick_.RingWithin(Reconciler::kTick);
  log::Info("started", {{"version", TESSERA_VERSION},
                        {"kubelet", directories_.root},
                        {"via", kubelet::RegistrationPathName(path_)},
                        {"resources", config_.resources.size()}});
  return {};
}

void Agent::RestoreState(const std::string& boot_id) {
  saver_.Restore(boot_id);
  if (saver_.writer() && os::RunsInPod() && os::OnSameMount(config_.state_dir, "/")) {
    log::Warn("the state is lost when this container ends",
              Error{Reason::kStateNotKept,
                    config_.state_dir + " is not a mount: the next container will not know which "
                                        "devices were unhealthy or cordoned"});
  }
}

// If no directory is configured, the agent polls the usual places, and waits in the most usual one
// until kubelet is found. The registration path is known only after kubelet has started: kubelet
// makes plugins_registry some time before device-plugins.
void Agent::FindKubelet() {
  if (resources_.AnyStreaming()) {
    seeking_ = false;
    return;
  }
  std::string root = config_.kubelet.root;
  if (root.empty()) {
    const os::Root prefix(config_.root_prefix);
    root = kubelet::DetectRoot(prefix).value_or(prefix.Path("/var/lib/kubelet"));
  }
  const kubelet::Directories directories{root};
  const kubelet::RegistrationPath path = PathFor(config_.kubelet.registration, directories);
  const bool there = kubelet::HasComeTo(directories);
  seeking_ = !there || (config_.kubelet.registration == config::Registration::kAuto &&
                        !os::Exists(directories.device_plugins()));
  if (root == directories_.root && path == path_) return;
  if (!there) {
    log::Warn("kubelet's directory was not found",
              Error{Reason::kKubeletAbsent, "the agent waits for " + root});
  }
  UseKubelet(directories, path);
}

void Agent::UseKubelet(const kubelet::Directories& directories, kubelet::RegistrationPath path) {
  resources_.Close();
  directories_ = directories;
  path_ = path;
  const auto found = kubelet::RemoveStaleSockets(directories_, config_.kubelet.socket_prefix);
  if (found.removed > 0) metrics_.Add(http::Metric::kStaleSockets, {}, found.removed);
  if (found.planted > 0) CountPlanted(found.planted);
  ledger_sync_ = std::make_unique<LedgerSync>(
      loop_, workers_, node_, metrics_, directories_, config_.ledger_interval,
      LedgerSync::Listener{
          // Devices that were held may be free now. A vanished one may leave the list, and a
          // waiting one may take the configured policy.
          .changed = [this] { resources_.RescanSoon(); },
          .waiting =
              [this] {
                return node_.AnyVanished() || kubelet_watch_ == nullptr || !IsOnlyInstance();
              },
          .eager = [this] { return resources_.AnyWaitsForHolders(); },
          .compared = [this](const auto& allocatable) { AllocatableCompared(allocatable); }});
  grants_.Open(config_, directories_);
  preparations_.Open(directories_);
  resources_.Open(config_, path_, directories_);
  if (kubelet_watch_ != nullptr) WatchDirectories();
}

void Agent::WatchDirectories() {
  kubelet_watch_->Watch(
      {directories_.root, directories_.device_plugins(), directories_.registry()});
}

void Agent::WatchKubelet() {
  auto watch = os::DirectoryWatch::Make(loop_, config_.kubelet.poll, [this] {
    restless_until_ = SystemClock().Now() + kRestless;
    PollKubelet();
    SchedulePoll();
    // The change may be another instance's socket, whose end can make kubelet lose us.
    ledger_sync_->AskSoon(kCompareAgain);
  });
  if (watch) {
    kubelet_watch_ = *std::move(watch);
    WatchDirectories();
  } else {
    log::Warn("kubelet's directory is watched by polling only", watch.error());
  }
  SchedulePoll();
}

// The watch may miss an event, so the directories are polled as well; rarely, while the watch works
// and every resource streams.
void Agent::SchedulePoll() {
  const bool rest = kubelet_watch_ != nullptr && resources_.AllStreaming() && !seeking_ &&
                    SystemClock().Now() >= restless_until_;
  poll_ = loop_.After(os::NextPoll(config_.kubelet.poll, rest), [this] {
    PollKubelet();
    cdi_reconciler_.Poll();
    SchedulePoll();
  });
}

// True if kubelet's directories have no socket of another instance, alive or stale. When another
// instance ends, kubelet up to 1.36 can lose us; only its answers show that.
bool Agent::IsOnlyInstance() const {
  return kubelet::SocketsIn(directories_, config_.kubelet.socket_prefix) ==
         resources_.SocketPaths();
}

void Agent::PollKubelet() {
  if (seeking_) FindKubelet();
  for (const std::string& directory : {directories_.device_plugins(), directories_.registry()}) {
    if (!DirectoryGone(directory)) continue;
    fatal_ =
        Error{Reason::kDirectoryGone, directory + " was deleted on the host while mounted here"};
    return loop_.Stop();
  }
  resources_.PollKubelet();
}

// Runs a second after any change, and again while work is left.
void Agent::Tick() {
  workers_.GoOn();
  reconciler_.Tick();
  if (saver_.TryToBecomeWriter()) {
    log::Info("this instance now writes the state");
    reconciler_.AdoptState();
    cdi_reconciler_.TakeOver();
  }
  saver_.SaveAll();
  cdi_reconciler_.Poll();
  if (control_ == nullptr) OpenControlSocket();
  if (status_ == nullptr) OpenStatusPort();
  reconciler_.AnnounceReady();
  if (HasUnfinished()) tick_.RingWithin(Reconciler::kTick);
  if (const std::optional<Steady> stale = node_.NextStale()) {
    tick_.RingWithin(std::max(Reconciler::kTick, *stale - SystemClock().Now()));
  }
}

bool Agent::HasUnfinished() const {
  return !saver_.writer() || saver_.unsaved() || !reconciler_.announced() ||
         (control_ == nullptr && !config_.control_socket.empty()) ||
         (status_ == nullptr && config_.http_address != "off");
}

// During a rolling update another live instance may hold the socket or the port. Tick tries again.
void Agent::OpenControlSocket() {
  if (config_.control_socket.empty()) return;
  const std::string& path = config_.control_socket;
  os::RemoveStaleSocket(path);
  Status made = os::MakeDirectories(path.substr(0, path.rfind('/')));
  auto server =
      made ? http::Server::ListenUnix(loop_, path, ControlRoutes(Routes())) : Fail(made.error());
  if (server) {
    control_ = *std::move(server);
  } else if (control_refusal_ != server.error()) {
    control_refusal_ = server.error();
    log::Warn("the control socket is not open yet", server.error());
    if (server.error().reason == Reason::kSocketPlanted) CountPlanted(1);
  }
}

void Agent::OpenStatusPort() {
  if (config_.http_address == "off") return;
  auto server = http::Server::ListenTcp(loop_, config_.http_address, ReadRoutes(Routes()));
  if (server) {
    status_ = *std::move(server);
    log::Info("status port open", {{"address", config_.http_address}, {"port", status_->port()}});
  } else if (server.error().message != port_refusal_) {
    port_refusal_ = server.error().message;
    log::Warn("the status port is not open yet", server.error());
  }
}

void Agent::ResourcesChanged() {
  ledger_sync_->SetResources(resources_.TrackedResources());
  ledger_sync_->AskSoon(kSettle);
}

// Another instance may register after us and then end. kubelet up to 1.36 can then lose us without
// ending our stream. Only the allocatable ids that it reports show that.
void Agent::AllocatableCompared(const std::optional<std::map<std::string, int>>& allocatable) {
  grants_.RemoveForgotten();
  preparations_.RemoveForgotten();
  bool sure = node_.retired().empty();
  // An answer that lacks them does not say that kubelet can grant none, by another instance.
  if (allocatable || IsOnlyInstance()) {
    const auto retired = resources_.EndRetired(allocatable.value_or(std::map<std::string, int>()));
    reconciler_.Reconcile(retired.changes);
    sure = retired.sure;
  }
  if (allocatable) {
    sure &= resources_.Compare(*allocatable);
    sure &= !resources_.RefreshCheckpoint();
  }
  if (!sure) ledger_sync_->AskSoon(kCompareAgain);
}

void Agent::Apply(const config::Config& next) {
  config::Difference difference = config::Compare(schema_, config_, next);
  for (const std::string& warning : config::RestartWarnings(difference.settings)) {
    log::Warn(warning);
  }
  config_ = config::KeepUntilRestart(schema_, config_, next);
  InstallLibraries(config_);
  node_.SetParameters(NodeParameters(config_));
  ledger_sync_->SetInterval(config_.ledger_interval);
  for (const std::string& name : difference.removed) {
    log::Info("resource removed", {{"resource", name}});
  }
  for (const std::string& name : difference.added) {
    log::Info("resource added", {{"resource", name}});
  }
  for (const config::ResourceChange& changed : difference.changed) {
    for (const config::Change& change : changed.changes) {
      log::Info("resource changed", {{"resource", changed.name},
                                     {"key", change.path},
                                     {"from", change.before},
                                     {"to", change.after}});
    }
  }
  context_->claims.SetClaimed(ResourcesToMatch(config_.resources));
  node_reporter_.FollowPods(context_, ResourcesAskedFor(config_.resources),
                            VendorAskedFor(config_.resources));
  grants_.Apply(config_);
  resources_.Apply(config_);
  node_reporter_.Apply(config_);
  labels_.Apply(config_);
  tick_.RingWithin(Reconciler::kTick);  // devices may become stale sooner than before
}

RouteSources Agent::Routes() {
  return {.view =
              [this] {
                ledger_sync_->AskIfOld();
                return MakeView();
              },
          .pods =
              [this] {
                ledger_sync_->AskIfOld();
                return PodFacts{.node = NodeNameOf(config_.api, os::Variable, os::HostName()),
                                .ledger = node_.ledger(),
                                .context = *context_,
                                .grants = grants_.Grants(),
                                .late = resources_.BoundLate()};
              },
          .node = node_,
          .reconciler = reconciler_,
          .release = release_,
          .metrics = metrics_,
          .refresh_metrics =
              [this] {
                ledger_sync_->AskIfOld();
                RefreshMetrics(MakeView(), metrics_);
                metrics_.Set(http::Metric::kReleased, {}, release_.under_way() ? 1 : 0);
                RefreshFaults(FaultsNow(), metrics_);
                metrics_.Set(http::Metric::kDropped, {},
                             status_ == nullptr ? 0 : static_cast<double>(status_->dropped()));
              },
          .not_ready = [this] { return resources_.NotReady(); },
          .faults = [this] { return FaultsNow(); },
          .may_save = [this] { return saver_.MaySave(); },
          .save = [this] { return saver_.SaveFacts(); }};
}

std::set<std::string> Agent::HeldNames() const {
  std::set<std::string> names;
  for (const Device& device : node_.inventory()->devices) {
    if (!node_.ledger().MayBeInUse(device.key)) continue;
    for (const std::string& name : {device.key.id, device.visible_as}) {
      names.insert(CdiDeviceName("", name).substr(1));
    }
  }
  // CDI devices that accompany every device have these names: gds=all, imex-channel=0.
  if (!names.empty()) names.insert({"all", "0"});
  return names;
}

View Agent::MakeView() const {
  return {.node = node_,
          .resources = resources_.served(),
          .cdi = cdi_,
          .writer = saver_.writer(),
          .ledger_error = ledger_sync_->error(),
          .granted = grants_.Granted(),
          .grants = grants_.Grants(),
          .root = os::Root(config_.root_prefix),
          .checkpoint_unknown = grants_.IsCheckpointUnknown(),
          .node_name = NodeNameOf(config_.api, os::Variable, os::HostName()),
          .now = SystemClock().Now(),
          .wall_now = SystemClock().WallNow()};
}

void Agent::StateChanged(const std::string& resource, kubelet::PluginState state) {
  log::Debug("registration state",
             {{"resource", resource}, {"state", kubelet::PluginStateName(state)}});
}

void Agent::CountPlanted(int sockets) {
  metrics_.Add(http::Metric::kUnusable, {std::string(ReasonName(Reason::kSocketPlanted))}, sockets);
}

void Agent::Registered(const std::string& resource, const Status& status) {
  if (status) grants_.KubeletCame();
  metrics_.Add(http::Metric::kRegistrations,
               {resource, status ? "ok" : std::string(ReasonName(status.error().reason))});
}

void Agent::StreamsChanged(const std::string& resource, int streams) {
  metrics_.Set(http::Metric::kStreams, {resource}, streams);
  // kubelet has connected, so its pod-resources API can answer.
  if (streams > 0) ledger_sync_->AskSoon(kSettle);
}

void Agent::ListSent(const std::string& resource, size_t) {
  metrics_.Add(http::Metric::kListsSent, {resource});
}

}  // namespace tessera::agent
