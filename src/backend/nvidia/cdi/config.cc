// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/config.h"

#include <fmt/core.h>

#include <tuple>

#include "backend/kind.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "config/schema/fields.h"

namespace tessera::nvidia {
namespace {

using config::Bind;
using config::BindEnumList;
using config::Choices;
using config::Config;
using config::Findings;
using config::Key;
using config::NamesOf;
using config::Resource;
using config::Type;

constexpr auto kNvidia = kKindConfig<NvidiaConfig>;

Choices<CdiPiece> CdiPieces() {
  return {{"create-symlinks", CdiPiece::kCreateSymlinks},
          {"enable-cuda-compat", CdiPiece::kEnableCudaCompat},
          {"update-ldcache", CdiPiece::kUpdateLdcache},
          {"disable-device-node-modification", CdiPiece::kDisableDeviceNodeModification},
          {"update-application-profile", CdiPiece::kUpdateApplicationProfile},
          {"hooks", CdiPiece::kHooks},
          {"additional-gids", CdiPiece::kAdditionalGids},
          {"ipc-sockets", CdiPiece::kIpcSockets}};
}

}  // namespace

std::vector<Key> CdiKeys() {
  return {
      {.name = "cdiHookPath",
       .type = Type::kPath,
       .doc = "The path of `nvidia-cdi-hook` or `nvidia-ctk` on the host. CDI documents name it, "
              "and the runtime starts it for a container.",
       .example = "/usr/local/nvidia/toolkit/nvidia-cdi-hook",
       .default_note =
           "where its packages put it; without it, libraries are mounted under all their names",
       .field = Bind(kNvidia, &NvidiaConfig::cdi_hook_path)},
      {.name = "cdiLeaveOut",
       .type = Type::kEnumList,
       .doc = "What CDI documents leave out. A hook's name: this hook. `hooks`: all hooks. "
              "`additional-gids`: the groups that nodes need. `ipc-sockets`: the sockets of the "
              "driver's daemons.",
       .example = "[update-ldcache, ipc-sockets]",
       .default_note = "none",
       .values = NamesOf(CdiPieces()),
       .field = BindEnumList(kNvidia, &NvidiaConfig::cdi_leave_out, CdiPieces())},
  };
}

// Resources with one CDI vendor share a document, so they must agree on the settings that apply to
// it.
void CheckCdi(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const Resource& resource = config.resources[index];
  const auto& kind = *resource.kind.As<NvidiaConfig>();
  if (kind.cdi_vendor.empty()) return;
  const auto of_document = [](const NvidiaConfig& of) {
    return std::tie(of.driver_root, of.host_driver_root, of.dev_root, of.cdi_hook_path,
                    of.cdi_leave_out);
  };
  for (size_t i = 0; i < index; ++i) {
    const auto* other = config.resources[i].kind.As<NvidiaConfig>();
    const bool shares = other != nullptr && !other->cdi_vendor.empty() &&
                        config.resources[i].rendering.cdi_kind == resource.rendering.cdi_kind;
    if (!shares || of_document(*other) == of_document(kind)) continue;
    findings.Report(Reason::kConfigBadValue, path,
                    fmt::format("needs the 'driverRoot', 'hostDriverRoot', 'devRoot', "
                                "'cdiHookPath' and 'cdiLeaveOut' of resources[{}], whose "
                                "'cdi.kind' it shares",
                                i));
    return;
  }
}

}  // namespace tessera::nvidia
