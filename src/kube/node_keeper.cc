// SPDX-License-Identifier: Apache-2.0
#include "kube/node_keeper.h"

#include <utility>

#include "base/log.h"

namespace tessera::kube {

NodeKeeper::NodeKeeper(os::Loop& loop, Client& client, const std::string& node, Target target,
                       Backoff retries)
    : client_(client),
      path_(NodePath(node)),
      target_(std::move(target)),
      retries_(retries),
      again_(loop, [this] { CompareNode(); }) {}

void NodeKeeper::Set(DesiredState desired) {
  desired_ = std::move(desired);
  changed_ = true;
  // After a failure the retry timer does it.
  if (retries_.pause() == Duration(0)) CompareNode();
}

void NodeKeeper::CompareNode() {
  if (busy_ || !desired_) return;
  busy_ = true;
  client_.Get(path_, NodeForm(), [this](const Result<json::Value>& node) {
    if (!node) return WriteEnded(Fail(node.error()));
    Write(*node);
  });
}

void NodeKeeper::Write(const json::Value& node) {
  // Set may run while the write is in flight. WriteEnded then compares again.
  changed_ = false;
  const auto patch = desired_ ? desired_(node) : std::nullopt;
  if (!patch) return WriteEnded({});
  client_.Patch(target_.type, path_ + target_.subresource, *patch, NodeForm(),
                [this](const Result<json::Value>& written) {
                  // Report the written node: the function may wait until a part of it is gone.
                  if (written && desired_ && !changed_) (void)desired_(*written);
                  WriteEnded(written ? Status() : Fail(written.error()));
                });
}

void NodeKeeper::WriteEnded(const Status& status) {
  busy_ = false;
  if (!status) {
    // Another client wrote first. That is no failure, so it is logged only if it repeats.
    const bool raced = status.error().reason == Reason::kApiConflict && !retries_.pause().count();
    if (!raced && status.error().message != refusal_) {
      refusal_ = status.error().message;
      log::Warn("cannot write " + target_.what, status.error());
    }
    again_.Cancel();  // of an earlier check
    return again_.RingWithin(client_.NextPause(retries_));
  }
  if (!refusal_.empty()) log::Info("wrote " + target_.what);
  refusal_.clear();
  retries_.Succeeded();
  if (changed_) return CompareNode();
  again_.RingWithin(target_.look);
}

}  // namespace tessera::kube
