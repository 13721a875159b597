// SPDX-License-Identifier: Apache-2.0
#include "kube/object_watch.h"

#include <utility>

#include "http/target.h"
#include "kube/wire.h"

namespace tessera::kube {

ObjectWatch::ObjectWatch(os::Loop& loop, Client& client, const std::string& list,
                         const std::string& name, const Form& form, Told told)
    : told_(std::move(told)),
      watch_(loop, client, list, "fieldSelector=metadata.name%3D" + http::PercentEncode(name), form,
             {.changed = [this](const json::Value& object) { Tell(&object); },
              .deleted = [this](const json::Value&) { Tell(nullptr); },
              .begun = [this] { listed_.reset(); },
              .item = [this](const json::Value& object) { listed_ = object; },
              .listed =
                  [this] {
                    const auto found = std::exchange(listed_, std::nullopt);
                    Tell(found ? &*found : nullptr);
                  }}) {}

void ObjectWatch::Tell(const json::Value* object) {
  const auto version = object ? std::optional(VersionOf(*object)) : std::nullopt;
  if (std::exchange(known_, true) && version == version_) return;
  version_ = version;
  told_(object);
}

}  // namespace tessera::kube
