// SPDX-License-Identifier: Apache-2.0
// Follows one object by name for its own lifetime. A role that names only this object suffices. One
// thread: the loop's. The client outlives it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kube/client.h"
#include "os/loop.h"

namespace tessera::kube {

class ObjectWatch {
 public:
  // Null means that there is no such object. Called once the first state is known, then at each
  // change. No calls while the API server is unreachable. It must not destroy the watch.
  using Callback = std::function<void(const json::Value* object)>;

  // `list` is the path of its kind: "/api/v1/namespaces/NAMESPACE/secrets". `form` keeps
  // metadata.resourceVersion.
  ObjectWatch(os::Loop& loop, Client& client, const std::string& list, const std::string& name,
              const Form& form, Callback told);

  // As Watch::Refresh.
  bool Refresh(Duration page_within) { return watch_.Refresh(page_within); }

 private:
  void CallBack(const json::Value* object);

  const Callback told_;
  bool known_ = false;
  std::optional<std::string> version_;  // last reported; nothing: no object
  std::optional<json::Value> listed_;   // in the list being read
  Watch watch_;
};

}  // namespace tessera::kube
