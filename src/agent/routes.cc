// SPDX-License-Identifier: Apache-2.0
#include "agent/routes.h"

#include "agent/control_request.h"
#include "agent/grants_page.h"
#include "base/log.h"

namespace tessera::agent {
namespace {

http::Response Answer(Result<json::Value> value) {
  return value ? http::Json(*value) : http::Failure(value.error());
}

// /healthz names faults but does not fail for them: a restart would not fix them.
http::Response Alive(const RouteSources& sources) {
  return http::Text("ok\n" + TextOf(sources.faults()));
}

http::Response Ready(const RouteSources& sources) {
  const std::string missing = sources.not_ready() + TextOf(sources.faults());
  return missing.empty() ? http::Text("ok\n") : http::Text(missing, 503);
}

http::Response Expose(const RouteSources& sources) {
  sources.refresh_metrics();
  http::Response response = http::Text(sources.metrics.Expose());
  response.content_type = http::kMetricsContentType;
  return response;
}

http::Response Read(const RouteSources& sources, const http::Request& request) {
  const std::string& path = request.path;
  if (path == "/healthz") return Alive(sources);
  if (path == "/readyz") return Ready(sources);
  if (path == "/metrics") return Expose(sources);
  if (path == "/inventory") return http::Json(InventoryPage(sources.view()));
  if (path == "/ledger") return http::Json(LedgerPage(sources.view()));
  if (path == "/cdi") return http::Json(CdiPage(sources.view()));
  if (path == "/release") return http::Json(sources.release.Page());
  if (path == "/explain") {
    auto device = request.query.find("device");
    return Answer(ExplainPage(sources.view(), device == request.query.end() ? "" : device->second));
  }
  return http::Failure({Reason::kNotFound, "there is no page " + path});
}

// A cordon must survive a crash, so it is on disk before the answer.
Result<json::Value> Follow(const RouteSources& sources, const CordonOrder& order) {
  TRY(sources.may_save());
  const DeviceKey key = TRY(order.on ? sources.reconciler.Cordon(order.device, order.reason)
                                     : sources.reconciler.Uncordon(order.device));
  TRY_IN(sources.save(), "the order holds until the agent restarts");
  log::Info(order.on ? "cordoned" : "uncordoned",
            {{"device", key.Text()}, {"reason", order.reason}});
  return json::Value(json::Object{{"device", key.Text()}});
}

Result<json::Value> Follow(const RouteSources& sources, const ResetOrder& order) {
  const DeviceKey key = TRY(sources.node.Resolve(order.device));
  if (sources.node.VerdictOf(key).remedy != Remedy::kReset) {
    return Fail(Reason::kInvalid, "device {} does not wait for a reset", key.Text());
  }
  log::Info("a person confirmed the device's reset", {{"device", key.Text()}});
  sources.reconciler.WasReset(key);
  return json::Value(json::Object{{"device", key.Text()}});
}

Result<json::Value> Follow(const RouteSources& sources, const ReleaseOrder& order) {
  TRY(order.time ? sources.release.Begin(*order.time) : sources.release.End());
  return sources.release.Page();
}

Result<json::Value> CarryOut(const RouteSources& sources, const http::Request& request) {
  const Order order = TRY(ReadOrder(request.path, request.body));
  return std::visit([&](const auto& one) { return Follow(sources, one); }, order);
}

}  // namespace

http::Handler ReadRoutes(RouteSources sources) {
  return [sources = std::move(sources)](const http::Request& request) {
    return Read(sources, request);
  };
}

// Pods' annotations are private, so /explain?pod is not on the status port. /grants names hosts'
// directories.
http::Handler ControlRoutes(RouteSources sources) {
  return [sources = std::move(sources)](const http::Request& request) {
    const auto pod = request.query.find("pod");
    if (request.path == "/explain" && pod != request.query.end()) {
      return Answer(PodPage(sources.pods(), pod->second));
    }
    if (request.path == "/grants") {
      return http::Json(
          GrantsPage(sources.pods(), sources.view().resources, sources.release.under_way()));
    }
    return request.method == "POST" ? Answer(CarryOut(sources, request)) : Read(sources, request);
  };
}

}  // namespace tessera::agent
