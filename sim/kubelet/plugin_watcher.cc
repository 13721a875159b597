// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_watcher.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "os/files.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"
#include "sim/kubelet/go_text.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr Duration kPeriod{1'000};
constexpr Duration kFirstPause{500};
constexpr Duration kLongestPause{122'000};
constexpr Duration kGetInfoLimit{1'000};
constexpr Duration kNotifyLimit{5'000};
constexpr std::string_view kVersion = "v1beta1";

// grpc-go's default :authority for a unix socket: the path, percent-escaped.
std::string Authority(std::string_view path) {
  std::string escaped;
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-_.~$&+:=@").find(c) != std::string_view::npos;
    escaped += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

// The plugin's registration service on one socket.
class Registrar {
 public:
  Registrar(const std::string& path, os::Fd connection, Cancellation& stopping)
      : path_(path),
        stopping_(stopping),
        stub_(pluginregistration::Registration::NewStub(
            ChannelOver(std::move(connection), Authority(path)))) {}

  Result<pluginregistration::PluginInfo> GetInfo() {
    pluginregistration::PluginInfo info;
    grpc::Status status = Run(kGetInfoLimit, [&](grpc::ClientContext& context) {
      return stub_->GetInfo(&context, {}, &info);
    });
    if (status.ok()) return info;
    return Fail(Reason::kRegisterFailed,
                "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket {}, "
                "err: {}",
                path_, TextOf(status));
  }

  Status Notify(bool registered, const std::string& error) {
    pluginregistration::RegistrationStatus told;
    told.set_plugin_registered(registered);
    told.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    grpc::Status status = Run(kNotifyLimit, [&](grpc::ClientContext& context) {
      return stub_->NotifyRegistrationStatus(&context, told, &response);
    });
    if (status.ok()) return {};
    return Fail(Reason::kRegisterFailed,
                "RegisterPlugin error -- failed to send registration status at socket {}, err: {}",
                path_, TextOf(status));
  }

  // Sends the plugin a failed registration, and returns that as the error.
  tl::unexpected<Error> Refuse(std::string why) {
    (void)Notify(false, why);
    return Fail(Error{Reason::kRegisterFailed, std::move(why)});
  }

 private:
  template <class Call>
  grpc::Status Run(Duration limit, Call call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    Cancellation::Hook hook(stopping_, [&context] { context.TryCancel(); });
    return call(context);
  }
  static std::string TextOf(const grpc::Status& status) {
    return RpcErrorText(static_cast<int>(status.error_code()), status.error_message());
  }

  const std::string path_;
  Cancellation& stopping_;
  std::unique_ptr<pluginregistration::Registration::Stub> stub_;
};

// kubelet's ValidatePlugin of device plugins.
Status Validate(const pluginregistration::PluginInfo& info) {
  const auto& versions = info.supported_versions();
  if (std::find(versions.begin(), versions.end(), kVersion) == versions.end()) {
    return Fail(Reason::kInvalid,
                "manager version, {}, is not among plugin supported versions [{}]", kVersion,
                Join(std::vector<std::string>(versions.begin(), versions.end()), " "));
  }
  if (!IsExtendedResourceName(info.name())) {
    return Fail(Reason::kInvalid,
                "invalid name of device plugin socket: the ResourceName {} is invalid",
                Quoted(info.name()));
  }
  return {};
}

}  // namespace

void PluginWatcher::Start() {
  tick_ = core_.loop.Every(core_.Scaled(kPeriod), [this] { Reconcile(); });
}

void PluginWatcher::ScanInto(const std::string& directory, Found& found) {
  auto names = os::ListDirectory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;
    std::string path = directory + "/" + name;
    struct statx info{};
    if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &info) != 0) {
      continue;
    }
    if (S_ISDIR(info.stx_mode)) ScanInto(path, found);
    if (!S_ISSOCK(info.stx_mode)) continue;
    const auto& born = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
    found[path] = {uint64_t{info.stx_dev_major} << 32 | info.stx_dev_minor, info.stx_ino,
                   born.tv_sec * 1'000'000'000 + born.tv_nsec};
  }
}

void PluginWatcher::Reconcile() {
  Found found;
  ScanInto(core_.directories.registry(), found);
  std::erase_if(sockets_, [&](const auto& item) {
    const auto& [path, socket] = item;
    auto still = found.find(path);
    if (still != found.end() && still->second == socket.identity) return false;
    if (socket.registered) {
      connections_.Disconnect(socket.registered->resource, socket.registered->endpoint);
    }
    return true;
  });
  Steady now = SystemClock().Now();
  for (const auto& [path, identity] : found) {
    Socket& socket =
        sockets_.try_emplace(path, Socket{.identity = identity, .registered = {}}).first->second;
    if (!socket.busy && !socket.registered && now >= socket.next_attempt) Attempt(path, socket);
  }
}

void PluginWatcher::Attempt(const std::string& path, Socket& socket) {
  socket.busy = true;
  core_.workers.Run([this, path, identity = socket.identity, running = core_.outstanding.Begin()] {
    auto result = Register(path);
    core_.loop.Post([this, path, identity, result = std::move(result)]() mutable {
      AttemptEnded(path, identity, std::move(result));
    });
  });
}

void PluginWatcher::AttemptEnded(const std::string& path, const Identity& identity,
                                 Result<Registered> result) {
  auto found = sockets_.find(path);
  if (found == sockets_.end() || found->second.identity != identity) {
    // The socket was removed or replaced during its registration.
    if (result) connections_.Disconnect(result->resource, result->endpoint);
    return;
  }
  Socket& socket = found->second;
  socket.busy = false;
  if (result) {
    socket.registered = *std::move(result);
    return;
  }
  socket.pause = socket.pause == Duration(0)
                     ? core_.Scaled(kFirstPause)
                     : std::min(socket.pause * 2, core_.Scaled(kLongestPause));
  socket.next_attempt = SystemClock().Now() + socket.pause;
  core_.Emit(KubeletEvent::Kind::kRegisterRefused, "",
             fmt::format("{} was refused: {}", path, result.error().message));
}

Result<PluginWatcher::Registered> PluginWatcher::Register(const std::string& path) {
  auto connection =
      Dial(path, {.dial = SystemClock().Now() + kDialLimit, .cancelled = {}}, core_.stopping);
  if (!connection) {
    return Fail(Reason::kRegisterFailed,
                "RegisterPlugin error -- dial failed at socket {}, err: failed to dial socket {}, "
                "err: {}",
                path, path, connection.error().message);
  }
  Registrar registrar(path, *std::move(connection), core_.stopping);
  pluginregistration::PluginInfo info = TRY(registrar.GetInfo());
  if (info.type() != "DevicePlugin") {
    return registrar.Refuse(fmt::format(
        "RegisterPlugin error -- no handler registered for plugin type: {} at socket {}",
        info.type(), path));
  }
  if (Status valid = Validate(info); !valid) {
    return registrar.Refuse(fmt::format(
        "RegisterPlugin error -- plugin validation failed with err: {}", valid.error().message));
  }
  Registered registered{info.name(), info.endpoint().empty() ? path : info.endpoint()};
  Status connected =
      connections_.Connect(registered.resource, registered.endpoint,
                           {.dial = SystemClock().Now() + kDialLimit, .cancelled = {}});
  if (!connected) {
    return registrar.Refuse(
        fmt::format("RegisterPlugin error -- plugin registration failed with err: {}",
                    connected.error().message));
  }
  if (Status told = registrar.Notify(true, ""); !told) {
    connections_.Disconnect(registered.resource, registered.endpoint);
    return Fail(told.error());
  }
  return registered;
}

}  // namespace tessera::kubelet::embedded
