// SPDX-License-Identifier: Apache-2.0
#include "kube/left_out.h"

#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace tessera::kube {
namespace {

// A user can create and delete objects at any rate, so logging is limited.
constexpr double kSaidASecond = 0.1;
constexpr double kSaidAtOnce = 20;

}  // namespace

LeftOut::LeftOut(std::string what) : what_(std::move(what)), says_(kSaidASecond, kSaidAtOnce) {}

void LeftOut::Add(const std::string& key, const Error& error) {
  if (objects_.size() >= kMost && !objects_.contains(key)) return;
  Object& object = objects_[key];
  object.list = list_;
  if (object.said || !says_.Allow(SystemClock().Now())) return;
  object.said = true;
  log::Warn(what_, error);
}

void LeftOut::EndList() {
  std::erase_if(objects_, [this](const auto& entry) { return entry.second.list != list_; });
}

}  // namespace tessera::kube
