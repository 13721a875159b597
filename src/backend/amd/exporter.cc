// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/exporter.h"

#include <algorithm>
#include <cstdint>

#include "base/characters.h"
#include "base/log.h"
#include "os/files.h"

namespace tessera::amd {
namespace {

constexpr Duration kTimeout{3'000};
constexpr size_t kMostGpus = 4'096;  // a node has 64 at most

// Fields of the messages (proto/amdexporter).
constexpr uint64_t kStates = 1, kHealth = 3, kDevice = 5;

// Reads the fields of a protobuf message (https://protobuf.dev/programming-guides/encoding).
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // The next field with a text or a message; others are passed over. False at the end, or if the
  // bytes are no message.
  bool Next(uint64_t& number, std::string_view& text) {
    while (!rest_.empty() && good_) {
      const uint64_t tag = Varint();
      const uint64_t kind = tag & 7U;
      number = tag >> 3U;
      if (kind == 2) {
        text = Take(Varint());
        return good_;
      }
      if (kind == 0) {
        (void)Varint();
      } else if (kind == 1 || kind == 5) {
        (void)Take(kind == 1 ? 8 : 4);
      } else {
        good_ = false;
      }
    }
    return false;
  }
  bool good() const { return good_; }

 private:
  uint64_t Varint() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return number;
    }
    good_ = false;
    return 0;
  }
  std::string_view Take(uint64_t size) {
    if (size > rest_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ToLower);
  return lower;
}

bool AddState(std::string_view bytes, ExporterWords& words) {
  Fields fields(bytes);
  std::string_view health, device, text;
  for (uint64_t number = 0; fields.Next(number, text);) {
    if (number == kHealth) health = text;
    if (number == kDevice) device = text;
  }
  if (!device.empty() && words.size() < kMostGpus) {
    words[Lower(device)] |= Lower(health) == "unhealthy";
  }
  return fields.good();
}

}  // namespace

std::optional<ExporterWords> ParseExporterWords(std::string_view answer) {
  Fields fields(answer);
  ExporterWords words;
  std::string_view text;
  for (uint64_t number = 0; fields.Next(number, text);) {
    if (number == kStates && !AddState(text, words)) return std::nullopt;
  }
  if (!fields.good()) return std::nullopt;
  return words;
}

bool SaysUnhealthy(const ExporterWords& words, const std::string& address, unsigned partition,
                   const std::function<bool(std::string_view)>& is_other) {
  const std::string_view place = std::string_view(address).substr(0, address.size() - 1);
  const auto of_part = [&](unsigned number) {
    const std::string name = std::string(place) + std::to_string(number);
    return name == address || is_other(name) ? words.end() : words.find(name);
  };
  const auto whole = words.find(address);
  const bool whole_is_unhealthy = whole != words.end() && whole->second;
  if (partition == 0) return whole_is_unhealthy;
  if (const auto part = of_part(partition); part != words.end()) return part->second;
  for (unsigned number = 1; number <= 7; ++number) {
    if (of_part(number) != words.end()) return false;
  }
  return whole_is_unhealthy;
}

Result<ExporterWords> AskExporter(CallUnix call, const std::string& socket_path) {
  auto answer = call(socket_path, "/gpumetricssvc.MetricsService/List", "", kTimeout);
  if (!answer && answer.error().reason == Reason::kNotFound) {
    answer = call(socket_path, "/metricssvc.MetricsService/List", "", kTimeout);
    if (!answer && answer.error().reason == Reason::kNotFound) {
      return Fail(Reason::kInvalid, "{} is not of a metrics exporter of AMD's", socket_path);
    }
  }
  auto words = ParseExporterWords(TRY(std::move(answer)));
  if (!words) return Fail(Reason::kInvalid, "{} answers what is no list of GPUs", socket_path);
  return *std::move(words);
}

struct ExporterWatch::State {
  mutable Mutex mutex{};
  ConditionVariable ended{};
  bool asks TESSERA_GUARDED_BY(mutex) = false;
  // Until when checks wait for the first question; nothing: none has begun, or it has ended.
  std::optional<Steady> first_until TESSERA_GUARDED_BY(mutex){};
  std::shared_ptr<const ExporterWords> words TESSERA_GUARDED_BY(mutex) = nullptr;
  Steady heard_at TESSERA_GUARDED_BY(mutex){};
  std::optional<Error> trouble TESSERA_GUARDED_BY(mutex){};  // of the last question
};

ExporterWatch::ExporterWatch(std::string socket_path, Ask ask, const Clock& clock)
    : socket_path_(std::move(socket_path)),
      ask_(std::move(ask)),
      clock_(clock),
      state_(std::make_shared<State>()) {}

void ExporterWatch::AskSoon() {
  if (socket_path_.empty() || ask_ == nullptr) return;
  const Steady now = clock_.Now();
  std::optional<Error> trouble;
  bool answered = false;
  {
    const MutexLock lock(state_->mutex);
    if (state_->asks) return;
    trouble = state_->trouble;
    answered = state_->words != nullptr;
  }
  if (trouble || answered) Log(trouble);
  if (asked_at_ && now - *asked_at_ < kEvery) return;
  const bool is_first = !asked_at_;
  asked_at_ = now;
  if (!os::Exists(socket_path_)) {
    const MutexLock lock(state_->mutex);
    state_->trouble = Error{Reason::kNotFound, socket_path_ + " is not there"};
    return;
  }
  {
    const MutexLock lock(state_->mutex);
    state_->asks = true;
    if (is_first) state_->first_until = SystemClock().Now() + kFirst;
  }
  workers_.Run([state = state_, ask = ask_, socket_path = socket_path_, now] {
    auto words = ask(socket_path);
    const MutexLock lock(state->mutex);
    state->asks = false;
    state->first_until.reset();
    state->trouble = words ? std::nullopt : std::optional(words.error());
    if (words) state->words = std::make_shared<const ExporterWords>(*std::move(words));
    state->heard_at = now;  // silence takes nothing back
    state->ended.notify_all();
  });
}

void ExporterWatch::AwaitFirst() const {
  MutexLock lock(state_->mutex);
  while (state_->first_until && SystemClock().Now() < *state_->first_until) {
    state_->ended.wait_until(lock, *state_->first_until);
  }
}

std::shared_ptr<const ExporterWords> ExporterWatch::words() const {
  static const auto kNone = std::make_shared<const ExporterWords>();
  const MutexLock lock(state_->mutex);
  const bool hold = state_->words != nullptr && clock_.Now() - state_->heard_at <= kHolds;
  return hold ? state_->words : kNone;
}

void ExporterWatch::Log(const std::optional<Error>& trouble) {
  const std::optional<Reason> reason = trouble ? std::optional(trouble->reason) : std::nullopt;
  if (reason == trouble_ && (reason || answers_)) return;
  trouble_ = reason;
  answers_ = !reason;
  if (!trouble) {
    log::Info("AMD's metrics exporter answers", {{"socket", socket_path_}});
  } else if (*reason == Reason::kNotFound) {
    log::Info("AMD's metrics exporter is not there", {{"socket", socket_path_}});
  } else {
    log::Warn("AMD's metrics exporter does not answer", *trouble);
  }
}

}  // namespace tessera::amd
