// SPDX-License-Identifier: Apache-2.0
#include "agent/state_saver.h"

#include <utility>

#include "base/log.h"

namespace tessera::agent {

StateSaver::StateSaver(Node& node, http::Metrics& metrics, const std::string& state_dir)
    : node_(node), metrics_(metrics), store_(state_dir, [&metrics](Reason reason) {
        metrics.Add(http::Metric::kUnusable, {std::string(ReasonName(reason))});
      }) {}

void StateSaver::Restore(const std::string& boot_id) {
  boot_id_ = boot_id;
  store_.TryToBecomeWriter();
  Saved saved = Load();
  node_.Restore(std::move(saved.facts).value_or(Facts{}), std::move(saved.verdicts));
  saved_facts_ = node_.facts_generation();
}

bool StateSaver::TryToBecomeWriter() {
  if (store_.writer() || !store_.TryToBecomeWriter()) return false;
  saved_facts_ = 0;
  node_.VerdictsLost();
  return true;
}

StateSaver::Saved StateSaver::Load() {
  auto facts = store_.LoadFacts();
  return {std::move(facts), store_.LoadVerdicts(boot_id_)};
}

void StateSaver::SaveFalls() {
  if (node_.fall_unsaved()) (void)LogResult(WriteVerdicts());
}

Status StateSaver::SaveFacts() {
  return LogResult(WriteFacts());
}

void StateSaver::SaveAll() {
  (void)LogResult(WriteVerdicts());
  (void)LogResult(WriteFacts());
}

Status StateSaver::WriteVerdicts() {
  if (!writer()) return {};
  const bool all = node_.all_verdicts_unsaved() || !store_.log_open();
  if (!all && node_.unsaved_verdicts().empty()) return {};
  Status saved;
  const bool rewrite = all || store_.LogHasGrown();
  if (rewrite) saved = store_.RewriteVerdicts(AllVerdicts());
  if (!rewrite || (!saved && !all)) {
    std::string lines;
    for (const DeviceKey& key : node_.unsaved_verdicts()) {
      lines += VerdictLine(key, node_.VerdictOf(key));
    }
    saved = store_.AppendVerdicts(lines);
  }
  metrics_.Add(http::Metric::kStateWrites, {saved ? "good" : "failed"});
  if (saved) node_.VerdictsSaved();
  return saved;
}

std::string StateSaver::AllVerdicts() const {
  std::string text = VerdictsHeader(boot_id_);
  for (const Device& device : node_.inventory()->devices) {
    text += VerdictLine(device.key, node_.VerdictOf(device.key));
  }
  for (const Verdicts* gone : {&node_.departed_verdicts(), &node_.awaited_verdicts()}) {
    for (const auto& [key, verdict] : *gone) text += VerdictLine(key, verdict);
  }
  return text;
}

Status StateSaver::WriteFacts() {
  if (!writer() || node_.facts_generation() == saved_facts_) return {};
  Status saved = store_.SaveFacts(node_.inventory()->devices, node_.cordons(), node_.plans());
  metrics_.Add(http::Metric::kStateWrites, {saved ? "good" : "failed"});
  if (saved) saved_facts_ = node_.facts_generation();
  return saved;
}

bool StateSaver::IsWhole() const {
  return node_.facts_generation() == saved_facts_ && !node_.all_verdicts_unsaved() &&
         node_.unsaved_verdicts().empty();
}

// Logs one line when writes begin to fail, and one when all state is saved again.
Status StateSaver::LogResult(const Status& written) {
  const bool whole = !writer() || IsWhole();
  if (!written && !failure_) log::LogError("cannot save the state", written.error());
  if (failure_ && whole) log::Info("the state is saved again");
  if (!written) failure_ = written.error();
  if (whole) failure_.reset();
  return written;
}

Status StateSaver::MaySave() const {
  if (writer()) return {};
  return Fail(Reason::kStateLocked,
              "this instance does not write the state and would lose the order; send it to the "
              "instance that does");
}

std::optional<Error> StateSaver::fault() const {
  if (failure_) return failure_;
  return another_writes() ? std::nullopt : store_.refusal();
}

}  // namespace tessera::agent
