// SPDX-License-Identifier: Apache-2.0
#include "kube/object_watch.h"

#include <utility>

#include "http/target.h"
#include "kube/wire.h"

namespace tessera::kube {

ObjectWatch::ObjectWatch(os::Loop& loop, Client& client, const std::string& list,
                         const std::string& name, const Form& form, Callback told)
    : told_(std::move(told)),
      watch_(loop, client, list, "fieldSelector=metadata.name%3D" + http::PercentEncode(name), form,
             {.changed = [this](const json::Value& object) { CallBack(&object); },
              .deleted = [this](const json::Value&) { CallBack(nullptr); },
              .begun = [this] { listed_.reset(); },
              .item = [this](const json::Value& object) { listed_ = object; },
              .listed =
                  [this] {
                    const auto found = std::exchange(listed_, std::nullopt);
                    CallBack(found ? &*found : nullptr);
                  }}) {}

void ObjectWatch::CallBack(const json::Value* object) {
  const auto version = object ? std::optional(VersionOf(*object)) : std::nullopt;
  if (std::exchange(known_, true) && version == version_) return;
  version_ = version;
  told_(object);
}

}  // namespace tessera::kube
