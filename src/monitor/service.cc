// SPDX-License-Identifier: Apache-2.0
#include "monitor/service.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "http/blocking.h"
#include "monitor/dcgm.h"
#include "monitor/exposition.h"
#include "os/thread.h"
#include "region/file.h"

namespace tessera::monitor {
namespace {

constexpr Duration kPatience{4'000};  // for the agent's answer

Result<Granted> AskAgent(const std::string& socket) {
  const http::Response response =
      TRY(http::CallUnix(socket, {.path = "/grants", .query = {}, .body = ""}, kPatience));
  return ReadGranted(TRY(json::Parse(response.body)));
}

// The file may be another one than was read, or a trap: it must be a region now.
Status WriteWords(const os::Root& root, const FeedbackWrite& write) {
  const std::string path = root.Path(write.file);
  const size_t slash = path.rfind('/');
  const region::File file = TRY(
      region::File::OpenIn(path.substr(0, slash), path.substr(slash + 1), region::Access::kWrite));
  TRY(file.Read());
  return file.Write(write.words);
}

}  // namespace

Result<std::unique_ptr<Service>> Service::Start(os::Loop& loop, const Clock& clock,
                                                Options options) {
  std::unique_ptr<Service> service(new Service(loop, clock, std::move(options)));
  service->server_ = TRY(http::Server::ListenTcp(
      loop, service->options_.address,
      [self = service.get()](const http::Request& request) { return self->Answer(request); }));
  service->Tick();
  service->timer_ = loop.Every(kTick, [self = service.get()] { self->Tick(); });
  return service;
}

Service::Service(os::Loop& loop, const Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      feedback_(options_.feedback),
      mailbox_(loop, *this) {
  granted_ = std::make_shared<const Granted>(
      Granted{.node = options_.node, .directories = options_.directories});
  for (const auto& sampler : options_.samplers) {
    samplings_.push_back(std::make_unique<Sampling>(loop, clock, sampler));
  }
}

void Service::Tick() {
  if (!is_asking_ && clock_.Now() >= ask_at_) Ask();
  if (pass_ != nullptr && clock_.Now() - pass_began_ >= kStuck) LeaveBehind();
  if (pass_ == nullptr) Read();
  for (const auto& sampling : samplings_) sampling->Tick();
}

void Service::Ask() {
  is_asking_ = true;
  workers_.Run([socket = options_.control_socket, done = mailbox_.Bind(&Service::TakePage)] {
    done(std::make_shared<const Result<Granted>>(AskAgent(socket)));
  });
}

// Without an answer the last one stays: its containers keep their names and limits.
void Service::TakePage(const Page& page) {
  is_asking_ = false;
  ask_at_ = clock_.Now() + kAsk;
  const std::string trouble = *page ? "" : page->error().Text();
  if (trouble != agent_trouble_ && !trouble.empty()) {
    log::Warn("the agent does not say who has what; its last answer stays", page->error());
  }
  agent_trouble_ = trouble;
  if (!*page) return;
  Granted granted = **page;
  granted_at_ = clock_.Now();
  if (granted.node.empty()) granted.node = options_.node;
  if (granted.directories.empty()) granted.directories = options_.directories;
  for (const auto& sampling : samplings_) sampling->SetReleased(granted.released);
  granted_ = std::make_shared<const Granted>(std::move(granted));
}

void Service::Read() {
  constexpr size_t kMostStuck = 16;  // threads that are stuck
  if (stuck_.size() >= kMostStuck) return;
  pass_ = std::make_shared<Pass>();
  pass_began_ = clock_.Now();
  std::set<std::string> left_out;
  for (const auto& [directory, pass] : stuck_) left_out.insert(directory);
  workers_.Run([granted = granted_, before = containers_, root = options_.root, pass = pass_,
                left_out = std::move(left_out), done = mailbox_.Bind(&Service::TakeReading)] {
    const Places places{.root = root,
                        .directories = granted->directories,
                        .each = Duration(0),
                        .enter = [&](const std::string& directory) {
                          const MutexLock lock(pass->mutex);
                          pass->at = directory;
                          return !left_out.contains(directory);
                        }};
    auto now = ReadContainers(granted->containers, places);
    if (!now) return done(pass, Result<Containers>(Fail(now.error())));
    for (Container& container : *now) {
      const auto pod = granted->pods.find(container.pod);
      if (container.pod_name.empty() && pod != granted->pods.end())
        container.pod_name = pod->second;
    }
    Compare(*before, *now);
    done(pass, Result<Containers>(std::make_shared<const std::vector<Container>>(*std::move(now))));
  });
}

void Service::LeaveBehind() {
  const MutexLock lock(pass_->mutex);
  if (!pass_->at.empty()) {
    log::Warn("a container's directory does not answer; its last values are gone",
              {{"directory", pass_->at}});
    stuck_[pass_->at] = pass_;
  }
  pass_.reset();
}

void Service::TakeReading(const std::shared_ptr<Pass>& pass, const Result<Containers>& reading) {
  std::erase_if(stuck_, [&](const auto& entry) { return entry.second == pass; });
  if (pass != pass_) return;  // it was left behind
  pass_.reset();
  const std::string trouble = reading ? "" : reading.error().Text();
  if (trouble != reading_trouble_ && !trouble.empty()) {
    log::Warn("regions cannot be read; their last values stay", reading.error());
  }
  reading_trouble_ = trouble;
  if (!reading) return;
  containers_ = *reading;
  read_at_ = clock_.Now();
  CountUnreadable();
  Write(feedback_.Decide(*containers_, *read_at_));
}

void Service::CountUnreadable() {
  std::map<std::string, Reason> now;
  for (const Container& container : *containers_) {
    if (!container.problem || container.problem->reason == Reason::kNotFound) continue;
    const Reason reason = container.problem->reason;
    now.emplace(container.file, reason);
    const auto before = unreadable_.find(container.file);
    if (before != unreadable_.end() && before->second == reason) continue;
    ++became_unreadable_[std::string(ReasonName(reason))];
  }
  unreadable_ = std::move(now);
}

// A container that blocks the write costs no other: each write is a task of its own.
void Service::Write(std::vector<FeedbackWrite> writes) {
  for (FeedbackWrite& write : writes) {
    if (!writing_.insert(write.file).second) continue;
    writers_.Run([root = options_.root, write = std::move(write),
                  done = mailbox_.Bind(&Service::TakeWritten)] {
      (void)WriteWords(root, write);  // the next reading shows whether it worked
      done(write.file);
    });
  }
}

void Service::TakeWritten(const std::string& file) {
  writing_.erase(file);
}

void Service::EndFeedback() const {
  for (const FeedbackWrite& write : feedback_.End(*containers_)) {
    (void)os::Within<Status>(Duration(1'000),
                             [root = options_.root, write] { return WriteWords(root, write); });
  }
}

Snapshot Service::Now() const {
  Snapshot snapshot{.node = granted_->node,
                    .containers = *containers_,
                    .granted_at = granted_at_,
                    .read_at = read_at_,
                    .became_unreadable = became_unreadable_};
  for (const auto& sampling : samplings_) {
    std::ranges::move(sampling->States(), std::back_inserter(snapshot.devices));
  }
  return snapshot;
}

std::string Service::Metrics() const {
  return Expose(Now(), clock_.Now(), clock_.WallNow(), options_.legacy);
}

http::Response Service::Answer(const http::Request& request) const {
  http::Response response{.content_type = std::string(http::kMetricsContentType), .body = ""};
  if (request.path == "/metrics") {
    response.body = Metrics();
  } else if (request.path == "/dcgm/metrics" && options_.dcgm) {
    response.body = ExposeDcgm(Now());
  } else if (request.path == "/healthz") {
    return http::Text("ok\n");
  } else {
    return http::Failure({Reason::kNotFound, "there is no page " + request.path});
  }
  return response;
}

}  // namespace tessera::monitor
