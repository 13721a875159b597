// SPDX-License-Identifier: Apache-2.0
#include "http/served_connection.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tessera::http {
namespace {

// Others have their turn in between, and their bounds are looked at.
constexpr size_t kBytesATurn = size_t{64} * 1024;
constexpr size_t kPart = size_t{16} * 1024;  // the most that TLS hands over at once

// The peer waits no longer than it says, as the API server does of its webhooks.
Duration PatienceFor(const Request& request, Duration most) {
  const auto said = request.query.find("timeout");
  if (said == request.query.end()) return most;
  return std::min(ParseDuration(said->second).value_or(most), most);
}

}  // namespace

// One request at its handler, for as long as that may answer it.
class ServedConnection::Ticket {
 public:
  Ticket(std::weak_ptr<Pending> pending, std::shared_ptr<AtHandlers> counts, const Request& request)
      : pending_(std::move(pending)),
        counts_(std::move(counts)),
        bytes_(request.body.size()),
        what_(request.method + " " + request.path) {
    ++counts_->requests;
    counts_->bytes += bytes_;
  }
  ~Ticket() {
    if (answered_) return;
    Response failure = Failure({Reason::kInternal, what_ + " was given up without an answer"});
    failure.status = 500;
    Answer(std::move(failure));
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  void Answer(Response response) {
    if (std::exchange(answered_, true)) return;
    --counts_->requests;
    counts_->bytes -= bytes_;
    const auto pending = pending_.lock();
    if (!pending) return;
    pending->response = std::move(response);
    if (pending->wake) pending->wake();
  }

 private:
  const std::weak_ptr<Pending> pending_;  // of who waits for it
  const std::shared_ptr<AtHandlers> counts_;
  const size_t bytes_;
  const std::string what_;
  bool answered_ = false;
};

ServedConnection::ServedConnection(Wire wire, const AsyncHandler& handler, const Takes& takes,
                                   const Timeouts& timeouts,
                                   std::shared_ptr<AtHandlers> at_handlers,
                                   std::function<void()> wake)
    : wire_(std::move(wire)),
      handler_(handler),
      takes_(takes),
      timeouts_(timeouts),
      at_handlers_(std::move(at_handlers)),
      wake_(std::move(wake)),
      reader_(takes) {
  BeginPhase(timeouts.request);
}

void ServedConnection::BeginPhase(Duration most) {
  ++phase_;
  deadline_ = SystemClock().Now() + most;
}

ServedConnection::WaitsTo ServedConnection::waits_to() const {
  if (stage_ == Stage::kAsking && peer_talks_) return WaitsTo::kBeWoken;
  return must_write_ ? WaitsTo::kWrite : WaitsTo::kRead;
}

bool ServedConnection::ready() const {
  const bool hears = stage_ == Stage::kReading || stage_ == Stage::kLeaving;
  return hears && (has_next_ || wire_.holds_more());
}

bool ServedConnection::GoOn() {
  if (stage_ == Stage::kReading && !Receive()) return false;
  if (stage_ == Stage::kAsking && !Await()) return false;
  if (stage_ == Stage::kWriting && !Send()) return false;
  return stage_ != Stage::kLeaving || Discard();
}

bool ServedConnection::Receive() {
  std::array<char, kPart> part;
  if (std::exchange(has_next_, false)) Take(reader_.Add(""));
  for (size_t all = 0; stage_ == Stage::kReading && all < kBytesATurn;) {
    const auto [outcome, n] = wire_.Receive(part);
    if (outcome == Wire::Outcome::kEnded) return false;
    MustWait(outcome);
    if (outcome != Wire::Outcome::kMoved) {
      const bool may_stay = takes_.requests > 1 && wire_.is_open() && !reader_.begun();
      if (may_stay && !spare_) StayIdle();
      return true;
    }
    if (idle()) BeginPhase(timeouts_.request);
    all += n;
    Take(reader_.Add({part.data(), n}));
  }
  return true;
}

void ServedConnection::Take(std::optional<Reading> reading) {
  if (!reading) return;
  if (auto* asked = std::get_if<ParsedRequest>(&*reading)) return Ask(std::move(*asked));
  Refuse(std::get<Response>(*std::move(reading)));
}

void ServedConnection::StayIdle() {
  spare_ = true;
  BeginPhase(timeouts_.idle);
}

void ServedConnection::Ask(ParsedRequest asked) {
  stage_ = Stage::kAsking;
  BeginPhase(PatienceFor(asked.request, timeouts_.handler));
  ++requests_;
  head_only_ = asked.head;
  keep_ = asked.keeps && requests_ < takes_.requests;
  peer_talks_ = false;
  if (!keep_) reader_ = RequestReader(takes_);
  // Most are of peers that have gone: connections are bounded by the same number.
  if (at_handlers_->requests >= at_handlers_->most) {
    return Refuse(Failure({Reason::kUnavailable, "too many requests wait for an answer"}));
  }
  asked.request.deadline = deadline_;
  pending_ = std::make_shared<Pending>();
  auto ticket = std::make_shared<Ticket>(pending_, at_handlers_, asked.request);
  handler_(std::move(asked.request), [ticket = std::move(ticket)](Response response) {
    ticket->Answer(std::move(response));
  });
  if (!pending_->response) pending_->wake = wake_;
}

// The peer may have gone meanwhile; but if it has sent more, that is not to be seen.
bool ServedConnection::Await() {
  if (pending_->response) {
    Begin(*std::move(pending_->response));
    return true;
  }
  if (peer_talks_) return true;
  const Wire::Outcome outcome = wire_.Peek();
  peer_talks_ = outcome == Wire::Outcome::kMoved;
  MustWait(outcome);
  return outcome != Wire::Outcome::kEnded;
}

void ServedConnection::Refuse(Response response) {
  keep_ = false;
  // One that was asked for by HEAD, and has no answer in time, has no body either.
  if (stage_ != Stage::kAsking) head_only_ = false;
  Begin(std::move(response));
}

void ServedConnection::Begin(Response response) {
  pending_.reset();
  if (!keep_) reader_ = RequestReader(takes_);
  head_ = HeadOf(response, takes_, keep_);
  if (!head_only_) body_ = std::move(response.body);
  stage_ = Stage::kWriting;
  must_write_ = true;
  BeginPhase(timeouts_.answer);
}

bool ServedConnection::Send() {
  while (waiting() > 0) {
    const size_t of_head = std::min(sent_, head_.size());
    const auto [outcome, n] = wire_.Send(std::string_view(head_).substr(of_head),
                                         std::string_view(body_).substr(sent_ - of_head));
    MustWait(outcome);
    if (outcome == Wire::Outcome::kEnded) return false;
    if (outcome != Wire::Outcome::kMoved) return true;
    sent_ += n;
  }
  sent_ = 0;
  std::string().swap(head_);
  std::string().swap(body_);
  if (keep_) {
    AwaitNext();
    return true;
  }
  wire_.EndSending();
  stage_ = Stage::kLeaving;
  return true;
}

void ServedConnection::AwaitNext() {
  stage_ = Stage::kReading;
  must_write_ = false;
  has_next_ = reader_.begun();
  StayIdle();
  if (has_next_) BeginPhase(timeouts_.request);
}

// To close now would take the answer away from a peer that still sends, and leave what it has not
// taken to the kernel, where nobody counts it. So the peer ends the connection. Whoever is refused
// may be in the middle of a body, and reads the answer after that.
bool ServedConnection::Discard() {
  const size_t most = 2 * std::max(kMaxBody, takes_.body);
  std::array<char, kPart> part;
  for (size_t all = 0; all < kBytesATurn && discarded_ <= most;) {
    const auto [outcome, n] = wire_.Receive(part);
    MustWait(outcome);
    if (outcome == Wire::Outcome::kEnded) return false;
    if (outcome != Wire::Outcome::kMoved) return true;
    all += n;
    discarded_ += n;
  }
  return discarded_ <= most;
}

}  // namespace tessera::http
