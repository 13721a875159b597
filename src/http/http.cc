// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include "base/text.h"

namespace tessera::http {
namespace {

int StatusOf(Reason reason) {
  switch (reason) {
    case Reason::kNotFound:
      return 404;
    case Reason::kUnavailable:
      return 503;
    default:
      return 400;
  }
}

Reason ReasonOf(int status) {
  if (status == 404) return Reason::kNotFound;
  if (status == 503) return Reason::kUnavailable;
  return status < 500 ? Reason::kInvalid : Reason::kInternal;
}

}  // namespace

AsyncHandler AtOnce(Handler handler) {
  return [handler = std::move(handler)](const Request& request, const Respond& respond) {
    respond(handler(request));
  };
}

Response Json(const json::Value& value, int status) {
  return {status, "application/json", json::WritePretty(value)};
}

Response Text(std::string text, int status) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

Response Failure(const Error& error) {
  json::Object details;
  details["code"] = ReasonName(error.reason);
  details["message"] = error.message;
  details["advice"] = ReasonAdvice(error.reason);
  json::Object body;
  body["error"] = std::move(details);
  return Json(std::move(body), StatusOf(error.reason));
}

Error FailureIn(const Response& response) {
  auto body = json::Parse(response.body);
  const json::Object* details = nullptr;
  if (body && body->is_object()) details = json::GetObject(body->as_object(), "error");
  if (details == nullptr) {
    return {ReasonOf(response.status),
            fmt::format("the server answered with status {}", response.status)};
  }
  std::string code = json::GetString(*details, "code").value_or("");
  std::string message = json::GetString(*details, "message").value_or(code);
  auto reason = ReasonFromName(code);
  // A newer server may send an unknown reason, so its text is kept.
  if (!reason && !code.empty()) message += fmt::format(" ({})", code);
  return {reason.value_or(ReasonOf(response.status)), message};
}

}  // namespace tessera::http
