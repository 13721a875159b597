// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/client_impl.h"
#include "kube/rights.h"
#include "kube/wire.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostWaiting = 256;  // events held back while a list is read
constexpr Duration kFirstPause{1'000};
constexpr Duration kLastPause{30'000};

}  // namespace

struct Watch::Impl {
  Impl(os::Loop& loop_, Client::Impl& client_, std::string path_, std::string query_, Form form_,
       Listener listener_)
      : loop(loop_),
        client(client_),
        path(std::move(path_)),
        query(std::move(query_)),
        form(std::move(form_)),
        listener(std::make_shared<const Listener>(std::move(listener_))) {
    List();
  }

  void List() { ListWithin(client.limits.deadline); }

  void ListWithin(Duration page_span) {
    lists = true;
    next = os::Loop::Handle();
    refresh = os::Loop::Handle();
    // The client has no handle to cancel a list. This pointer tells its callbacks whether the watch
    // still exists.
    const std::weak_ptr<const bool> still = alive;
    client.NextPage(std::make_shared<Client::Impl::Listing>(
        Client::Impl::Listing{.path = path,
                              .query = query,
                              .span = page_span,
                              .shape = PageShape(form.shape),
                              .most = form.most,
                              .begun =
                                  [still, told = listener] {
                                    if (!still.expired() && told->begun) told->begun();
                                  },
                              .item =
                                  [still, told = listener](const json::Value& object) {
                                    if (!still.expired()) told->item(object);
                                  },
                              .answer =
                                  [this, still](Result<std::string> found) {
                                    if (!still.expired()) Listed(std::move(found));
                                  }}));
  }

  void Listed(Result<std::string> found) {
    lists = false;
    if (!found) return NotListed(found.error());
    list_pauses.Succeeded();
    version = *std::move(found);
    attempt.reset();  // the former stream
    waiting.clear();
    Follow();
    const std::shared_ptr<const Listener> told = listener;
    told->listed();
  }

  void NotListed(const Error& error) {
    const std::weak_ptr<const bool> still = alive;
    rested = SystemClock().Now() + client.attempts.NextPause(list_pauses);
    if (!attempt) {
      Again(error);
    } else {
      TellAll(std::exchange(waiting, {}));  // events held back during the list
    }
    if (still.expired()) return;
    const std::shared_ptr<const Listener> told = listener;
    if (told->failed) told->failed(error);
  }

  bool Refresh(Duration page_within) {
    if (lists) return false;
    if (!attempt && version.empty()) return true;  // a list is already scheduled
    const Duration pause = rested - SystemClock().Now();
    if (pause <= Duration(0)) {
      ListWithin(attempt ? page_within : client.limits.deadline);
    } else {
      refresh = loop.After(pause, [this, page_within] {
        ListWithin(attempt ? page_within : client.limits.deadline);
      });
    }
    return true;
  }

  void Follow() {
    using std::chrono::seconds;
    const auto span = std::max(
        seconds(1), std::chrono::ceil<seconds>(client.attempts.Jittered(client.limits.watch)));
    events.emplace(form);
    heard = false;
    http::Call call{.target =
                        fmt::format("{}?{}{}watch=1&allowWatchBookmarks=true"
                                    "&resourceVersion={}&timeoutSeconds={}",
                                    path, query, query.empty() ? "" : "&", version, span.count())};
    attempt = client.attempts.Make({.verb = "watch",
                                    .call = std::move(call),
                                    .piece = [this](std::string_view bytes) { Take(bytes); },
                                    .silence = span + client.limits.attempt},
                                   [this](const Result<http::Reply>& reply) { Ended(reply); });
  }

  void Take(std::string_view bytes) {
    std::vector<WatchEvent> found = std::exchange(waiting, {});
    const Status read = events->Add(bytes, found);
    // Events during a list are held back, since the list may include them. After it, the stream
    // starts at the list's version.
    if (lists) {
      waiting = std::move(found);
      if (!read || waiting.size() > kMostWaiting) attempt.reset();
      return;
    }
    const std::weak_ptr<const bool> still = alive;
    const std::weak_ptr<Attempts::Attempt> present = attempt;
    TellAll(found);
    if (!read && !still.expired() && !present.expired()) Relist(read.error());
  }

  void TellAll(const std::vector<WatchEvent>& found) {
    const std::weak_ptr<const bool> still = alive;
    const std::weak_ptr<Attempts::Attempt> present = attempt;
    for (const WatchEvent& event : found) {
      Tell(event);
      if (still.expired() || present.expired()) return;
    }
  }

  // The listener may destroy the watch.
  void Tell(const WatchEvent& event) {
    if (event.kind == WatchEvent::Kind::kError) {
      const json::Object& status = event.object.get_object();
      if (const auto asked = RetryAfter(status)) client.attempts.LeaveAlone(*asked);
      const Error error = ErrorIn(status);
      return error.reason == Reason::kApiExpired ? Relist(error) : Again(error);
    }
    Heard();
    version = event.version;
    const std::shared_ptr<const Listener> told = listener;
    if (event.kind == WatchEvent::Kind::kChanged) told->changed(event.object);
    if (event.kind == WatchEvent::Kind::kDeleted && told->deleted) told->deleted(event.object);
  }

  void Ended(const Result<http::Reply>& reply) {
    if (lists) return attempt.reset();
    if (!reply) return Again({Reason::kApiUnreachable, reply.error().message});
    const auto error = ErrorIn(*reply);
    if (error && error->reason == Reason::kApiExpired) return Relist(*error);
    // Without the right to watch, only lists remain.
    if (error && reply->status == 403) version.clear();
    if (error) return Again(WithRight(*error, reply->status, "watch", path));
    if (heard) return Follow();
    // The stream ended without an event: its time was up, or the server closes each stream at once.
    // The pause prevents a tight loop.
    After(client.attempts.NextPause(pauses));
  }

  void Heard() {
    if (std::exchange(failing, false)) log::Info("watching again", {{"path", path}});
    heard = true;
    pauses.Succeeded();
  }

  // Resumes from the last version, or from a list if there is none.
  void Again(const Error& error) {
    if (!std::exchange(failing, true)) log::Warn("cannot watch", error, {{"path", path}});
    After(client.attempts.NextPause(pauses));
  }

  // Lists again without a backoff pause, unless an attempt has failed since the last event.
  void Relist(const Error& error) {
    version.clear();
    const bool well = pauses.pause() == Duration(0);
    if (!well) return Again(error);
    pauses.Failed();
    After(client.attempts.LeftAlone());
  }

  void After(Duration pause) {
    attempt.reset();
    waiting.clear();
    if (lists) return;  // the end of the list decides the next step
    if (version.empty()) pause = std::max(pause, Duration(rested - SystemClock().Now()));
    next = loop.After(pause, [this] {
      next = os::Loop::Handle();
      if (version.empty()) return List();
      Follow();
    });
  }

  os::Loop& loop;
  Client::Impl& client;
  const std::string path;
  const std::string query;
  const Form form;
  const std::shared_ptr<const Listener> listener;  // shared: a callback may destroy the watch
  std::string version;                             // empty: a list is needed
  std::optional<EventReader> events;
  std::vector<WatchEvent> waiting;  // events held back during the list
  bool lists = false;               // a list is being read
  bool heard = false;               // an event came in this stream
  bool failing = false;             // the failure is logged
  Backoff pauses{kFirstPause, kLastPause};
  Backoff list_pauses{kFirstPause, kLastPause};
  Steady rested{};  // no list before
  std::shared_ptr<Attempts::Attempt> attempt;
  os::Loop::Handle next;     // the next stream or list
  os::Loop::Handle refresh;  // the list for Refresh
  const std::shared_ptr<const bool> alive = std::make_shared<const bool>(true);
};

Watch::Watch(os::Loop& loop, Client& client, std::string path, std::string query, Form form,
             Listener listener)
    : impl_(std::make_unique<Impl>(loop, *client.impl_, std::move(path), std::move(query),
                                   std::move(form), std::move(listener))) {}

Watch::~Watch() = default;

bool Watch::Refresh(Duration page_within) {
  return impl_->Refresh(page_within);
}

}  // namespace tessera::kube
