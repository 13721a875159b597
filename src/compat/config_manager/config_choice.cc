// SPDX-License-Identifier: Apache-2.0
#include "compat/config_manager/config_choice.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "kube/access.h"
#include "kube/client.h"
#include "kube/objects/metadata.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/process.h"

namespace tessera::config_manager {
namespace {

// Null: the node has no such label.
std::optional<std::string> LabelIn(const json::Value& node, const std::string& label) {
  const auto labels = kube::MetadataOf(node).labels;
  const auto found = labels.find(label);
  if (found == labels.end()) return std::nullopt;
  return found->second;
}

// Leaves out directories and links that begin with two dots, which a ConfigMap's volume uses
// internally.
Result<std::vector<std::string>> FilesIn(const std::string& directory) {
  std::vector<std::string> files = TRY(os::ListDirectory(directory));
  std::erase_if(files, [&](const std::string& name) {
    const auto info = os::InspectTarget(directory + "/" + name);
    return name.starts_with("..") || !info || info->type != os::FileInfo::Type::kFile;
  });
  return files;
}

// Whether both lead to one file. A ConfigMap's volume has links too, so both are followed.
bool LeadToOneFile(const std::string& a, const std::string& b) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(a, error);
  return !error && real == std::filesystem::canonical(b, error) && !error;
}

class ConfigChoice {
 public:
  ConfigChoice(os::Loop& loop, ConfigChoiceOptions options)
      : loop_(loop), options_(std::move(options)) {}

  int exit_code() const { return exit_code_; }

  // The node was listed, or has changed.
  void Read(const json::Value& node) {
    known_ = true;
    const auto label = LabelIn(node, options_.label);
    const auto pointed = Point(label);
    if (!pointed) {
      log::Warn("the configuration stays as it is", pointed.error(),
                {{"label", label.value_or("")}});
    }
    const bool told = !pointed.value_or(false) || options_.signal == 0 || Signal();
    if (!options_.oneshot) return;
    exit_code_ = pointed && told ? 0 : 1;
    loop_.Stop();
  }

  // The list request begins or has ended.
  void Begun() { known_ = false; }
  void Listed() {
    if (!known_) Missing();
  }

  void Missing() {
    log::Warn("the API server has no such node", {{"node", options_.node}});
    if (!options_.oneshot) return;
    exit_code_ = 1;
    loop_.Stop();
  }

 private:
  // Makes the link. True: it led to another file before.
  Result<bool> Point(const std::optional<std::string>& label) {
    const std::vector<std::string> files = TRY(FilesIn(options_.directory));
    const std::string file = TRY(ChooseFile(label, options_.rules, files));
    const std::string target = file.empty() ? TRY(Empty()) : options_.directory + "/" + file;
    if (LeadToOneFile(options_.link, target)) return false;
    TRY(os::ReplaceLink(options_.link, target));
    log::Info("the configuration was chosen", {{"label", label.value_or("")}, {"file", target}});
    return true;
  }

  // An empty configuration, next to the link.
  Result<std::string> Empty() const {
    std::string path = options_.link + ".empty";
    TRY(os::ReplaceFile(path, "version: v1\n", 0644));
    return path;
  }

  bool Signal() {
    const auto pid = os::FindProcess(options_.process);
    if (!pid) {
      log::Warn("there is no process to signal", {{"process", options_.process}});
      return false;
    }
    if (kill(*pid, options_.signal) != 0) {
      log::Warn("the process did not get the signal",
                SystemError("cannot signal " + options_.process, errno));
      return false;
    }
    log::Info("the process got the signal", {{"process", options_.process}, {"pid", *pid}});
    return true;
  }

  os::Loop& loop_;
  const ConfigChoiceOptions options_;
  int exit_code_ = 0;
  bool known_ = false;  // whether the API server has the node
};

Result<kube::Access> FindAccess(const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return kube::FromKubeconfig(kubeconfig);
  auto access = TRY(kube::InCluster(os::Root(), os::Variable));
  if (access) return *std::move(access);
  return Fail(Reason::kNotFound,
              "no API server is configured: there is neither a kubeconfig nor a pod's service "
              "account with a token");
}

}  // namespace

int RunConfigChoice(const ConfigChoiceOptions& options) {
  auto access = FindAccess(options.kubeconfig);
  if (!access) {
    log::LogError("cannot start", access.error());
    return 1;
  }
  os::Loop loop;
  std::vector<os::Loop::Handle> signals;
  for (int number : {SIGTERM, SIGINT, SIGQUIT}) {
    signals.push_back(loop.OnSignal(number, [&loop] { loop.Stop(); }));
  }
  ConfigChoice choice(loop, options);
  kube::Client client(loop, *std::move(access));
  kube::Watch watch(loop, client, "/api/v1/nodes", "fieldSelector=metadata.name%3D" + options.node,
                    kube::NodeForm(),
                    {.changed = [&choice](const json::Value& node) { choice.Read(node); },
                     .deleted = [&choice](const json::Value&) { choice.Missing(); },
                     .begun = [&choice] { choice.Begun(); },
                     .item = [&choice](const json::Value& node) { choice.Read(node); },
                     .listed = [&choice] { choice.Listed(); }});
  loop.Run();
  return choice.exit_code();
}

}  // namespace tessera::config_manager
