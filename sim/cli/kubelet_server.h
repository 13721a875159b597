// SPDX-License-Identifier: Apache-2.0
// The server on DIR/control.sock of `tessera-sim kubelet`: JSON in and out.
//   GET  /status                 Resources, pods, whether kubelet runs.
//   POST /run                    {"namespace","name","containers":[{"name","kind","limits"}]}.
//                                Answers {"ticket":N} at once, as a plugin may hang for ever.
//   POST /restart-container      {"pod":"NAMESPACE/NAME","container"}. Answers a ticket too.
//   GET  /result?ticket=N        {"done":false}, or {"done":true} and the result.
//   POST /end, /drop             {"pod"}, {"resource"}.
//   POST /restart, /kill, /start kubelet itself.
//   GET  /events?after=N         {"last":M,"events":[{"number","time","text"}]}
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "http/http.h"
#include "os/loop.h"
#include "os/worker.h"
#include "sim/kubelet/embedded.h"

namespace tessera::cli {

// One thread: the loop's.
class KubeletServer {
 public:
  // `print` gets one line for each event, without a newline.
  KubeletServer(os::Loop& loop, kubelet::EmbeddedOptions options,
                std::function<void(const std::string&)> print);
  ~KubeletServer();

  // Starts kubelet and listens.
  Status Start();
  // Stops kubelet. Events still arrive through the loop.
  void Stop();
  http::Response Answer(const http::Request& request);

 private:
  // A request to run a pod keeps its kubelet, even after another one was started.
  using KubeletPtr = std::shared_ptr<kubelet::EmbeddedKubelet>;

  Result<json::Value> Handle(const http::Request& request);
  Result<json::Value> Order(const std::string& verb, const json::Object& body);
  Result<json::Value> OrderKubelet(const std::string& verb);
  Result<json::Value> StatusNow() const;
  Result<json::Value> ResultOf(const http::Request& request);
  Result<json::Value> EventsAfter(const http::Request& request) const;
  Result<json::Value> RunPod(const json::Object& body);
  Result<json::Value> RestartContainer(const json::Object& body);
  // Runs `work` off the loop. The result waits under the returned ticket.
  json::Value Begin(std::function<json::Object()> work);
  Status StartKubelet();
  Result<KubeletPtr> Running() const;

  struct Event {
    int64_t number;
    std::string time;
    std::string text;
  };

  os::Loop& loop_;
  kubelet::EmbeddedOptions options_;
  std::function<void(const std::string&)> print_;
  os::Workers workers_{16};
  KubeletPtr kubelet_;  // nullptr: kubelet is down
  std::unique_ptr<http::Server> server_;
  int64_t next_ticket_ = 1;
  std::map<int64_t, std::optional<json::Object>> results_;  // null: the work still runs
  int64_t last_event_ = 0;
  std::deque<Event> events_;
};

}  // namespace tessera::cli
