// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_readiness.h"

#include <utility>

#include "base/log.h"
#include "fraction/library_files.h"
#include "grant/grant.h"

namespace tessera {

GrantReadiness::Findings GrantReadiness::CheckFiles(config::Resource& resource,
                                                    const os::Root& root) {
  Findings findings;
  auto& fractions = resource.rendering.fractions;
  if (fractions && FindLibraryAnew(root, *fractions)) {
    log::Info("the limiting library was replaced",
              {{"resource", resource.name}, {"library", fractions->library}});
    findings.other_library = true;
  }
  if (const Status checked = fractions ? CheckGrants(root, *fractions) : Status(); !checked) {
    findings.obstacle = checked.error();
  }
  ReportObstacle(resource.name, findings.obstacle);
  WarnOfMounts(resource, root);
  return findings;
}

void GrantReadiness::ReportObstacle(const std::string& resource,
                                    const std::optional<Error>& obstacle) {
  std::optional<Error> trouble;
  if (obstacle) trouble = Error{obstacle->reason, resource + ": " + obstacle->message};
  if (trouble == trouble_) return;
  metrics_.Forget(http::Metric::kVgpuTrouble, resource);
  if (trouble) {
    metrics_.Set(http::Metric::kVgpuTrouble, {resource, std::string(ReasonName(trouble->reason))},
                 1);
    log::LogError("no virtual GPU can be granted: all are offered as unhealthy", *obstacle,
                  {{"resource", resource}});
  } else {
    log::Info("virtual GPUs can be granted again", {{"resource", resource}});
  }
  trouble_ = std::move(trouble);
}

// kubelet's Allocate answer cannot carry mount options, so the file system must have them.
void GrantReadiness::WarnOfMounts(const config::Resource& resource, const os::Root& root) {
  const auto& fractions = resource.rendering.fractions;
  std::optional<MissingFlags> missing;
  if (fractions && !WritesCdi(resource.rendering)) missing = MissingMountFlags(root, *fractions);
  if (missing == missing_) return;
  missing_ = missing;
  if (!missing) return;
  log::Warn("without CDI, containers write to a file system that needs a mount of its own",
            {{"resource", resource.name},
             {"directory", missing->directory},
             {"options", missing->flags}});
}

}  // namespace tessera
