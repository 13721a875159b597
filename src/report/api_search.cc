// SPDX-License-Identifier: Apache-2.0
#include "report/api_search.h"

#include <utility>

#include "base/log.h"

namespace tessera {
namespace {

std::optional<os::FileInfo> InfoOf(const std::string& file) {
  const auto info = os::InspectTarget(file);
  if (!info) return std::nullopt;
  return *info;
}

}  // namespace

ApiSearch::ApiSearch(config::ApiConfig config, os::Root root, kube::Environment environment,
                     std::string host_name)
    : config_(std::move(config)),
      root_(std::move(root)),
      environment_(std::move(environment)),
      host_name_(std::move(host_name)),
      file_(ApiAccessFile(config_, root_, environment_)) {}

std::optional<ApiTarget> ApiSearch::Poll() {
  if (file_.empty()) return std::nullopt;
  const std::optional<os::FileInfo> now = InfoOf(file_);
  if (!again_ && now == seen_) return std::nullopt;
  again_ = false;
  seen_ = now;
  auto place = FindApiServer(config_, root_, environment_, host_name_);
  if (place) return *std::move(place);
  // A file that the kubeconfig names may appear later, such as kubelet's certificate. The
  // kubeconfig does not change then.
  const Reason reason = place.error().reason;
  again_ = now && (reason == Reason::kNotFound || reason == Reason::kPermission);
  if (place.error().message != refusal_) {
    refusal_ = place.error().message;
    log::Warn("the agent reports nothing to the API server", place.error());
  }
  return std::nullopt;
}

}  // namespace tessera
