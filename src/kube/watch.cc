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

constexpr size_t kMostWaiting = 256;  // events of a stream, while the list is read
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
    // The client has no handle for a list: this one says whether we are there to hear of it.
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
    attempt.reset();  // of a stream from before
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
      TellAll(std::exchange(waiting, {}));  // what came meanwhile
    }
    if (still.expired()) return;
    const std::shared_ptr<const Listener> told = listener;
    if (told->failed) told->failed(error);
  }

  bool Refresh(Duration page_within) {
    if (lists) return false;
    if (!attempt && version.empty()) return true;  // a list comes, after its pause
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
    // What happens while the list is read may be in it: afterwards it is known what is news.
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

  // The listener may destroy this.
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
    // Who may not watch goes by lists alone.
    if (error && reply->status == 403) version.clear();
    if (error) return Again(WithRight(*error, reply->status, "watch", path));
    if (heard) return Follow();
    // The time was up, or a server flaps: then each stream would end at once.
    After(client.attempts.NextPause(pauses));
  }

  void Heard() {
    if (std::exchange(failing, false)) log::Info("watching again", {{"path", path}});
    heard = true;
    pauses.Succeeded();
  }

  // From the version that was seen last, or from a list where there is none.
  void Again(const Error& error) {
    if (!std::exchange(failing, true)) log::Warn("cannot watch", error, {{"path", path}});
    After(client.attempts.NextPause(pauses));
  }

  // As soon as the server wants where all was well until now.
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
    if (lists) return;  // the list says how it goes on
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
  const std::shared_ptr<const Listener> listener;  // shared, since it may destroy this
  std::string version;                             // empty: the list is to be read
  std::optional<EventReader> events;
  std::vector<WatchEvent> waiting;  // that came while the list is read
  bool lists = false;               // a list is under way
  bool heard = false;               // in this stream
  bool failing = false;             // since it was told
  Backoff pauses{kFirstPause, kLastPause};
  Backoff list_pauses{kFirstPause, kLastPause};
  Steady rested{};  // until then no list is read again
  std::shared_ptr<Attempts::Attempt> attempt;
  os::Loop::Handle next;     // a stream, or a list
  os::Loop::Handle refresh;  // a list that somebody wants
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
