// SPDX-License-Identifier: Apache-2.0
#include "kube/node_keeper.h"

#include <utility>

#include "base/log.h"

namespace tessera::kube {

NodeKeeper::NodeKeeper(os::Loop& loop, Client& client, const std::string& node, Thing thing,
                       Backoff retries)
    : client_(client),
      path_(NodePath(node)),
      thing_(std::move(thing)),
      retries_(retries),
      again_(loop, [this] { Compare(); }) {}

void NodeKeeper::Set(DesiredState desired) {
  desired_ = std::move(desired);
  changed_ = true;
  // After a failure it waits for its turn.
  if (retries_.pause() == Duration(0)) Compare();
}

void NodeKeeper::Compare() {
  if (busy_ || !desired_) return;
  busy_ = true;
  client_.Get(path_, NodeForm(), [this](const Result<json::Value>& node) {
    if (!node) return Done(Fail(node.error()));
    Write(*node);
  });
}

void NodeKeeper::Write(const json::Value& node) {
  changed_ = false;
  const auto patch = desired_ ? desired_(node) : std::nullopt;
  if (!patch) return Done({});
  client_.Patch(thing_.type, path_ + thing_.subresource, *patch, NodeForm(),
                [this](const Result<json::Value>& written) {
                  // Of the node as it is now: a desired may wait for nothing being left of
                  // something.
                  if (written && desired_ && !changed_) (void)desired_(*written);
                  Done(written ? Status() : Fail(written.error()));
                });
}

void NodeKeeper::Done(const Status& status) {
  busy_ = false;
  if (!status) {
    // Another writer was faster: that is no failure, and told only where it goes on.
    const bool raced = status.error().reason == Reason::kApiConflict && !retries_.pause().count();
    if (!raced && status.error().message != refusal_) {
      refusal_ = status.error().message;
      log::Warn("cannot write " + thing_.what, status.error());
    }
    again_.Cancel();  // of an earlier look
    return again_.Within(client_.NextPause(retries_));
  }
  if (!refusal_.empty()) log::Info("wrote " + thing_.what);
  refusal_.clear();
  retries_.Succeeded();
  if (changed_) return Compare();
  again_.Within(thing_.look);
}

}  // namespace tessera::kube
