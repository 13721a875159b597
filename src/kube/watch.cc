// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/backoff.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/client_impl.h"
#include "kube/wire.h"

namespace tessera::kube {
namespace {

// An object of etcd has 1.5 MiB at most, twice that as JSON.
constexpr size_t kLongestLine = 8 << 20;
constexpr Duration kFirstPause{1'000};
constexpr Duration kLastPause{30'000};

}  // namespace

struct Watch::Impl {
  Impl(os::Loop& loop_, Client::Impl& client_, std::string path_, std::string query_,
       Listener listener_)
      : loop(loop_),
        client(client_),
        path(std::move(path_)),
        query(std::move(query_)),
        listener(std::make_shared<const Listener>(std::move(listener_))) {
    List();
  }

  void List() { ListWithin(client.limits.deadline); }

  void ListWithin(Duration span) {
    lists = true;
    next = os::Loop::Handle();
    // The client has no handle for a list: this one says whether we are there to hear of it.
    const std::weak_ptr<const bool> still = alive;
    PageReader reader{.without = listener->reader.without};
    if (listener->reader.page) {
      reader.page = [still, told = listener](const json::Array& objects, bool first) {
        if (!still.expired()) told->reader.page(objects, first);
      };
    }
    client.NextPage(std::make_shared<Client::Impl::Listing>(
        Client::Impl::Listing{path, query, Client::Impl::Within(span), std::move(reader),
                              [this, still](Result<ObjectList> found) {
                                if (!still.expired()) Listed(std::move(found));
                              }}));
  }

  void Listed(Result<ObjectList> found) {
    lists = false;
    if (!found) return NotListed(found.error());
    version = std::move(found->resource_version);
    attempt.reset();  // of a stream from before
    Follow();
    const std::shared_ptr<const Listener> told = listener;
    told->listed(found->items);
  }

  void NotListed(const Error& error) {
    const std::weak_ptr<const bool> still = alive;
    if (!attempt) {
      Again(error);
    } else {
      Take("");  // what came meanwhile
    }
    if (still.expired()) return;
    const std::shared_ptr<const Listener> told = listener;
    if (told->failed) told->failed(error);
  }

  bool Refresh(Duration within) {
    if (lists) return false;
    ListWithin(attempt ? within : client.limits.deadline);
    return true;
  }

  void Follow() {
    using std::chrono::seconds;
    const auto span = std::max(
        seconds(1), std::chrono::ceil<seconds>(client.attempts.Jittered(client.limits.watch)));
    lines.emplace(kLongestLine);
    heard = false;
    http::Call call{.target =
                        fmt::format("{}?{}{}watch=1&allowWatchBookmarks=true"
                                    "&resourceVersion={}&timeoutSeconds={}",
                                    path, query, query.empty() ? "" : "&", version, span.count())};
    attempt = client.attempts.Make({.verb = "watch",
                                    .call = std::move(call),
                                    .silence = span + client.limits.attempt,
                                    .piece = [this](std::string_view bytes) { Take(bytes); }},
                                   [this](const Result<http::Reply>& reply) { Ended(reply); });
  }

  void Take(std::string_view bytes) {
    const bool fits = lines->Add(bytes);
    // What happens while the list is read may be in it: afterwards it is known what is news.
    if (lists) return;
    if (!fits) return Relist({Reason::kApiRejected, "an event is over 8 MiB"});
    const std::weak_ptr<const bool> still = alive;
    const std::weak_ptr<Attempts::Attempt> present = attempt;
    while (!still.expired() && !present.expired()) {
      const auto line = lines->Next();
      if (!line) return;
      auto event = ReadEvent(*line);
      if (!event) return Relist(event.error());
      Tell(*event);
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
    if (error) return Again(*error);
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
    if (lists) return;  // the list says how it goes on
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
  const std::shared_ptr<const Listener> listener;  // shared, since it may destroy this
  std::string version;
  std::optional<Lines> lines;
  bool lists = false;    // a list is under way
  bool heard = false;    // in this stream
  bool failing = false;  // since it was told
  Backoff pauses{kFirstPause, kLastPause};
  std::shared_ptr<Attempts::Attempt> attempt;
  os::Loop::Handle next;
  const std::shared_ptr<const bool> alive = std::make_shared<const bool>(true);
};

Watch::Watch(os::Loop& loop, Client& client, std::string path, std::string query, Listener listener)
    : impl_(std::make_unique<Impl>(loop, *client.impl_, std::move(path), std::move(query),
                                   std::move(listener))) {}

Watch::~Watch() = default;

bool Watch::Refresh(Duration within) {
  return impl_->Refresh(within);
}

}  // namespace tessera::kube
