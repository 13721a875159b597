// SPDX-License-Identifier: Apache-2.0
#include "http/served_connection.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tessera::http {
namespace {

// The limit for one turn, so that other connections proceed and limits are checked.
constexpr size_t kBytesATurn = size_t{64} * 1024;
constexpr size_t kPart = size_t{16} * 1024;  // TLS's largest record

// A peer may name its own timeout, as API servers do for webhooks. The server waits no longer than
// that.
Duration PatienceFor(const Request& request, Duration most) {
  const auto said = request.query.find("timeout");
  if (said == request.query.end()) return most;
  return std::min(ParseDuration(said->second).value_or(most), most);
}

}  // namespace

// One request at its handler. It lives as long as the handler may answer.
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
    Response failure = Failure({Reason::kInternal, what_ + " was dropped without an answer"});
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
  const std::weak_ptr<Pending> pending_;  // the waiting connection's
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
  // The connection limit has the same number. So most of these requests belong to peers that have
  // gone.
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

// Checks whether the peer has gone. Once the peer has sent more bytes, its end can no longer be
// seen.
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
  // The refusal of a HEAD request has no body either.
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

// Drains the peer's bytes and waits for the peer to close. Closing now could destroy the answer,
// because unread bytes cause a reset, and would leave unsent bytes to the kernel, uncounted. A
// refused peer may be in the middle of its body, and reads the answer after it.
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
