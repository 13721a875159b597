// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_file.h"

#include <algorithm>

#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

bool UsesCdi(const Rendering& rendering) {
  return std::any_of(rendering.strategies.begin(), rendering.strategies.end(), [](Strategy s) {
    return s == Strategy::kCdiCri || s == Strategy::kCdiAnnotations;
  });
}

Status WriteUnlessThere(const std::string& directory, const std::string& path,
                        const std::string& document) {
  if (auto on_disk = os::ReadFile(path); on_disk && *on_disk == document) return {};
  TRY(os::MakeDirectories(directory, 0755));
  // Not synced, for bad news may be waiting for it: after a crash of the machine, the agent's start
  // writes it anew before anything can be granted.
  TRY(os::ReplaceFile(path, document, 0644));
  log::Info("wrote the CDI document", {{"path", path}});
  return {};
}

}  // namespace

void CdiFile::Write(const std::string& directory, const Offer& offer, const Rendering& rendering,
                    bool in_use) {
  if (!UsesCdi(rendering)) return Leave(in_use);
  std::string path = directory + "/" + CdiFileName(rendering.cdi_kind);
  if (path != path_) Leave(in_use);
  std::string document = CdiDocument(offer, rendering);
  if (document == document_) return;
  if (Status written = WriteUnlessThere(directory, path, document); !written) {
    return log::LogError("cannot write the CDI document", written.error(), {{"path", path}});
  }
  path_ = std::move(path);
  document_ = std::move(document);
}

void CdiFile::Leave(bool in_use) {
  if (!path_.empty() && !in_use) (void)os::RemoveFile(path_);
  path_.clear();
  document_.clear();
}

}  // namespace tessera::agent
