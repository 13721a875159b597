// SPDX-License-Identifier: Apache-2.0
#include "report/registration_record.h"

#include "os/files.h"

namespace tessera {
namespace {

// An empty file: its existence is the record.
std::string RecordPath(const std::string& state_dir) {
  return state_dir + "/hami-registration";
}

}  // namespace

bool IsRegistrationRecorded(const std::string& state_dir) {
  return os::Exists(RecordPath(state_dir));
}

Status RecordRegistration(const std::string& state_dir) {
  if (IsRegistrationRecorded(state_dir)) return {};
  return os::WriteFileAtomically(RecordPath(state_dir), "");
}

Status ForgetRegistration(const std::string& state_dir) {
  return os::RemoveFile(RecordPath(state_dir));
}

}  // namespace tessera
