// SPDX-License-Identifier: Apache-2.0
#include "agent/state_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "binding/state_mount.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr size_t kLogSlack = size_t{256} * 1024;

}  // namespace

bool StateStore::TryToBecomeWriter() {
  if (writer()) return false;
  auto made = os::MakeDirectories(directory_);
  auto lock = made ? os::FileLock::Take(directory_ + "/lock")
                   : Fail(AboutStateMount(made.error(), directory_));
  if (lock) {
    lock_ = *std::move(lock);
    refusal_.reset();
    RemoveLeftovers();
    return true;
  }
  locked_ = lock.error().reason == Reason::kStateLocked;
  if (refusal_ != lock.error()) {
    refusal_ = lock.error();
    log::Warn("this instance does not write the state", lock.error(), {{"directory", directory_}});
  }
  return false;
}

// Removes temporary files of writers that were killed during a write.
void StateStore::RemoveLeftovers() {
  auto names = os::ListDirectory(directory_);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.find(".jsonl.tmp") != std::string::npos) (void)os::RemoveFile(directory_ + "/" + name);
  }
}

template <class Parsed, class Parse>
std::optional<Parsed> StateStore::Load(const std::string& path, Parse parse) {
  auto text = os::ReadFile(path);
  if (!text) {
    if (text.error().reason != Reason::kNotFound) log::Warn("cannot read the state", text.error());
    return std::nullopt;
  }
  auto parsed = parse(*text);
  if (parsed) return *std::move(parsed);
  log::Warn("the saved state is not used", parsed.error().In(path));
  unusable_(parsed.error().reason);
  if (writer()) {
    std::string aside =
        path + (parsed.error().reason == Reason::kStateNewer ? ".newer" : ".corrupt");
    if (rename(path.c_str(), aside.c_str()) != 0) {
      log::Warn("cannot set the state aside", SystemError(aside, errno));
    }
  }
  return std::nullopt;
}

std::optional<Facts> StateStore::LoadFacts() {
  return Load<Facts>(facts_path(), ParseFacts);
}

Verdicts StateStore::LoadVerdicts(std::string_view boot_id) {
  std::optional<Error> torn;
  auto verdicts = Load<Verdicts>(
      verdicts_path(), [&](std::string_view text) { return ParseVerdicts(text, boot_id, &torn); });
  if (torn) {
    // The reason's advice is left out, because the file stays until it is rewritten.
    log::Warn("only the unhealthy devices of the saved state are used",
              {{"path", verdicts_path()},
               {"reason", ReasonName(torn->reason)},
               {"error", torn->message}});
    unusable_(torn->reason);
  }
  return std::move(verdicts).value_or(Verdicts{});
}

Status StateStore::SaveFacts(const DeviceList& devices, const Cordons& cordons,
                             const Plans& plans) {
  return os::WriteFileAtomically(facts_path(), WriteFacts(devices, cordons, plans));
}

bool StateStore::log_open() const {
  struct stat info{};
  return log_.valid() && fstat(log_.get(), &info) == 0 && info.st_nlink > 0;
}

bool StateStore::LogHasGrown() const {
  return log_size_ > 2 * log_base_ + kLogSlack;
}

// If either step fails, log_ is still the former log.
Status StateStore::RewriteVerdicts(const std::string& text) {
  TRY(os::ReplaceFile(verdicts_path(), text));
  log_ = TRY(os::OpenToAppend(verdicts_path()));
  log_size_ = log_base_ = text.size();
  return {};
}

Status StateStore::AppendVerdicts(const std::string& lines) {
  Status written = os::Append(log_, lines, verdicts_path());
  if (written) {
    log_size_ += lines.size();
  } else if (ftruncate(log_.get(), static_cast<off_t>(log_size_)) != 0) {
    log_ = os::Fd();  // the last line is torn and cannot be cut off
  }
  return written;
}

}  // namespace tessera::agent
