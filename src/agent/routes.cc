// SPDX-License-Identifier: Apache-2.0
#include "agent/routes.h"

#include "base/log.h"
#include "base/text.h"

namespace tessera::agent {
namespace {

http::Response Answer(Result<json::Value> value) {
  return value ? http::Json(*value) : http::Failure(value.error());
}

http::Response Ready(const RouteSources& sources) {
  std::string missing = sources.not_ready();
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
  if (path == "/healthz") return http::Text("ok\n");
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

// A cordon is kept whatever happens next, so it is on disk before it is answered.
Result<json::Value> ChangeCordon(const RouteSources& sources, const json::Object& order, bool on) {
  std::string device = json::GetString(order, "device").value_or("");
  std::string reason = json::GetString(order, "reason").value_or("");
  if (on && reason.empty()) {
    return Fail(Reason::kInvalid, "a cordon needs a reason, for whoever finds it");
  }
  TRY(sources.may_save());
  DeviceKey key = TRY(on ? sources.node.Cordon(device, reason) : sources.node.Uncordon(device));
  TRY_IN(sources.save(), "the order holds until the agent restarts");
  log::Info(on ? "cordoned" : "uncordoned", {{"device", key.Text()}, {"reason", reason}});
  return json::Value(json::Object{{"device", key.Text()}});
}

// Of a device that was reset where the agent did not see it, a person says so.
Result<json::Value> TellReset(const RouteSources& sources, const json::Object& order) {
  const DeviceKey key = TRY(sources.node.Resolve(json::GetString(order, "device").value_or("")));
  if (sources.node.VerdictOf(key).remedy != Remedy::kReset) {
    return Fail(Reason::kInvalid, "device {} does not wait for a reset", key.Text());
  }
  log::Info("the device was reset, says a person", {{"device", key.Text()}});
  sources.node.Observe(key.source, {{key,
                                     {.kind = EvidenceKind::kReset,
                                      .source = EvidenceSource::kCall,
                                      .reason = Reason::kResetNeeded,
                                      .detail = "it was reset"}}});
  return json::Value(json::Object{{"device", key.Text()}});
}

Result<json::Value> ChangeRelease(const RouteSources& sources, const json::Object& order) {
  if (json::GetBool(order, "end").value_or(false)) {
    TRY(sources.release.End());
    return sources.release.Page();
  }
  const std::string text = json::GetString(order, "for").value_or("");
  const auto time = ParseDuration(text);
  if (!time) return Fail(Reason::kInvalid, "\"{}\" is no time, such as 10m", text);
  TRY(sources.release.Begin(*time));
  return sources.release.Page();
}

Result<json::Value> InjectFault(const RouteSources& sources, const json::Object& order) {
  std::string resource = json::GetString(order, "resource").value_or("");
  std::string verb = json::GetString(order, "verb").value_or("");
  std::string device = json::GetString(order, "device").value_or("");
  auto at = sources.resources.find(resource);
  if (at == sources.resources.end()) {
    return Fail(Reason::kNotFound, "there is no resource {}", resource);
  }
  TRY(at->second->backend().InjectFault(verb, device,
                                        json::GetString(order, "detail").value_or("")));
  return json::Value(json::Object{});
}

Result<json::Value> Order(const RouteSources& sources, const http::Request& request) {
  json::Value body = TRY(json::Parse(request.body));
  if (!body.is_object()) return Fail(Reason::kInvalid, "the body must be a JSON object");
  const json::Object& order = body.get_object();
  if (request.path == "/cordon") return ChangeCordon(sources, order, true);
  if (request.path == "/uncordon") return ChangeCordon(sources, order, false);
  if (request.path == "/was-reset") return TellReset(sources, order);
  if (request.path == "/release") return ChangeRelease(sources, order);
  if (request.path == "/fault") return InjectFault(sources, order);
  return Fail(Reason::kNotFound, "there is no order {}", request.path);
}

}  // namespace

http::Handler ReadRoutes(RouteSources sources) {
  return [sources = std::move(sources)](const http::Request& request) {
    if (request.method == "POST") {
      return http::Failure({Reason::kInvalid, "orders are taken on the control socket only"});
    }
    return Read(sources, request);
  };
}

http::Handler ControlRoutes(RouteSources sources) {
  return [sources = std::move(sources)](const http::Request& request) {
    return request.method == "POST" ? Answer(Order(sources, request)) : Read(sources, request);
  };
}

}  // namespace tessera::agent
