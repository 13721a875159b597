// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/fault_file.h"

#include <algorithm>
#include <filesystem>

#include "os/files.h"

namespace tessera::dummy {

std::string FaultFile(const std::string& state_dir, std::string resource) {
  std::ranges::replace(resource, '/', '_');
  return state_dir + "/dummy/" + resource + ".json";
}

Result<Faults> ReadFaultFile(const std::string& path) {
  Result<std::string> text = os::ReadFile(path);
  if (!text && text.error().reason == Reason::kNotFound) return Faults{};
  if (!text) return Fail(std::move(text).error());
  return TRY_IN(ParseFaults(*text), path);
}

Status ChangeFaultFile(const std::string& path, std::string_view verb, std::string_view id,
                       std::string_view detail) {
  Faults faults = TRY(ReadFaultFile(path));
  TRY(ApplyVerb(faults, verb, id, detail));
  TRY(os::MakeDirectories(std::filesystem::path(path).parent_path().string()));
  return os::WriteFileAtomically(path, WriteFaults(faults));
}

}  // namespace tessera::dummy
