// SPDX-License-Identifier: Apache-2.0
#include "prepare/journal.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "binding/binding_store.h"
#include "binding/state_mount.h"
#include "json/json.h"

namespace tessera {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kSuffix = ".json";
constexpr size_t kEntryLength = 4096;  // padding: a full file system still accepts an empty file
constexpr std::pair<PrepareStep, std::string_view> kSteps[] = {
    {PrepareStep::kPreparing, "preparing"},
    {PrepareStep::kPrepared, "prepared"},
    {PrepareStep::kUnpreparing, "unpreparing"}};

std::string_view StepName(PrepareStep step) {
  return std::ranges::find(kSteps, step, &std::pair<PrepareStep, std::string_view>::first)->second;
}

std::optional<PrepareStep> StepOf(std::string_view name) {
  for (const auto& [step, known] : kSteps) {
    if (name == known) return step;
  }
  return std::nullopt;
}

json::Array ArrayOf(const std::vector<std::string>& texts) {
  return json::Array(texts.begin(), texts.end());
}

Result<std::vector<std::string>> TextsIn(const json::Object& object, std::string_view key) {
  std::vector<std::string> texts;
  const json::Array* array = json::GetArray(object, key);
  for (const json::Value& text : array == nullptr ? json::Array() : *array) {
    if (!text.is_string())
      return Fail(Reason::kStateCorrupt, "'{}' has an entry that is not text", key);
    texts.emplace_back(text.get_string());
  }
  return texts;
}

// Edits are stored as a CDI document; no device has this kind.
constexpr char kEditsKind[] = "tessera.dev/prepared";

Result<json::Value> JsonOf(const cdi::Edits& edits) {
  return json::Parse(cdi::Text({.kind = kEditsKind, .devices = {{.name = "all", .edits = edits}}}));
}

void PutEdits(json::Object& object, std::string_view key, const cdi::Edits& edits) {
  if (edits.empty()) return;
  if (auto value = JsonOf(edits)) object[key] = *std::move(value);
}

Result<cdi::Edits> EditsIn(const json::Object& object, std::string_view key) {
  const json::Object* value = json::GetObject(object, key);
  if (value == nullptr) return cdi::Edits();
  cdi::Document document = TRY(cdi::Read(json::Write(*value)));
  if (document.devices.size() != 1) return Fail(Reason::kStateCorrupt, "'{}' is invalid", key);
  return std::move(document.devices.front().edits);
}

UnreadPreparation PartsOf(std::string_view text) {
  UnreadPreparation parts;
  const Result<json::Value> value = json::Parse(text);
  const json::Object* object = value ? value->if_object() : nullptr;
  if (object == nullptr) return parts;
  parts.resource = json::GetString(*object, "resource").value_or("");
  parts.devices = TextsIn(*object, "devices").value_or(std::vector<std::string>());
  parts.hardware = TextsIn(*object, "hardware").value_or(std::vector<std::string>());
  return parts;
}

// The entry in a file's text, if it is the grant's.
Result<Preparation> EntryOf(const std::string& grant, const Result<std::string>& text) {
  if (!text) return Fail(text.error());
  Preparation entry = TRY(ReadPreparation(*text));
  if (entry.grant != grant) return Fail(Reason::kStateCorrupt, "it belongs to another grant");
  return entry;
}

}  // namespace

std::string PreparationText(const Preparation& preparation) {
  json::Object object{{"version", kVersion},
                      {"step", StepName(preparation.step)},
                      {"grant", preparation.grant},
                      {"grants", ArrayOf(preparation.grants)},
                      {"resource", preparation.resource},
                      {"preparer", preparation.preparer},
                      {"pod", preparation.pod_uid},
                      {"ids", ArrayOf(preparation.share_ids)},
                      {"devices", ArrayOf(preparation.devices)},
                      {"hardware", ArrayOf(preparation.hardware)},
                      {"boot", preparation.boot_id},
                      {"cdiDirectory", preparation.cdi_dir},
                      {"cdiKind", preparation.cdi_kind},
                      {"files", ArrayOf(preparation.prepared.files)}};
  PutEdits(object, "prepared", preparation.prepared.edits);
  PutEdits(object, "edits", preparation.edits);
  return json::WritePretty(std::move(object));
}

Result<Preparation> ReadPreparation(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  const json::Object* object = value.if_object();
  const auto version = object == nullptr ? std::nullopt : json::GetInt(*object, "version");
  if (version > kVersion) {
    return Fail(Reason::kStateNewer, "it has version {}, this agent reads {}", *version, kVersion);
  }
  if (version != kVersion) {
    return Fail(Reason::kStateCorrupt, "it is not a preparation");
  }
  const auto text_of = [&](std::string_view key) {
    return json::GetString(*object, key).value_or("");
  };
  const std::optional<PrepareStep> step = StepOf(text_of("step"));
  Preparation read{.grant = text_of("grant"),
                   .grants = TRY(TextsIn(*object, "grants")),
                   .resource = text_of("resource"),
                   .preparer = text_of("preparer"),
                   .pod_uid = text_of("pod"),
                   .share_ids = TRY(TextsIn(*object, "ids")),
                   .devices = TRY(TextsIn(*object, "devices")),
                   .hardware = TRY(TextsIn(*object, "hardware")),
                   .boot_id = text_of("boot"),
                   .cdi_dir = text_of("cdiDirectory"),
                   .cdi_kind = text_of("cdiKind"),
                   .step = step.value_or(PrepareStep::kPreparing),
                   .prepared = {.edits = TRY(EditsIn(*object, "prepared")),
                                .files = TRY(TextsIn(*object, "files"))},
                   .edits = TRY(EditsIn(*object, "edits"))};
  const bool whole = step && std::ranges::count(read.grants, read.grant) == 1 &&
                     std::ranges::all_of(read.grants, IsGrantName) && !read.resource.empty() &&
                     !read.preparer.empty() && !read.devices.empty();
  if (!whole) return Fail(Reason::kStateCorrupt, "it does not say what is prepared");
  return read;
}

std::string Journal::PathOf(const std::string& grant) const {
  return directory_ + "/" + grant + std::string(kSuffix);
}

Result<os::FileLock> Journal::Lock() const {
  if (const Status made = os::MakeDirectories(directory_, 0700); !made) {
    return Fail(AboutStateMount(made.error(), directory_.substr(0, directory_.rfind('/'))));
  }
  return os::FileLock::Take(directory_ + ".lock");
}

Result<Journal::Contents> Journal::Read() const {
  Contents contents;
  for (const std::string& file : TRY(os::ListDirectory(directory_))) {
    if (!file.ends_with(kSuffix)) continue;
    const std::string grant = file.substr(0, file.size() - kSuffix.size());
    if (!IsGrantName(grant)) continue;
    const auto text = os::ReadFile(PathOf(grant));
    if (auto entry = EntryOf(grant, text)) {
      contents.entries.push_back(*std::move(entry));
    } else {
      UnreadPreparation parts = PartsOf(text.value_or(""));
      parts.why = {
          Reason::kJournalUnreadable,
          PathOf(grant) + " records a preparation and cannot be read: " + entry.error().message};
      contents.unreadable[grant] = std::move(parts);
    }
  }
  return contents;
}

Result<Preparation> Journal::ReadOne(const std::string& grant) const {
  return EntryOf(grant, os::ReadFile(PathOf(grant)));
}

Status Journal::Check() const {
  const std::string probe = directory_ + "/probe";
  TRY(os::ReplaceFile(probe, std::string(kEntryLength, ' ')));
  return os::RemoveFile(probe);
}

Status Journal::Write(const Preparation& preparation) const {
  return os::WriteFileAtomically(PathOf(preparation.grant), PreparationText(preparation));
}

Status Journal::Remove(const std::string& grant) const {
  return os::RemoveFile(PathOf(grant));
}

// Only an agent can undo preparations, because it knows the devices.
std::optional<Error> LeftIn(const Journal& journal) {
  const auto left = journal.Read();
  if (!left) return left.error();
  const size_t count = left->entries.size() + left->unreadable.size();
  if (count == 0) return std::nullopt;
  std::set<std::string> resources;
  for (const Preparation& entry : left->entries) resources.insert(entry.resource);
  for (const auto& [grant, unread] : left->unreadable) resources.insert(unread.resource);
  resources.erase("");
  std::string text = fmt::format(
      "{} not undone yet, of {}. Run an agent that has these configured, without pods that use "
      "them, until {} is empty; a reboot undoes nothing",
      Count(count, "grant"),
      resources.empty() ? "unknown resources"
                        : Join(std::vector<std::string>(resources.begin(), resources.end()), ", "),
      journal.directory());
  for (const auto& [grant, unread] : left->unreadable) text += "; " + unread.why.Text();
  return Error{Reason::kNotUnprepared, std::move(text)};
}

}  // namespace tessera
