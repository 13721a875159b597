// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "kubelet/socket_name.h"
#include "os/unix_socket.h"

namespace tessera::kubelet {
namespace {

constexpr Duration kFirstBackoff{100};
constexpr Duration kFirstWait{1};  // a kubelet that has bound its socket will soon listen
constexpr Duration kLastBackoff{1'000};
// No event reports the end of a lack, such as of descriptors, so attempts continue at this pause.
constexpr Duration kLastWait{500};
constexpr Duration kConnectLimit{200};
// kubelet's time to handle the end of our stream. kubelet up to 1.36 then drops the resource, even
// if it was registered again in between. That also happens if kubelet hung up itself.
constexpr Duration kPeerNotices{20};
// A stream that lived this long clears the back-off, so the next loss is retried at once.
constexpr Duration kStableStream{2'000};

// An absent socket, or one without a listener, means that kubelet is absent.
Error Absent(Error error) {
  const bool nobody = error.reason == Reason::kNotFound || error.reason == Reason::kUnavailable;
  if (nobody) error.reason = Reason::kKubeletAbsent;
  return error;
}

}  // namespace

std::string_view PluginStateName(PluginState state) {
  constexpr std::string_view kNames[] = {"waiting", "registering", "registered", "streaming",
                                         "backoff"};
  return kNames[static_cast<size_t>(state)];
}

Plugin::Plugin(os::Loop& loop, os::Workers& workers, Parameters parameters,
               std::shared_ptr<PluginHandler> handler, PluginObserver& observer)
    : loop_(loop),
      workers_(workers),
      parameters_(std::move(parameters)),
      handler_(std::move(handler)),
      observer_(observer),
      mailbox_(loop, *this) {}

Plugin::~Plugin() {
  Retire();
}

void Plugin::Publish(ListBytes list) {
  const bool first = list_ == nullptr;
  list_ = std::move(list);
  if (server_ != nullptr) server_->Publish(list_);
  if (!first) return;
  if (server_ != nullptr && server_->streams() == 0 && SameKubelet()) return Register();
  Begin();
}

void Plugin::Open() {
  Begin();
}

std::string Plugin::socket_path() const {
  return server_ == nullptr ? std::string() : server_->socket_path();
}

// Makes a new endpoint after the former one has ended. This order avoids a race: if kubelet up to
// 1.36 sees the older stream end after a newer registration, it hangs up on the newer one. A
// restarted kubelet does not know the older stream, so there is no wait: a frozen former kubelet
// may never end it.
void Plugin::Begin() {
  Retire();
  if (retiring_ == 0 || !SameKubelet()) return Serve();
  waiting_to_serve_ = true;
  Enter(PluginState::kBackoff);
}

void Plugin::Serve() {
  bool watcher = parameters_.path == RegistrationPath::kPluginWatcher;
  if (watcher && list_ == nullptr) return;  // the watcher takes a socket for a registration
  const Directories& directories = parameters_.directories;
  if (!watcher) {
    const std::string path = directories.kubelet_socket();
    const os::FileInfo socket = os::Inspect(path).value_or(os::FileInfo{});
    if (socket != kubelet_) {  // a restarted kubelet: the former one's failures do not count
      backoff_ = Duration(0);
      failure_.reset();
      retiring_ = 0;
    }
    kubelet_ = socket;
    // The file alone is no proof: a killed kubelet leaves its socket, and a new one binds before it
    // listens.
    auto there = os::ConnectUnix(path, kConnectLimit);
    // If a restart replaced the socket during the connect, it is unknown which kubelet answered.
    if (there && os::Inspect(path).value_or(os::FileInfo{}) != socket) {
      there = Fail(Reason::kUnavailable, "{} is being replaced", path);
    }
    if (!there) {
      SayOnce("waiting for kubelet", Absent(there.error()));
      Enter(PluginState::kWaiting);
      return Retry(kFirstWait, kLastWait);
    }
  }
  std::string path = NewSocketPath(watcher ? directories.registry() : directories.device_plugins(),
                                   parameters_.socket_prefix, parameters_.resource);
  auto server =
      PluginServer::Start({.socket_path = path,
                           .options = parameters_.options,
                           .watcher_name = watcher ? parameters_.resource : std::string()},
                          handler_, list_, EventsOf(++epoch_));
  if (!server) {
    SayOnce("cannot serve", server.error());
    Enter(PluginState::kBackoff);
    return Retry(kFirstBackoff, kLastWait);
  }
  server_ = *std::move(server);
  said_.reset();
  if (watcher) return Enter(PluginState::kRegistering);
  call_ = std::make_unique<RegisterCall>(workers_, directories.kubelet_socket());
  if (list_ == nullptr) return Enter(PluginState::kWaiting);
  Register();
}

// Attempts repeat twice a second, each under another socket name, so only event and reason are
// compared.
void Plugin::SayOnce(std::string_view event, const Error& error) {
  Error said{error.reason, std::string(event)};
  if (said_ == said) return;
  log::Warn(event, error, {{"resource", parameters_.resource}});
  said_ = std::move(said);
}

void Plugin::Register() {
  Enter(PluginState::kRegistering);
  const std::string& path = server_->socket_path();
  call_->Send({.endpoint = std::string(FileName(path)),
               .resource = parameters_.resource,
               .options = parameters_.options,
               .timeout = parameters_.register_timeout},
              mailbox_.Bind([epoch = epoch_](Plugin& self, const Status& status) {
                self.OnRegistered(epoch, status);
              }));
}

void Plugin::OnRegistered(uint64_t epoch, Status status) {
  if (epoch != epoch_ || server_ == nullptr) return;
  call_.reset();
  observer_.Registered(parameters_.resource, status);
  if (status) return EnterRegistered();
  // Attempts repeat every second until kubelet accepts, so each failure is logged once.
  if (failure_ != status.error()) {
    failure_ = status.error();
    log::Warn("registration failed", *failure_, {{"resource", parameters_.resource}});
  }
  // After the watcher's refusal the socket stays: kubelet tries it again by itself.
  if (parameters_.path == RegistrationPath::kPluginWatcher) return;
  Retire();
  Enter(PluginState::kBackoff);
  Retry(kFirstBackoff, kLastBackoff);
}

// kubelet may open its stream before its answer to Register arrives.
void Plugin::EnterRegistered() {
  log::Info("registered", {{"resource", parameters_.resource},
                           {"via", RegistrationPathName(parameters_.path)},
                           {"socket", server_->socket_path()}});
  if (server_->streams() > 0) {
    if (state_ != PluginState::kStreaming) OnStreamOpened(epoch_);
    return;
  }
  Enter(PluginState::kRegistered);
  timer_ = loop_.After(parameters_.stream_timeout, [this] {
    Error missing{
        Reason::kStreamMissing,
        fmt::format("kubelet accepted the registration of {} but never asked for its device list",
                    parameters_.resource)};
    if (failure_ != missing) log::Warn("no stream after registration", missing);
    failure_ = missing;
    observer_.Registered(parameters_.resource, Fail(std::move(missing)));
    Begin();
  });
}

void Plugin::OnStreamOpened(uint64_t epoch) {
  if (epoch != epoch_ || server_ == nullptr) return;
  observer_.StreamsChanged(parameters_.resource, server_->streams());
  if (state_ == PluginState::kStreaming || server_->streams() == 0) return;
  timer_ = os::Loop::Handle();
  streaming_since_ = SystemClock().Now();
  failure_.reset();
  Enter(PluginState::kStreaming);
}

void Plugin::OnStreamEnded(uint64_t epoch, bool by_peer) {
  if (epoch != epoch_ || server_ == nullptr) return;
  observer_.StreamsChanged(parameters_.resource, server_->streams());
  if (!by_peer || server_->streams() > 0) return;
  log::Info("kubelet hung up",
            {{"resource", parameters_.resource}, {"reason", ReasonName(Reason::kStreamEnded)}});
  if (SystemClock().Now() - streaming_since_ >= kStableStream) backoff_ = Duration(0);
  Retire();
  Enter(PluginState::kBackoff);
  Retry(kFirstBackoff, kLastBackoff);
}

void Plugin::PollSockets() {
  if (state_ == PluginState::kWaiting && server_ == nullptr) return Begin();
  if (server_ != nullptr && !server_->SocketStands()) {
    log::Info("socket was removed",
              {{"resource", parameters_.resource}, {"socket", server_->socket_path()}});
    backoff_ = Duration(0);
    return Begin();
  }
  if (parameters_.path == RegistrationPath::kPluginWatcher) return;
  // kubelet has restarted: calls and timers in progress belong to the former process.
  auto socket = os::Inspect(parameters_.directories.kubelet_socket());
  if (socket && *socket != kubelet_) {
    log::Info("kubelet was restarted", {{"resource", parameters_.resource}});
    backoff_ = Duration(0);
    Begin();
  }
}

void Plugin::RegisterAgain(std::string_view why) {
  log::Warn("registering again", {{"resource", parameters_.resource}, {"because", why}});
  Retire();
  Enter(PluginState::kBackoff);
  Retry(kFirstBackoff, kLastBackoff);
}

void Plugin::SetOptions(const PluginOptions& options) {
  if (options == parameters_.options) return;
  parameters_.options = options;
  Begin();
}

void Plugin::Retry(Duration first, Duration last) {
  timer_ = loop_.After(std::min(backoff_, last), [this] { Begin(); });
  backoff_ = std::clamp(backoff_ * 2, first, last);
}

// Ends the endpoint on a worker, because calls in progress may delay it.
void Plugin::Retire() {
  timer_ = os::Loop::Handle();
  call_.reset();
  waiting_to_serve_ = false;
  ++epoch_;
  if (server_ == nullptr) return;
  server_->Close();
  observer_.StreamsChanged(parameters_.resource, 0);
  ++retiring_;
  auto ended = mailbox_.Bind([of = kubelet_](Plugin& self) {
    if (of != self.kubelet_ || --self.retiring_ > 0 || !self.waiting_to_serve_) return;
    self.waiting_to_serve_ = false;
    // A restarted kubelet knows no former stream, so it needs no time to notice its end.
    const Duration wait = self.SameKubelet() ? kPeerNotices : Duration(0);
    self.timer_ = self.loop_.After(wait, [&self] { self.Serve(); });
  });
  workers_.Run([server = std::shared_ptr<PluginServer>(std::move(server_)), ended]() mutable {
    server.reset();
    ended();
  });
}

bool Plugin::SameKubelet() const {
  if (parameters_.path == RegistrationPath::kPluginWatcher) return true;
  auto socket = os::Inspect(parameters_.directories.kubelet_socket());
  return socket && *socket == kubelet_;
}

void Plugin::Enter(PluginState state) {
  if (state == state_) return;
  state_ = state;
  observer_.StateChanged(parameters_.resource, state);
}

PluginServerEvents Plugin::EventsOf(uint64_t epoch) {
  return {
      .stream_opened = mailbox_.Bind([epoch](Plugin& self) { self.OnStreamOpened(epoch); }),
      .stream_ended = mailbox_.Bind(
          [epoch](Plugin& self, bool by_peer) { self.OnStreamEnded(epoch, by_peer); }),
      .list_sent = mailbox_.Bind([](Plugin& self, size_t bytes) {
        self.observer_.ListSent(self.parameters_.resource, bytes);
      }),
      .watcher_notified = mailbox_.Bind(
          [epoch](Plugin& self, const Status& status) { self.OnRegistered(epoch, status); }),
  };
}

std::set<std::string> SocketsIn(const Directories& directories, const std::string& socket_prefix) {
  std::set<std::string> sockets;
  for (const std::string& directory : {directories.device_plugins(), directories.registry()}) {
    for (const std::string& name :
         os::ListDirectory(directory).value_or(std::vector<std::string>())) {
      if (IsSocketName(name, socket_prefix)) sockets.insert(directory + "/" + name);
    }
  }
  return sockets;
}

Leftovers RemoveStaleSockets(const Directories& directories, const std::string& socket_prefix) {
  Leftovers found;
  std::string planted;
  for (const std::string& path : SocketsIn(directories, socket_prefix)) {
    if (os::RemoveStaleSocket(path)) {
      ++found.removed;
    } else if (auto info = os::Inspect(path); info && info->type != os::FileInfo::Type::kSocket) {
      if (++found.planted == 1) planted = path;
    }
  }
  if (found.removed > 0) {
    log::Info("removed stale sockets", {{"directory", directories.root}, {"count", found.removed}});
  }
  if (found.planted > 0) {
    log::Warn("files that have our sockets' names are not sockets; they stay",
              Error{Reason::kSocketPlanted, planted + " is not a socket"},
              {{"count", found.planted}});
  }
  return found;
}

}  // namespace tessera::kubelet
