// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "http/target.h"
#include "kube/client_impl.h"
#include "kube/rights.h"
#include "kube/wire.h"

namespace tessera::kube {
namespace {

// Each page of a list by node makes the API server scan all pods. A page that is too large costs
// that scan and fails.
constexpr int kLeastPage = 10;
constexpr size_t kLargePage = 8 << 20;  // bytes; the next page gets smaller
constexpr size_t kSmallPage = 1 << 20;  // if all pages are below, the next list's grow

constexpr size_t kMostOfNothing = 1024;

http::Call Writing(const char* method, const std::string& path, const char* content,
                   const json::Value& object) {
  return {.method = method,
          .target = path,
          .headers = {{"Content-Type", content}},
          .body = json::Write(object)};
}

std::string What(const Client::Impl::Call& call) {
  return fmt::format("{} {}", call.verb, call.path);
}

// The error of a failed attempt.
Error ErrorOf(const Client::Impl::Call& call, const Result<http::Reply>& reply) {
  if (!reply) return {Reason::kApiUnreachable, reply.error().message};
  return WithRight(*ErrorIn(*reply), reply->status, call.verb, call.path);
}

// The server refused the call without processing it.
bool IsUnread(const Result<http::Reply>& reply) {
  return reply && reply->status == 429;
}

// False for errors in our own files or credentials, which no retry can cure.
bool IsPassing(const Error& error) {
  return error.reason != Reason::kInvalid && error.reason != Reason::kNotFound;
}

Form Nothing() {
  return {json::Shape::Object({}), kMostOfNothing};
}

Client::Answer AsOutcome(Client::Outcome outcome) {
  return [outcome = std::move(outcome)](const Result<json::Value>& answer) {
    outcome(answer ? Status() : Fail(answer.error()));
  };
}

}  // namespace

// Only cluster components write nodes, so the bounds are wide.
Form NodeForm() {
  using json::Shape;
  constexpr size_t kMost = 1 << 20;
  constexpr size_t kLongest = 256 << 10;  // Kubernetes' limit for all annotations of an object
  const Shape text = Shape::Scalar();
  const auto all = [](std::string_view) { return true; };
  return {
      .shape = Shape::Object(
          {{"metadata", Shape::Object({{"name", text},
                                       {"resourceVersion", text},
                                       {"labels", Shape::Map(all, text)},
                                       {"annotations", Shape::Map(all, Shape::Scalar(kLongest))}})},
           {"status", Shape::Object({{"conditions", Shape::List(Shape::Object(
                                                        {{"type", text},
                                                         {"status", text},
                                                         {"reason", text},
                                                         {"message", Shape::Scalar(32 << 10)}}))},
                                     {"nodeInfo", Shape::Map(all, text)}})}}),
      .most = kMost};
}

void Client::Impl::Start(Call call) {
  const uint64_t id = next_id_++;
  const Duration left = call.term.end - SystemClock().Now();
  Call& kept = calls_.emplace(id, std::move(call)).first->second;
  kept.end = loop.After(left, [this, id] { Expired(id); });
  Try(id);
}

void Client::Impl::Refuse(Answer done, const Error& error) {
  const uint64_t id = next_id_++;
  Call call{.verb = "",
            .path = "",
            .request = {},
            .term = UsualTerm(),
            .form = Nothing(),
            .done = std::move(done)};
  Call& kept = calls_.emplace(id, std::move(call)).first->second;
  kept.pause = loop.After(Duration(0), [this, id, error] { Finish(id, Fail(error)); });
}

void Client::Impl::Try(uint64_t id) {
  Call& call = calls_.at(id);
  call.bytes = 0;
  call.found.clear();
  call.reader = std::make_unique<json::Reader>(
      call.form.shape, call.form.most,
      [&call](json::Value object) { call.found.push_back(std::move(object)); });
  if (call.listing && call.listing->next.empty() && call.listing->begun) call.listing->begun();
  call.attempt =
      attempts.Make({.verb = call.verb,
                     .call = call.request,
                     .piece = [this, id](std::string_view bytes) { Take(id, bytes); }},
                    [this, id](const Result<http::Reply>& reply) { Attempted(id, reply); });
}

// Invalid JSON is reported at the end of the answer.
void Client::Impl::Take(uint64_t id, std::string_view bytes) {
  Call& call = calls_.at(id);
  call.bytes += bytes.size();
  (void)call.reader->Add(bytes);
  if (!call.listing) return;
  const std::weak_ptr<const bool> still = alive_;
  const std::shared_ptr<Listing> listing = call.listing;
  for (const json::Value& object : std::exchange(call.found, {})) {
    listing->item(object);
    if (still.expired()) return;
  }
}

void Client::Impl::Attempted(uint64_t id, const Result<http::Reply>& reply) {
  Call& call = calls_.at(id);
  if (reply && reply->status / 100 == 2) {
    auto object = call.reader->End();
    if (call.listing) PageRead(*call.listing, call.bytes);
    if (object) return Finish(id, *std::move(object));
    return Finish(id, Fail(Reason::kApiUnreachable, "{}: the answer is not an API server's: {}",
                           What(call), object.error().message));
  }
  // An existing object is fine here: another client made it, or an attempt whose answer was lost.
  const bool made = reply && call.there_is_fine && StatusReason(*reply) == "AlreadyExists";
  if (made) return Finish(id, json::Value());
  Error error = ErrorOf(call, reply);
  const Duration pause = attempts.NextPause(call.pauses);
  const bool passes = reply ? Passes(reply->status) : IsPassing(reply.error());
  // A call that must not be sent twice is retried only after a 429. Any other transient failure
  // leaves its outcome unknown.
  const bool settled = !call.request.once || IsUnread(reply);
  const bool again = passes && settled && SystemClock().Now() + pause < call.term.end;
  if (passes && !settled) error.reason = Reason::kApiUnreachable;
  if (call.listing) PageFailed(call, reply);
  if (!again) return Finish(id, Fail(error.In(What(call))));
  call.last = error.message;
  call.attempt.reset();
  call.pause = loop.After(pause, [this, id] { Try(id); });
}

void Client::Impl::Expired(uint64_t id) {
  Call& call = calls_.at(id);
  if (call.listing && call.bytes > 0) Shrink(call.listing->path);
  const bool waits = call.attempt && !call.attempt->HadItsTurn();
  const bool unread = call.request.once && (waits || !call.attempt);
  Finish(id, Fail(unread ? Reason::kApiBusy : Reason::kApiUnreachable, "{}: {} within {}{}{}",
                  What(call), waits ? "not sent" : "no answer", FormatDuration(call.term.span),
                  call.last.empty() ? "" : "; last error: ", call.last));
}

void Client::Impl::Finish(uint64_t id, Result<json::Value> result) {
  auto ended = calls_.extract(id);
  const auto done = std::move(ended.mapped().done);
  ended = {};
  done(std::move(result));
}

std::string Client::Impl::PageOf(const Listing& listing) {
  const int page = pages_.try_emplace(listing.path, limits.page).first->second;
  std::string target = fmt::format("{}?{}{}limit={}", listing.path, listing.query,
                                   listing.query.empty() ? "" : "&", page);
  if (!listing.next.empty()) target += "&continue=" + http::PercentEncode(listing.next);
  return target;
}

void Client::Impl::Shrink(const std::string& path) {
  int& page = pages_.try_emplace(path, limits.page).first->second;
  page = std::min(page, std::max(page / 2, kLeastPage));
}

// A page that broke off or timed out may be too large for the server or the network.
void Client::Impl::PageFailed(Call& call, const Result<http::Reply>& reply) {
  const bool late = reply ? reply->status == 504 : reply.error().reason == Reason::kTimedOut;
  if (call.bytes > 0 || late) Shrink(call.listing->path);
  call.request.target = PageOf(*call.listing);
}

void Client::Impl::PageRead(Listing& listing, size_t bytes) {
  listing.largest = std::max(listing.largest, bytes);
  if (bytes > kLargePage) Shrink(listing.path);
}

void Client::Impl::NextPage(const std::shared_ptr<Listing>& listing) {
  Start({.verb = "list",
         .path = listing->path,
         .request = {.target = PageOf(*listing)},
         .term = Within(listing->span),
         .form = {listing->shape, listing->most},
         .done = [this, listing](Result<json::Value> page) { TakePage(listing, std::move(page)); },
         .listing = listing});
}

// The listener already has all objects of this page.
void Client::Impl::TakePage(const std::shared_ptr<Listing>& listing, Result<json::Value> page) {
  const bool first = listing->next.empty();
  if (!page && page.error().reason == Reason::kApiExpired && !first &&
      !std::exchange(listing->forgotten, true)) {
    listing->next.clear();  // the server has forgotten this list; start again
    return NextPage(listing);
  }
  if (!page) return listing->answer(Fail(page.error()));
  if (first) listing->version = VersionOf(*page);
  const json::Object* metadata =
      page->is_object() ? json::GetObject(page->get_object(), "metadata") : nullptr;
  std::string next = metadata == nullptr ? "" : json::GetString(*metadata, "continue").value_or("");
  if (!next.empty() && next == listing->next) {
    return listing->answer(Fail(
        Reason::kApiUnreachable,
        "list {}: the answer is not an API server's: a page continues with itself", listing->path));
  }
  listing->next = std::move(next);
  if (!listing->next.empty()) return NextPage(listing);
  int& page_size = pages_[listing->path];
  if (listing->largest < kSmallPage) page_size = std::min(2 * page_size, limits.page);
  listing->answer(std::move(listing->version));
}

Client::Client(os::Loop& loop, Access access, Limits limits, AttemptObserver observer) {
  for (const std::string& risk : RisksOf(access)) log::Warn(risk, {{"host", access.host}});
  impl_ = std::make_unique<Impl>(loop, std::move(access), limits, std::move(observer));
}

Client::~Client() = default;

Duration Client::NextPause(Backoff& pauses) {
  return impl_->attempts.NextPause(pauses);
}

void Client::Get(const std::string& path, const Form& form, Answer answer) {
  impl_->Start({.verb = "get",
                .path = path,
                .request = {.target = path},
                .term = impl_->UsualTerm(),
                .form = form,
                .done = std::move(answer)});
}

void Client::Create(const std::string& path, const json::Value& object, Outcome outcome,
                    IfThere there) {
  impl_->Start({.verb = "create",
                .path = path,
                .request = Writing("POST", path, "application/json", object),
                .term = impl_->UsualTerm(),
                .form = Nothing(),
                .done = AsOutcome(std::move(outcome)),
                .there_is_fine = there == IfThere::kFine});
}

void Client::Replace(const std::string& path, const json::Value& object, const Form& form,
                     Answer answer) {
  if (VersionOf(object).empty()) {
    return impl_->Refuse(
        std::move(answer),
        {Reason::kInvalid, fmt::format("update {}: the object has no resourceVersion", path)});
  }
  impl_->Start({.verb = "update",
                .path = path,
                .request = Writing("PUT", path, "application/json", object),
                .term = impl_->UsualTerm(),
                .form = form,
                .done = std::move(answer)});
}

void Client::Bind(const Binding& binding, Outcome outcome) {
  const auto object = BindingJson(binding);
  if (!object) return impl_->Refuse(AsOutcome(std::move(outcome)), object.error());
  const std::string path = PodPath(binding.pod_namespace, binding.pod) + "/binding";
  http::Call request = Writing("POST", path, "application/json", *object);
  request.once = true;
  impl_->Start({.verb = "create",
                .path = path,
                .request = std::move(request),
                .term = impl_->UsualTerm(),
                .form = Nothing(),
                .done = AsOutcome(std::move(outcome))});
}

void Client::Patch(PatchType type, const std::string& path, const json::Value& patch,
                   const Form& form, Answer answer) {
  const char* content = type == PatchType::kMerge ? "application/merge-patch+json"
                                                  : "application/strategic-merge-patch+json";
  impl_->Start({.verb = "patch",
                .path = path,
                .request = Writing("PATCH", path, content, patch),
                .term = impl_->UsualTerm(),
                .form = form,
                .done = std::move(answer)});
}

void Client::Delete(const std::string& path, Outcome outcome) {
  impl_->Start({.verb = "delete",
                .path = path,
                .request = {.method = "DELETE", .target = path},
                .term = impl_->UsualTerm(),
                .form = Nothing(),
                .done = AsOutcome(std::move(outcome))});
}

}  // namespace tessera::kube
