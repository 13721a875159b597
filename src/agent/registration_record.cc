// SPDX-License-Identifier: Apache-2.0
#include "agent/registration_record.h"

#include "os/files.h"

namespace tessera::agent {
namespace {

// That it is there says it.
std::string PathOf(const std::string& state_dir) {
  return state_dir + "/hami-registration";
}

}  // namespace

bool IsRegistrationRecorded(const std::string& state_dir) {
  return os::Exists(PathOf(state_dir));
}

Status RecordRegistration(const std::string& state_dir) {
  if (IsRegistrationRecorded(state_dir)) return {};
  return os::WriteFileAtomically(PathOf(state_dir), "");
}

Status ForgetRegistration(const std::string& state_dir) {
  return os::RemoveFile(PathOf(state_dir));
}

}  // namespace tessera::agent
