// SPDX-License-Identifier: Apache-2.0
#include "cli/cdi_files.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cdi/cdi_reading.h"
#include "grant/grant.h"
#include "os/files.h"
#include "os/owner.h"

namespace tessera::cli {
namespace {

bool IsOurs(const CdiDocumentFile& file) {
  return file.document && file.path.ends_with("/" + CdiFileName(file.document->kind));
}

std::vector<std::string> DevicesOf(const CdiDocumentFile& file) {
  return file.document ? DevicesIn(*file.document) : std::vector<std::string>();
}

class Check {
 public:
  Check(const HostFiles& host, uid_t root) : host_(host), root_(root) {}

  CdiFindings Take(const std::vector<CdiDocumentFile>& files) {
    std::set<std::string> directories;
    for (const CdiDocumentFile& file : files) {
      directories.insert(file.path.substr(0, file.path.rfind('/')));
      if (!file.document) {
        Report(file.document.error().reason, file.path, file.document.error().message);
        continue;
      }
      CheckOwner(file.path);
      CheckEdits(file.path, "containerEdits", file.document->edits);
      for (const cdi::Device& device : file.document->devices) {
        CheckEdits(file.path, device.name, device.edits);
      }
      CheckConflicts(file);
    }
    for (const std::string& directory : directories) CheckOwner(directory);
    return std::move(findings_);
  }

 private:
  void Report(Reason reason, const std::string& path, const std::string& message) {
    findings_.errors.push_back({reason, fmt::format("{}: {}", path, message)});
  }

  void CheckOwner(const std::string& path) {
    const auto owner = os::OwnerOf(path);
    if (!owner || os::IsSafe(*owner, root_)) return;
    Report(Reason::kCdiUnsafe, path,
           fmt::format("users other than root can write it: user {}, group {}, {}", owner->user,
                       owner->group, os::ModeText(owner->mode)));
  }

  void CheckConflicts(const CdiDocumentFile& file) {
    for (const std::string& name : DevicesOf(file)) {
      const auto [first, fresh] = first_.try_emplace({file.rank, name}, file.path);
      if (fresh) continue;
      Report(Reason::kCdiConflict, file.path,
             fmt::format("{} is also in {}, so no runtime injects it", name, first->second));
    }
  }

  void CheckEdits(const std::string& path, const std::string& of, const cdi::Edits& edits) {
    for (const cdi::Node& node : edits.nodes) CheckNode(path, of, node);
    for (const cdi::Mount& mount : edits.mounts) {
      const bool special = !mount.type.empty() && mount.type != "bind";
      if (!special) CheckThere(path, of, mount.host_path);
    }
    for (const cdi::Hook& hook : edits.hooks) CheckThere(path, of, hook.path);
  }

  void CheckThere(const std::string& path, const std::string& of, const std::string& wanted) {
    const HostFiles::State state = host_.StateOf(wanted).state;
    if (state == HostFiles::State::kUnseen) findings_.unseen.insert(wanted);
    if (state != HostFiles::State::kMissing) return;
    Report(Reason::kNotFound, path, fmt::format("{} needs {}, which is not there", of, wanted));
  }

  void CheckNode(const std::string& path, const std::string& of, const cdi::Node& node) {
    using Type = os::FileInfo::Type;
    const std::string& wanted = node.OnHost();
    const HostFiles::Found found = host_.StateOf(wanted);
    if (found.state == HostFiles::State::kUnseen) return CheckThere(path, of, wanted);
    // A link whose target is missing still counts as there.
    const auto info = os::Inspect(found.path.empty() ? wanted : found.path);
    if (!info) return CheckThere(path, of, wanted);
    const bool is_device = info->type == Type::kCharDevice || info->type == Type::kBlockDevice;
    if (!is_device) {
      if (node.type.empty() || !node.major || !node.minor) {
        Report(Reason::kInvalid, path,
               fmt::format("{} needs {}, which is not a device node: runtimes do not follow links, "
                           "so the document must have its type and numbers",
                           of, wanted));
      }
      return;
    }
    const bool other_numbers =
        (node.major && *node.major != static_cast<int64_t>(major(info->rdev))) ||
        (node.minor && *node.minor != static_cast<int64_t>(minor(info->rdev)));
    if (!other_numbers) return;
    Report(Reason::kInvalid, path,
           fmt::format("{} has {} as {}:{}, but it is {}:{}: the document is out of date", of,
                       wanted, node.major.value_or(-1), node.minor.value_or(-1), major(info->rdev),
                       minor(info->rdev)));
  }

  const HostFiles& host_;
  const uid_t root_;
  CdiFindings findings_;
  std::map<std::pair<size_t, std::string>, std::string> first_;  // rank and device -> document
};

}  // namespace

std::vector<CdiDocumentFile> ReadCdiFiles(const std::vector<std::string>& directories) {
  std::vector<CdiDocumentFile> files;
  for (size_t rank = 0; rank < directories.size(); ++rank) {
    const auto names = os::ListDirectory(directories[rank]);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const std::string path = directories[rank] + "/" + name;
      if (IsCdiFile(name)) files.push_back({path, rank, ReadCdiFile(path)});
    }
  }
  return files;
}

std::string CdiListText(const std::vector<CdiDocumentFile>& files) {
  std::string text;
  size_t width = 0;
  for (const CdiDocumentFile& file : files) {
    for (const std::string& name : DevicesOf(file)) width = std::max(width, name.size());
  }
  for (const CdiDocumentFile& file : files) {
    for (const std::string& name : DevicesOf(file)) {
      text += fmt::format("{:<{}}  {}  {}\n", name, width, IsOurs(file) ? "ours  " : "others",
                          file.path);
    }
  }
  return text;
}

CdiFindings CheckCdiFiles(const std::vector<CdiDocumentFile>& files, const HostFiles& host,
                          uid_t root) {
  return Check(host, root).Take(files);
}

}  // namespace tessera::cli
