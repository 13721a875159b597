// SPDX-License-Identifier: Apache-2.0
// One object by its name, followed for as long as this lives: there or not, and whenever it is
// another. A role that names the object gives the right to this. One thread: its loop's, as the
// client's, which outlives it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kube/client.h"
#include "os/loop.h"

namespace tessera::kube {

class ObjectWatch {
 public:
  // Null: there is none of this name. Called first when it is known which, then with each change;
  // not while the API server cannot be reached. It may not destroy this.
  using Callback = std::function<void(const json::Value* object)>;

  // `list`: where all of its kind are, "/api/v1/namespaces/NAMESPACE/secrets". `form` keeps the
  // metadata's resourceVersion.
  ObjectWatch(os::Loop& loop, Client& client, const std::string& list, const std::string& name,
              const Form& form, Callback told);

  // As Watch::Refresh.
  bool Refresh(Duration page_within) { return watch_.Refresh(page_within); }

 private:
  void CallBack(const json::Value* object);

  const Callback told_;
  bool known_ = false;
  std::optional<std::string> version_;  // as told; nothing: there is none
  std::optional<json::Value> listed_;   // in the list that is being read
  Watch watch_;
};

}  // namespace tessera::kube
