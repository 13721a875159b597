// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

#include <fmt/core.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "cli/command/parse.h"
#include "cli/command/version_command.h"
#include "kube/access.h"
#include "kube/paths.h"
#include "os/descriptors.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/process.h"
#include "scheduler/cli/config_command.h"
#include "scheduler/cli/explain_command.h"
#include "scheduler/service.h"
#include "scheduler/settings/load.h"

namespace tessera::cli {
namespace {

Result<kube::Access> AccessBy(const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return kube::FromKubeconfig(kubeconfig);
  auto access = TRY(kube::InCluster(os::Root(), os::Variable));
  if (access) return *std::move(access);
  return Fail(Reason::kInvalid,
              "no pod's service account was found: name a kubeconfig by --kubeconfig");
}

log::Level LevelOf(const std::string& name) {
  if (name == "debug") return log::Level::kDebug;
  if (name == "warn") return log::Level::kWarn;
  if (name == "error") return log::Level::kError;
  return name == "off" ? log::Level::kOff : log::Level::kInfo;
}

void LogSettings(const scheduler::Loaded& loaded) {
  log::Configure(LevelOf(loaded.settings.log_level),
                 loaded.settings.log_format == "json" ? log::Format::kJson : log::Format::kText);
  for (const std::string& note : loaded.notes) log::Info(note);
  for (const config::Problem& warning : loaded.warnings) log::Warn(warning.Text());
}

// NVIDIA's resources. The file's bounds keep each value in the range of its type.
RequestRules RulesBy(const scheduler::Settings& settings) {
  return {.count_name = settings.count_name,
          .memory_name = settings.memory_name,
          .percentage_name = settings.percentage_name,
          .cores_name = settings.cores_name,
          .default_memory = static_cast<int32_t>(settings.default_memory),
          .default_cores = static_cast<int32_t>(settings.default_cores),
          .memory_factor = static_cast<int32_t>(settings.memory_factor)};
}

scheduler::Policies PoliciesBy(const scheduler::Settings& settings) {
  const bool spreads = settings.node_policy == "spread";
  return {.node = spreads ? scheduler::NodePolicy::kSpread : scheduler::NodePolicy::kBinpack,
          .device = Join(settings.device_policies, ","),
          .weights = {.containers = settings.slot_weight,
                      .cores = settings.core_weight,
                      .memory = settings.memory_weight}};
}

scheduler::LeaseName LeaseBy(const scheduler::Settings& settings) {
  if (!settings.uses_lease || settings.lease_namespace.empty()) return {};
  return {.lease_namespace = settings.lease_namespace,
          .name = settings.lease_name,
          .host = os::HostName()};
}

// The name in deploy/scheduler of the Service and its configurations. The Secret is "-webhook"
// after it.
constexpr char kName[] = "tessera-scheduler";

webhook::DeviceRules NvidiaRulesBy(const scheduler::Settings& settings) {
  return {.requests = RulesBy(settings),
          .priority_name = settings.priority_name,
          .default_count = static_cast<int32_t>(settings.default_count),
          .runtime_class = settings.runtime_class,
          .core_policy = settings.core_policy,
          .hides_devices = settings.hides_devices};
}

// In the order of ServedBy.
std::vector<webhook::DeviceRules> DeviceRulesBy(const scheduler::Settings& settings,
                                                const hami::VendorTable& table) {
  std::vector<webhook::DeviceRules> all;
  if (settings.Places("nvidia")) all.push_back(NvidiaRulesBy(settings));
  for (size_t i = 0; i < table.rows().size(); ++i) {
    const hami::ServedVendor& served = table.rows()[i];
    all.push_back({.vendor = served.vendor,
                   .requests = served.rules,
                   .core_requests = served.core_rules,
                   .runtime_class = settings.others[i].runtime_class,
                   .hides_devices = settings.others[i].hides_devices});
  }
  return all;
}

webhook::Rules WebhookRulesBy(const scheduler::Settings& settings, const hami::VendorTable& table) {
  return {.devices = DeviceRulesBy(settings, table),
          .schedulers = settings.scheduler_names,
          .takes_default_scheduler = settings.takes_default_scheduler,
          .node_label = settings.node_label,
          .guard = {.on = settings.guard == "always",
                    .writers = settings.protocol_writers,
                    .administrators = settings.administrators}};
}

scheduler::ServiceOptions OptionsBy(const scheduler::Settings& settings,
                                    const hami::VendorTable& table, kube::Access access) {
  return {.access = std::move(access),
          .extender_address = settings.extender_address,
          .status_address = settings.status_address,
          .vendors = ServedBy(settings, table),
          .policies = PoliciesBy(settings),
          .node_labels = settings.node_labels,
          .locks = {.patience = settings.lock_patience, .timeout = settings.lock_timeout},
          .webhook = WebhookBy(settings, table),
          .lease = LeaseBy(settings),
          .host = os::HostName()};
}

int ServeBy(const scheduler::Settings& settings) {
  std::signal(SIGPIPE, SIG_IGN);
  os::RaiseDescriptorLimit();
  auto access = AccessBy(settings.kubeconfig);
  if (!access) return PrintFailure(access.error());
  const hami::VendorTable table(settings.others);
  os::Loop loop;
  const auto service = scheduler::Service::Start(loop, SystemClock(),
                                                 OptionsBy(settings, table, *std::move(access)));
  if (!service) return PrintFailure(service.error());
  const auto term = loop.OnSignal(SIGTERM, [&] { loop.Stop(); });
  const auto interrupt = loop.OnSignal(SIGINT, [&] { loop.Stop(); });
  loop.Run();
  return kOk;
}

int Serve(const std::vector<std::string>& words) {
  scheduler::CommandLine line = scheduler::ParseFlags(words);
  if (line.help) return Print(HelpText(SchedulerProgram(), "tessera-scheduler"));
  if (!line.errors.empty()) {
    PrintToError(config::Text(line.errors));
    return kUsage;
  }
  const scheduler::Loaded loaded =
      scheduler::Load(scheduler::SourcesOf(std::move(line), os::Variable));
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  LogSettings(loaded);
  return ServeBy(loaded.settings);
}

}  // namespace

std::vector<hami::ServedVendor> ServedBy(const scheduler::Settings& settings,
                                         const hami::VendorTable& table) {
  std::vector<hami::ServedVendor> served;
  if (settings.Places("nvidia")) served.push_back({.rules = RulesBy(settings)});
  served.insert(served.end(), table.rows().begin(), table.rows().end());
  return served;
}

// A certificate is made only for a Service in a cluster. Elsewhere, without certificate files,
// there is no webhook.
scheduler::WebhookOptions WebhookBy(const scheduler::Settings& settings,
                                    const hami::VendorTable& table) {
  const std::string pods = os::Variable("POD_NAMESPACE").value_or("");
  if (settings.certificate_file.empty() && pods.empty()) return {};
  const std::string service = fmt::format("{}.{}.svc", kName, pods);
  return {.address = settings.webhook_address,
          .rules = WebhookRulesBy(settings, table),
          .guards_by_version = settings.guard == "auto",
          .certificate_file = settings.certificate_file,
          .key_file = settings.key_file,
          .kept = {.secret_namespace = pods,
                   .secret = fmt::format("{}-webhook", kName),
                   .names = {service, service + ".cluster.local"},
                   .configurations = {kube::MutatingWebhookPath(kName),
                                      kube::ValidatingWebhookPath(kName)}}};
}

std::vector<Option> SettingsOptions() {
  std::vector<Option> options = {
      {.name = fmt::format("--{}", scheduler::kOwnFileFlag),
       .value = "FILE",
       .help = "the scheduler's own settings, which override HAMi's file"},
      {.name = fmt::format("--{}", scheduler::kHamiFileFlag),
       .value = "FILE",
       .help = "HAMi's device-config.yaml"}};
  for (const scheduler::Option& option : scheduler::Options()) {
    if (option.flag.empty()) continue;
    std::string help(option.doc);
    if (help.ends_with('.')) help.pop_back();
    std::erase(help, '`');
    const std::string note =
        option.variable.empty() ? "" : fmt::format("[env: {}]", option.variable);
    options.push_back({.name = fmt::format("--{}", option.flag),
                       .value = option.IsSwitch() ? "" : "TEXT",
                       .help = std::move(help),
                       .note = note});
  }
  return options;
}

Command SchedulerProgram() {
  return {.name = "tessera-scheduler",
          .summary = "places shares of devices for kube-scheduler",
          .description =
              "An extender of the stock kube-scheduler. It chooses a node for a pod and its "
              "devices, reserves them, and binds the pod with the share of each container. It "
              "reads its whole state from the API server. It accepts the flags of HAMi's "
              "scheduler. docs/reference/scheduler-settings.md lists the flags without effect.",
          .options = SettingsOptions(),
          .examples = {{"tessera-scheduler --kubeconfig ~/.kube/config",
                        "Serve a kube-scheduler on this machine."}},
          .commands = {SchedulerExplainCommand(), SchedulerConfigCommand(),
                       VersionCommand("tessera-scheduler")},
          .run = [](const Arguments& arguments) { return Serve(arguments.words()); }};
}

int SchedulerMain(int argc, char** argv) {
  SetProgramName("tessera-scheduler");
  std::vector<std::string> words(argv + 1, argv + argc);
  TranslateHabits(words);
  const bool serves = words.empty() || words.front().starts_with('-');
  return serves ? Serve(words) : Run(SchedulerProgram(), words);
}

}  // namespace tessera::cli
