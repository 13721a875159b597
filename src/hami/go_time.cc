// SPDX-License-Identifier: Apache-2.0
#include "hami/go_time.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/characters.h"
#include "base/text.h"

namespace tessera::hami {
namespace {

// Reads from the front of a text. After a mismatch it stays failed.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  int Number(size_t digits, int least, int most) {
    int number = 0;
    ok_ = ok_ && text_.size() >= digits;
    for (size_t i = 0; ok_ && i < digits; ++i) {
      ok_ = IsDigit(text_[i]);
      number = number * 10 + (text_[i] - '0');
    }
    ok_ = ok_ && number >= least && number <= most;
    if (ok_) text_.remove_prefix(digits);
    return number;
  }
  void Skip(char c) { ok_ = Take(c) && ok_; }
  bool Take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void SkipFraction() {
    if (!text_.starts_with('.') && !text_.starts_with(',')) return;
    text_.remove_prefix(1);
    ok_ = ok_ && !text_.empty() && IsDigit(text_.front());
    while (!text_.empty() && IsDigit(text_.front())) text_.remove_prefix(1);
  }

  // A date and a time, separated by `between`.
  Wall DateAndTime(char between) {
    const int year = Number(4, 0, 9999);
    Skip('-');
    const int month = Number(2, 1, 12);
    Skip('-');
    const int day = Number(2, 1, 31);
    Skip(between);
    const int hour = Number(2, 0, 23);
    Skip(':');
    const int minute = Number(2, 0, 59);
    Skip(':');
    const int second = Number(2, 0, 59);
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    ok_ = ok_ && date.ok();
    if (!ok_) return {};
    return Wall(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                std::chrono::minutes(minute) + std::chrono::seconds(second));
  }

  std::optional<Wall> End(Wall time) const {
    constexpr auto kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
    constexpr auto kBehind = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
    if (!ok_ || !text_.empty() || time < kFirst || time >= kBehind) return std::nullopt;
    return time;
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::optional<Wall> ParseRfc3339(std::string_view text) {
  TimeReader reader(text);
  Wall time = reader.DateAndTime('T');
  reader.SkipFraction();
  if (reader.Take('Z')) return reader.End(time);
  const bool west = reader.Take('-');
  if (!west) reader.Skip('+');
  const std::chrono::hours hours(reader.Number(2, 0, 23));
  reader.Skip(':');
  const std::chrono::minutes offset = hours + std::chrono::minutes(reader.Number(2, 0, 59));
  time += west ? offset : -offset;
  return reader.End(time);
}

std::string FormatRfc3339(Wall time) {
  return FormatTime(time).substr(0, 19) + "Z";
}

std::optional<Wall> ParseDateTime(std::string_view text) {
  TimeReader reader(text);
  const Wall time = reader.DateAndTime(' ');
  return reader.End(time);
}

std::string FormatDateTime(Wall time) {
  std::string text = FormatTime(time).substr(0, 19);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

std::string FormatNow(Wall time, Duration running) {
  const auto parts = [](Duration since) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    return std::pair(seconds.count(), (since - seconds).count());
  };
  std::string fraction = fmt::format(".{:03}", parts(time.time_since_epoch()).second);
  fraction.resize(fraction.find_last_not_of(".0") + 1);
  const auto [seconds, milliseconds] = parts(running);
  return fmt::format("{}{} +0000 UTC m=+{}.{:03}000000", FormatDateTime(time), fraction, seconds,
                     milliseconds);
}

}  // namespace tessera::hami
