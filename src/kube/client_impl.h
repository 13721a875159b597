// SPDX-License-Identifier: Apache-2.0
// The client's implementation, shared with watches. One thread: the loop's.
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

  // A call's time limit and its end.
  struct Term {
    Duration span;
    Steady end;
  };
  // A list, page by page. It has no overall time limit, but each page has one.
  struct Listing {
    std::string path;
    std::string query;
    Duration span;      // of a page, with all attempts
    json::Shape shape;  // of a page
    size_t most;        // bytes of an object
    std::function<void()> begun;
    std::function<void(const json::Value& object)> item;
    std::function<void(Result<std::string> version)> answer;
    std::string version{};
    std::string next{};  // continue token of the next page
    // The server has forgotten the list once (410) and it was started again.
    bool forgotten = false;
    size_t largest = 0;  // largest page, in bytes
  };
  // One call with all its attempts. `path` is for messages.
  struct Call {
    std::string verb;
    std::string path;
    http::Call request;
    Term term;
    Form form;
    Answer done;
    bool there_is_fine = false;          // for creating an object
    std::shared_ptr<Listing> listing{};  // the list of which this call reads a page
    Backoff pauses{Duration(250), Duration(8'000)};
    std::string last{};  // error of the last attempt; empty: none
    std::unique_ptr<json::Reader> reader{};
    std::vector<json::Value> found{};  // objects of a list, not delivered yet
    size_t bytes = 0;                  // of the answer, in this attempt
    std::unique_ptr<Attempts::Attempt> attempt{};
    os::Loop::Handle pause{};
    os::Loop::Handle end{};
  };

  static Term Within(Duration span) { return {span, SystemClock().Now() + span}; }
  Term UsualTerm() const { return Within(limits.deadline); }
  void Start(Call call);
  // Fails a call without an attempt. The answer still comes after the caller returns.
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
  std::map<std::string, int> pages_;  // page size in objects, by path
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tessera::kube
