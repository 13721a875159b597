// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/kubelet_command.h"

#include <fmt/format.h>

#include <csignal>
#include <thread>

#include "base/text.h"
#include "cli/command/command.h"
#include "cli/command/fields.h"
#include "cli/command/numbers.h"
#include "cli/command/output.h"
#include "http/blocking.h"
#include "http/http.h"
#include "os/files.h"
#include "sim/cli/kubelet_server.h"
#include "sim/cli/kubelet_view.h"

namespace tessera::cli {
namespace {

constexpr Duration kAnswerLimit{30'000};
constexpr Duration kBetweenQuestions{50};
constexpr size_t kEventsShown = 50;

// The client of the kubelet that runs in `dir`.
class Control {
 public:
  explicit Control(std::string dir) : dir_(std::move(dir)) {}

  Result<json::Object> Get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return Exchange({"GET", path, std::move(query), ""});
  }
  Result<json::Object> Post(const std::string& verb, const json::Object& body = {}) {
    return Exchange({"POST", "/" + verb, {}, json::Write(body)});
  }
  // Sends an order that may take as long as a plugin takes.
  Result<json::Object> PostAndWait(const std::string& verb, const json::Object& body) {
    json::Object begun = TRY(Post(verb, body));
    for (;;) {
      json::Object result = TRY(Get("/result", {{"ticket", TextIn(begun, "ticket")}}));
      if (IsTrue(result, "done")) return result;
      std::this_thread::sleep_for(kBetweenQuestions);
    }
  }

 private:
  Result<json::Object> Exchange(const http::Request& request) {
    auto response = http::ExchangeUnix(dir_ + "/control.sock", request, kAnswerLimit);
    if (!response) {
      return Fail(
          Reason::kUnavailable,
          "no embedded kubelet answers in {}; start one with 'tessera-sim kubelet --dir {}': {}",
          dir_, dir_, response.error().message);
    }
    if (response->status >= 400) return Fail(http::FailureIn(*response));
    json::Value value = TRY(json::Parse(response->body));
    if (!value.is_object())
      return Fail(Reason::kInvalid, "the kubelet in {} answered no object", dir_);
    return std::move(value.get_object());
  }

  const std::string dir_;
};

// "dummy.com/npu=2,dummy.com/other=1".
Result<json::Object> ParseLimits(const std::string& text) {
  json::Object limits;
  for (const std::string& part : Split(text, ',')) {
    size_t equals = part.rfind('=');
    std::optional<int> count;
    if (equals != std::string::npos && equals > 0) {
      count = ParseNumber<int>(std::string_view(part).substr(equals + 1));
    }
    if (!count || *count < 0) return Fail(Reason::kInvalid, "\"{}\" is not RESOURCE=COUNT", part);
    limits[part.substr(0, equals)] = *count;
  }
  return limits;
}

// The body of an order to run a pod: each flag adds a container.
Result<json::Object> ParsePod(const std::vector<std::string>& arguments) {
  static const std::map<std::string, std::string> kKinds = {
      {"--limits", "app"}, {"--init", "init"}, {"--sidecar", "sidecar"}};
  if (arguments.empty()) return Fail(Reason::kInvalid, "the pod's name is missing");
  std::map<std::string, int> counts;
  json::Array containers;
  for (size_t at = 1; at < arguments.size(); at += 2) {
    auto kind = kKinds.find(arguments[at]);
    if (kind == kKinds.end() || at + 1 == arguments.size()) {
      return Fail(Reason::kInvalid, "\"{}\" is not a flag with its limits", arguments[at]);
    }
    int number = ++counts[kind->second];
    json::Object limits = TRY(ParseLimits(arguments[at + 1]));
    containers.push_back(json::Object{
        {"name", number == 1 ? kind->second : fmt::format("{}-{}", kind->second, number)},
        {"kind", kind->second},
        {"limits", std::move(limits)}});
  }
  if (counts["app"] == 0) containers.push_back(json::Object{{"name", "app"}, {"kind", "app"}});
  return json::Object{{"pod", arguments[0]}, {"containers", containers}};
}

Result<int> ShowEvents(Control& control, const std::vector<std::string>& arguments) {
  bool follow = false;
  size_t shown = kEventsShown;
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == "--follow") {
      follow = true;
    } else if (arguments[at] == "--last" && at + 1 < arguments.size()) {
      auto number = ParseNumber<size_t>(arguments[++at]);
      if (!number) return Fail(Reason::kInvalid, "\"{}\" is not a number", arguments[at]);
      shown = *number;
    } else {
      return Fail(Reason::kInvalid, "\"{}\" is neither --follow nor --last N", arguments[at]);
    }
  }
  std::string last = "0";
  for (;;) {
    json::Object answer = TRY(control.Get("/events", {{"after", last}}));
    auto events = ObjectsIn(answer, "events");
    size_t first = last == "0" && events.size() > shown ? events.size() - shown : 0;
    std::string lines;
    for (size_t at = first; at < events.size(); ++at) {
      lines += TextIn(*events[at], "time") + " " + TextIn(*events[at], "text") + "\n";
    }
    if (int code = Print(lines); code != kOk || !follow) return code;
    last = TextIn(answer, "last");
    std::this_thread::sleep_for(kBetweenQuestions);
  }
}

Result<int> Obey(Control& control, const std::string& verb,
                 const std::vector<std::string>& arguments) {
  auto expect = [&](size_t count) -> Status {
    if (arguments.size() == count) return {};
    return Fail(Reason::kInvalid, "{} takes {}, not {}", verb, Count(count, "argument"),
                arguments.size());
  };
  if (verb == "events") return ShowEvents(control, arguments);
  if (verb == "run") {
    json::Object pod = TRY(ParsePod(arguments));
    json::Object result = TRY(control.PostAndWait("run", pod));
    int printed = Print(AdmissionText(result));
    return IsTrue(result, "admitted") && ObjectsIn(result, "start_failures").empty() ? printed
                                                                                     : kFailed;
  }
  if (verb == "status") {
    TRY(expect(0));
    return Print(KubeletStatusText(TRY(control.Get("/status")), OutputView()));
  }
  if (verb == "restart-container") {
    TRY(expect(2));
    json::Object result =
        TRY(control.PostAndWait(verb, {{"pod", arguments[0]}, {"container", arguments[1]}}));
    if (IsTrue(result, "admitted")) return Print("started\n");
    Reason reason = ReasonFromName(TextIn(result, "reason")).value_or(Reason::kUnavailable);
    return Fail(Error{reason, TextIn(result, "message")});
  }
  if (verb == "end" || verb == "drop") {
    TRY(expect(1));
    TRY(control.Post(verb, {{verb == "end" ? "pod" : "resource", arguments[0]}}));
    return kOk;
  }
  TRY(expect(0));
  TRY(control.Post(verb));
  return kOk;
}

}  // namespace

int RunKubelet(const kubelet::EmbeddedOptions& options) {
  Status made = os::MakeDirectories(options.root);
  if (!made) return PrintFailure(made.error());
  os::Loop loop;
  auto interrupted = loop.OnSignal(SIGINT, [&] { loop.Stop(); });
  auto terminated = loop.OnSignal(SIGTERM, [&] { loop.Stop(); });
  KubeletServer server(loop, options, [](const std::string& line) { Print(line + "\n"); });
  if (Status started = server.Start(); !started) return PrintFailure(started.error());
  loop.Run();
  server.Stop();
  loop.RunOnce();  // delivers the last events
  return kOk;
}

int KubeletControl(const std::string& dir, const std::string& verb,
                   const std::vector<std::string>& arguments) {
  Control control(dir);
  Result<int> code = Obey(control, verb, arguments);
  return code ? *code : PrintFailure(code.error());
}

}  // namespace tessera::cli
