// SPDX-License-Identifier: Apache-2.0
// An object that all resources of one NVML session share. The first caller makes it; it ends with
// the last owner. Any thread.
#pragma once

#include <map>
#include <memory>

#include "backend/nvidia/nvml/nvml.h"

namespace tessera::nvidia {

// Constructs T from the session.
template <class T>
std::shared_ptr<T> PerSession(const std::shared_ptr<nvml::Session>& session) {
  static Mutex mutex;
  static std::map<const nvml::Session*, std::weak_ptr<T>> all TESSERA_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  std::weak_ptr<T>& known = all[session.get()];
  std::shared_ptr<T> one = known.lock();
  if (one == nullptr) known = one = std::make_shared<T>(session);
  return one;
}

}  // namespace tessera::nvidia
