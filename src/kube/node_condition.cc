// SPDX-License-Identifier: Apache-2.0
#include "kube/node_condition.h"

#include <utility>

#include "base/log.h"

namespace tessera::kube {

NodeCondition::NodeCondition(os::Loop& loop, Client& client, std::string node, Backoff retries)
    : client_(client),
      path_("/api/v1/nodes/" + std::move(node)),
      retries_(retries),
      again_(loop, [this] { Compare(); }) {}

void NodeCondition::Set(Condition wanted) {
  if (wanted_ == wanted) return;
  wanted_ = std::move(wanted);
  changed_ = true;
  // After a failure it waits for its turn.
  if (retries_.pause() == Duration(0)) Compare();
}

void NodeCondition::Compare() {
  if (busy_ || !wanted_) return;
  busy_ = true;
  changed_ = false;
  client_.Get(path_, [this](const Result<json::Value>& node) {
    if (!node) return Done(Fail(node.error()));
    Write(*node);
  });
}

void NodeCondition::Write(const json::Value& node) {
  const auto patch = ConditionPatch(*wanted_, node, SystemClock().WallNow());
  changed_ = false;
  if (!patch) return Done({});
  client_.Patch(PatchType::kStrategic, path_ + "/status", *patch,
                [this](const Result<json::Value>& written) {
                  Done(written ? Status() : Fail(written.error()));
                });
}

void NodeCondition::Done(const Status& status) {
  busy_ = false;
  if (!status) {
    if (status.error().message != refusal_) {
      refusal_ = status.error().message;
      log::Warn("the node's condition could not be written", status.error());
    }
    return again_.Within(retries_.Failed());
  }
  if (!refusal_.empty()) log::Info("the node's condition is written again");
  refusal_.clear();
  retries_.Succeeded();
  if (changed_) return Compare();
  again_.Within(kLook);
}

}  // namespace tessera::kube
