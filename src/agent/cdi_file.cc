// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_file.h"

#include <algorithm>

#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

bool UsesCdi(const Rendering& rendering) {
  return rendering.cdi_write &&
         std::any_of(rendering.strategies.begin(), rendering.strategies.end(), [](Strategy s) {
           return s == Strategy::kCdiCri || s == Strategy::kCdiAnnotations;
         });
}

Status WriteTo(const std::string& path, const std::string& document) {
  TRY(os::MakeDirectories(path.substr(0, path.rfind('/')), 0755));
  // Not synced, for bad news may be waiting for it: after a crash of the machine, the agent's start
  // writes it anew before anything can be granted.
  return os::ReplaceFile(path, document, 0644);
}

}  // namespace

void CdiFile::Write(const std::string& directory, const Offer& offer, const Rendering& rendering,
                    bool in_use) {
  std::string document = UsesCdi(rendering) ? CdiDocument(offer, rendering) : std::string();
  if (document.empty()) return Leave(in_use);
  std::string path = directory + "/" + CdiFileName(rendering.cdi_kind);
  if (path != path_) Leave(in_use);
  if (written_ && document == document_) return;
  kind_ = rendering.cdi_kind;
  path_ = std::move(path);
  document_ = std::move(document);
  const auto on_disk = os::ReadFile(path_);
  written_ = on_disk && *on_disk == document_;
  due_ = "good";
  if (!written_) Put();
}

void CdiFile::Keep(Against against) {
  if (document_.empty()) return;
  const auto on_disk = os::ReadFile(path_);
  if (on_disk && *on_disk == document_) {
    written_ = true;
    return;
  }
  if (written_) {
    if (against == Against::kLoss && on_disk && IsCdiDocumentOf(kind_, *on_disk)) return;
    log::Warn("the CDI document is not as it was written",
              {{"path", path_}, {"now", on_disk ? "changed" : on_disk.error().message}});
    due_ = "put-back";
  }
  Put();
}

void CdiFile::Put() {
  const Status put = WriteTo(path_, document_);
  written_ = put.has_value();
  metrics_.Add(http::Metric::kCdiWrites, {resource_, put ? due_ : "failed"});
  if (put) {
    refusal_.clear();
    return log::Info("wrote the CDI document", {{"path", path_}});
  }
  if (put.error().message == refusal_) return;
  refusal_ = put.error().message;
  log::LogError("cannot write the CDI document", put.error(), {{"path", path_}});
}

void CdiFile::Leave(bool in_use) {
  if (!path_.empty() && !in_use) (void)os::RemoveFile(path_);
  path_.clear();
  document_.clear();
  written_ = false;
}

}  // namespace tessera::agent
