// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/log.h"
#include "grant/grant.h"
#include "os/files.h"
#include "os/owner.h"

namespace tessera {
namespace {

// Limits reports if another party changes the document again and again.
constexpr Duration kTellAgain{60'000};

bool OthersMayWrite(const std::string& path) {
  const auto owner = os::OwnerOf(path);
  return owner && !os::IsSafe(*owner, geteuid());
}

// Another party's change of the document.
struct Change {
  std::string now;   // the state found
  std::string done;  // the report's verb: "removed"
};

Change ChangeOf(const Result<std::string>& on_disk, bool same) {
  if (same)
    return {"writable for users other than root", "made writable for users other than root"};
  if (on_disk) return {"changed", "changed"};
  const std::string& why = on_disk.error().message;
  return {why, on_disk.error().reason == Reason::kNotFound ? "removed" : "made unreadable: " + why};
}

}  // namespace

void CdiFile::Write(std::string document, const std::string& resource) {
  if (written_ && document == document_) return;
  resource_ = resource;
  document_ = std::move(document);
  const auto on_disk = os::ReadFile(path_);
  written_ = on_disk && *on_disk == document_ && !OthersMayWrite(path_);
  due_ = "good";
  if (!written_) WriteDocument();
}

void CdiFile::Restore(Against against) {
  const auto on_disk = os::ReadFile(path_);
  const bool same = on_disk && *on_disk == document_;
  if (same && !OthersMayWrite(path_)) {
    written_ = true;
    return;
  }
  if (written_) {
    if (!same && against == Against::kLoss && on_disk && IsCdiDocumentOf(kind_, *on_disk)) return;
    const Change change = ChangeOf(on_disk, same);
    log::Warn("the CDI document was changed or removed; the agent restores it",
              {{"path", path_}, {"now", change.now}});
    due_ = "put-back";
    TellChanged(change.done);
  }
  WriteDocument();
}

void CdiFile::TellChanged(const std::string& how) {
  const Steady now = SystemClock().Now();
  if (!tell_ || (told_ && now - *told_ < kTellAgain)) return;
  told_ = now;
  tell_({.reason = "CdiDocumentChanged",
         .path = path_,
         .message = fmt::format(
             "CDI document {} was {} by another program; the agent restores it. Find that program",
             path_, how)});
}

void CdiFile::WriteDocument() {
  const Status put = PutCdiDocument(path_, document_);
  written_ = put.has_value();
  metrics_.Add(http::Metric::kCdiWrites, {resource_, put ? due_ : "failed"});
  if (put) {
    refusal_.reset();
    return log::Info("wrote the CDI document", {{"path", path_}});
  }
  if (refusal_ == put.error()) return;
  refusal_ = put.error();
  log::LogError("cannot write the CDI document", put.error(), {{"path", path_}});
  if (tell_) {
    tell_({.reason = "CdiDocumentNotWritten",
           .path = path_,
           .message = "cannot write the CDI document: " + put.error().Text()});
  }
}

Status PutCdiDocument(const std::string& path, std::string_view text) {
  const auto on_disk = os::ReadFile(path);
  if (on_disk && *on_disk == text && !OthersMayWrite(path)) return {};
  const std::string directory = path.substr(0, path.rfind('/'));
  TRY(os::MakeDirectories(directory, 0755));
  const os::Owner owner = TRY(os::OwnerOf(directory));
  if (!os::IsSafe(owner, geteuid())) {
    return Fail(Reason::kCdiUnsafe,
                "{} is writable for users other than root (user {}, group {}, {})", directory,
                owner.user, owner.group, os::ModeText(owner.mode));
  }
  // Not synced: bad news may be waiting for this write. After a crash of the machine, the agent's
  // start writes it again before any grant.
  return os::ReplaceFile(path, text, 0644);
}

void CdiFile::Remove() {
  (void)os::RemoveFile(path_);
  document_.clear();
  written_ = false;
  refusal_.reset();
}

}  // namespace tessera
