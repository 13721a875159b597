// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "http/wire.h"
#include "kube/client_impl.h"
#include "kube/wire.h"

namespace tessera::kube {
namespace {

constexpr int kPage = 500;  // objects
// Where each page is read as it comes: its text and objects are all that is in memory at once.
constexpr int kReadPage = 100;

std::string What(const Client::Impl::Call& call) {
  return fmt::format("{} {}", call.verb, call.path);
}

// What there is to say of an attempt that came to nothing.
Error ErrorOf(const Result<http::Reply>& reply) {
  if (reply) return *ErrorIn(*reply);
  return {Reason::kApiUnreachable, reply.error().message};
}

// Not where what we have ourselves is no good or missing, which no attempt changes.
bool Passes(const Error& error) {
  return error.reason != Reason::kInvalid && error.reason != Reason::kNotFound;
}

}  // namespace

std::string NodePath(const std::string& node) {
  return "/api/v1/nodes/" + http::PercentEncode(node);
}

void Client::Impl::Start(Call call) {
  const uint64_t id = next_id_++;
  const Duration left = call.term.end - SystemClock().Now();
  Call& kept = calls_.emplace(id, std::move(call)).first->second;
  kept.end = loop.After(left, [this, id] { Expired(id); });
  Try(id);
}

void Client::Impl::Try(uint64_t id) {
  Call& call = calls_.at(id);
  call.attempt =
      attempts.Make({.verb = call.verb, .call = call.request},
                    [this, id](const Result<http::Reply>& reply) { Attempted(id, reply); });
}

void Client::Impl::Attempted(uint64_t id, const Result<http::Reply>& reply) {
  Call& call = calls_.at(id);
  if (reply && reply->status / 100 == 2) return Finish(id, reply);
  // An object that is there already was made by an attempt whose answer was lost, or by another.
  const bool made = reply && call.verb == "create" && StatusReason(*reply) == "AlreadyExists";
  if (made) return Finish(id, http::Reply{.status = 200, .body = call.request.body});
  const Error error = ErrorOf(reply);
  const Duration pause = attempts.NextPause(call.pauses);
  const bool passes = reply ? Passes(reply->status) : Passes(reply.error());
  const bool again = passes && SystemClock().Now() + pause < call.term.end;
  if (!again) return Finish(id, Fail(error.In(What(call))));
  call.last = error.message;
  call.attempt.reset();
  call.pause = loop.After(pause, [this, id] { Try(id); });
}

void Client::Impl::Expired(uint64_t id) {
  const Call& call = calls_.at(id);
  const bool waits = call.attempt && !call.attempt->HadItsTurn();
  Finish(id, Fail(Reason::kApiUnreachable, "{}: {} within {}{}{}", What(call),
                  waits ? "its turn did not come" : "no answer", FormatDuration(call.term.span),
                  call.last.empty() ? "" : "; at last: ", call.last));
}

void Client::Impl::Finish(uint64_t id, Result<http::Reply> result) {
  auto ended = calls_.extract(id);
  const auto done = std::move(ended.mapped().done);
  ended = {};
  done(std::move(result));
}

void Client::Impl::Ask(Call call, Answer answer, std::span<const std::string_view> without) {
  call.done = [what = What(call), without, answer = std::move(answer)](Result<http::Reply> reply) {
    if (!reply) return answer(Fail(reply.error()));
    auto object =
        without.empty() ? json::Parse(reply->body) : json::ParseWithout(reply->body, without);
    if (object) return answer(*std::move(object));
    answer(Fail(Reason::kApiUnreachable, "{}: what answers is no API server: {}", what,
                object.error().message));
  };
  Start(std::move(call));
}

void Client::Impl::NextPage(const std::shared_ptr<Listing>& listing) {
  std::string target =
      fmt::format("{}?{}{}limit={}", listing->path, listing->query,
                  listing->query.empty() ? "" : "&", listing->reader.page ? kReadPage : kPage);
  if (!listing->next.empty()) target += "&continue=" + http::PercentEncode(listing->next);
  Ask(
      {.verb = "list",
       .path = listing->path,
       .request = {.target = std::move(target)},
       .term = listing->term,
       .done = {}},
      [this, listing](Result<json::Value> page) { TakePage(listing, std::move(page)); },
      listing->reader.without);
}

void Client::Impl::TakePage(const std::shared_ptr<Listing>& listing, Result<json::Value> page) {
  const bool first = listing->next.empty();
  if (!page && page.error().reason == Reason::kApiExpired && !first) {
    listing->next.clear();  // what the first pages showed is forgotten by now: from the start
    listing->found = {};
    return NextPage(listing);
  }
  if (!page) return listing->answer(Fail(page.error()));
  json::Value* items = page->is_object() ? page->get_object().if_contains("items") : nullptr;
  json::Array none;
  json::Array& objects = items != nullptr && items->is_array() ? items->get_array() : none;
  if (listing->reader.page) {
    listing->reader.page(objects, first);
  } else {
    std::ranges::move(objects, std::back_inserter(listing->found.items));
  }
  if (first) listing->found.resource_version = VersionOf(*page);
  const json::Object* metadata =
      page->is_object() ? json::GetObject(page->get_object(), "metadata") : nullptr;
  listing->next = metadata == nullptr ? "" : json::GetString(*metadata, "continue").value_or("");
  if (!listing->next.empty()) return NextPage(listing);
  listing->answer(std::move(listing->found));
}

Client::Client(os::Loop& loop, Access access, Limits limits, AttemptObserver observer)
    : impl_(std::make_unique<Impl>(loop, std::move(access), limits, std::move(observer))) {}

Client::~Client() = default;

Duration Client::NextPause(Backoff& pauses) {
  return impl_->attempts.NextPause(pauses);
}

void Client::Get(const std::string& path, Answer answer) {
  impl_->Ask({.verb = "get",
              .path = path,
              .request = {.target = path},
              .term = impl_->UsualTerm(),
              .done = {}},
             std::move(answer));
}

void Client::List(const std::string& path, const std::string& query, ListAnswer answer) {
  impl_->NextPage(std::make_shared<Impl::Listing>(
      Impl::Listing{path, query, impl_->UsualTerm(), {}, std::move(answer)}));
}

void Client::Create(const std::string& path, const json::Value& object, Answer answer) {
  impl_->Ask({.verb = "create",
              .path = path,
              .request = {.method = "POST",
                          .target = path,
                          .headers = {{"Content-Type", "application/json"}},
                          .body = json::Write(object)},
              .term = impl_->UsualTerm(),
              .done = {}},
             std::move(answer));
}

void Client::Patch(PatchType type, const std::string& path, const json::Value& patch,
                   Answer answer) {
  const char* content = type == PatchType::kMerge ? "application/merge-patch+json"
                                                  : "application/strategic-merge-patch+json";
  impl_->Ask({.verb = "patch",
              .path = path,
              .request = {.method = "PATCH",
                          .target = path,
                          .headers = {{"Content-Type", content}},
                          .body = json::Write(patch)},
              .term = impl_->UsualTerm(),
              .done = {}},
             std::move(answer));
}

void Client::Delete(const std::string& path, Answer answer) {
  impl_->Ask({.verb = "delete",
              .path = path,
              .request = {.method = "DELETE", .target = path},
              .term = impl_->UsualTerm(),
              .done = {}},
             std::move(answer));
}

}  // namespace tessera::kube
