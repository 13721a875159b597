// SPDX-License-Identifier: Apache-2.0
// The client's inside, which watches share. One thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

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
  // One call with all its attempts. `path` is for the messages.
  struct Call {
    std::string verb;
    std::string path;
    http::Call request;
    Term term;
    std::function<void(Result<http::Reply>)> done;  // only with a good reply (2xx), or an error
    Backoff pauses{Duration(250), Duration(8'000)};
    std::string last{};  // why the last attempt failed; empty: there was none
    std::unique_ptr<Attempts::Attempt> attempt{};
    os::Loop::Handle pause{};
    os::Loop::Handle end{};
  };
  // The pages of a list.
  struct Listing {
    std::string path;
    std::string query;
    Term term;
    PageReader reader;  // without `page`: the answer has all objects
    ListAnswer answer;
    ObjectList found{};
    std::string next{};  // where the next page continues
  };

  static Term Within(Duration span) { return {span, SystemClock().Now() + span}; }
  Term UsualTerm() const { return Within(limits.deadline); }
  void Start(Call call);
  // A call whose answer is an object; without the members of these names.
  void Ask(Call call, Answer answer, std::span<const std::string_view> without = {});
  void NextPage(const std::shared_ptr<Listing>& listing);

  os::Loop& loop;
  const Limits limits;
  Attempts attempts;

 private:
  void Try(uint64_t id);
  void Attempted(uint64_t id, const Result<http::Reply>& reply);
  void Expired(uint64_t id);
  void Finish(uint64_t id, Result<http::Reply> result);
  void TakePage(const std::shared_ptr<Listing>& listing, Result<json::Value> page);

  std::map<uint64_t, Call> calls_;
  uint64_t next_id_ = 0;
};

}  // namespace tessera::kube
