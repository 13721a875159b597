// SPDX-License-Identifier: Apache-2.0
// The client's inside, which watches share. One thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "kube/attempts.h"
#include "kube/client.h"

namespace tessera::kube {

struct Client::Impl {
  Impl(os::Loop& loop_, Access access, const Limits& limits_, AttemptObserver observer)
      : loop(loop_),
        limits(limits_),
        attempts(loop, std::move(access), limits, std::move(observer)) {}

  // How long a call may take, and when that is over.
  struct Term {
    Duration span;
    Steady end;
  };
  // A list, page by page. There is no end for all of them together: each has to bring it forward.
  struct Listing {
    std::string path;
    std::string query;
    Duration span;      // of a page, with all its attempts
    json::Shape shape;  // of a page
    size_t most;        // of an object
    std::function<void()> begun;
    std::function<void(const json::Value& object)> item;
    std::function<void(Result<std::string> version)> answer;
    std::string version{};
    std::string next{};      // where the next page continues
    bool forgotten = false;  // by the server, once
    size_t largest = 0;      // page, in bytes
  };
  // One call with all its attempts. `path` is for the messages.
  struct Call {
    std::string verb;
    std::string path;
    http::Call request;
    Term term;
    Form form;
    Answer done;
    bool there_is_fine = false;          // of one that makes an object
    std::shared_ptr<Listing> listing{};  // that this is a page of
    Backoff pauses{Duration(250), Duration(8'000)};
    std::string last{};  // why the last attempt failed; empty: there was none
    std::unique_ptr<json::Reader> reader{};
    std::vector<json::Value> found{};  // of a list, and not told yet
    size_t bytes = 0;                  // of the answer, in this attempt
    std::unique_ptr<Attempts::Attempt> attempt{};
    os::Loop::Handle pause{};
    os::Loop::Handle end{};
  };

  static Term Within(Duration span) { return {span, SystemClock().Now() + span}; }
  Term UsualTerm() const { return Within(limits.deadline); }
  void Start(Call call);
  // Of a call that is not made: the answer comes as others do.
  void Refuse(Answer done, const Error& error);
  void NextPage(const std::shared_ptr<Listing>& listing);

  os::Loop& loop;
  const Limits limits;
  Attempts attempts;

 private:
  void Try(uint64_t id);
  void Take(uint64_t id, std::string_view bytes);
  void Attempted(uint64_t id, const Result<http::Reply>& reply);
  void Expired(uint64_t id);
  void Finish(uint64_t id, Result<json::Value> result);
  std::string PageOf(const Listing& listing);
  void PageFailed(Call& call, const Result<http::Reply>& reply);
  void PageRead(Listing& listing, size_t bytes);
  void TakePage(const std::shared_ptr<Listing>& listing, Result<json::Value> page);
  void Shrink(const std::string& path);

  std::map<uint64_t, Call> calls_;
  uint64_t next_id_ = 0;
  std::map<std::string, int> pages_;  // how many objects one has, by path
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tessera::kube
