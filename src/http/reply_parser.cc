// SPDX-License-Identifier: Apache-2.0
#include "http/reply_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace tessera::http {
namespace {

namespace beast = boost::beast;
using Code = beast::error_code;

// Limit of an incomplete part: headers, or a chunk size.
constexpr size_t kMaxRest = ReplyParser::kMaxHeaders;

class Parser : public beast::http::basic_parser<false> {
 public:
  explicit Parser(std::string& body) : body_(body) {
    eager(true);
    header_limit(ReplyParser::kMaxHeaders);
    body_limit(boost::none);
  }

  int status = 0;
  std::map<std::string, std::string> headers;

 private:
  void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int,
                       Code&) override {}
  void on_response_impl(int code, beast::string_view, int, Code& error) override {
    // Beast accepts any three digits.
    if (code < 100) error = beast::http::error::bad_status;
    code_ = code;
  }
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     Code&) override {
    if (status != 0) return;  // a trailer
    std::string small(name);
    std::ranges::transform(small, small.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    headers.emplace(std::move(small), std::string(value));
  }
  void on_header_impl(Code&) override { status = code_; }
  void on_body_init_impl(const boost::optional<uint64_t>&, Code&) override {}
  size_t on_body_impl(beast::string_view part, Code&) override {
    body_.append(part.data(), part.size());
    return part.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view, Code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view part, Code&) override {
    body_.append(part.data(), part.size());
    return part.size();
  }
  void on_finish_impl(Code&) override {}

  std::string& body_;
  int code_ = 0;
};

tl::unexpected<Error> Garbled(const Parser& parser) {
  return Fail(Reason::kInvalid, "{}",
              parser.status == 0 ? "the answer is not HTTP" : "the answer is malformed");
}

}  // namespace

struct ReplyParser::Impl {
  Impl() { Begin(); }
  void Begin() { parser = std::make_unique<Parser>(body); }

  // Parses bytes and returns the number consumed.
  Result<size_t> Read(std::string_view bytes) {
    size_t used = 0;
    while (used < bytes.size() && !parser->is_done()) {
      Code error;
      const std::string_view rest = bytes.substr(used);
      const size_t read = parser->put({rest.data(), rest.size()}, error);
      used += read;
      if (error && error != beast::http::error::need_more) return Garbled(*parser);
      // An interim answer, such as 100 Continue, precedes the real one.
      const bool early = parser->is_done() && parser->status / 100 == 1;
      if (early) Begin();
      if (!early && (error || read == 0)) break;
    }
    return used;
  }

  std::string body;  // not delivered yet
  std::string waiting;
  std::unique_ptr<Parser> parser;
};

ReplyParser::ReplyParser() : impl_(std::make_unique<Impl>()) {}
ReplyParser::~ReplyParser() = default;

Status ReplyParser::Add(std::string_view bytes, std::string& body) {
  const bool waits = !impl_->waiting.empty();
  if (waits) impl_->waiting += bytes;
  const std::string_view all = waits ? std::string_view(impl_->waiting) : bytes;
  const auto used = impl_->Read(all);
  body += std::exchange(impl_->body, {});
  if (!used) return Fail(used.error());
  impl_->waiting = std::string(all.substr(*used));
  if (impl_->waiting.size() > kMaxRest) return Garbled(*impl_->parser);
  return {};
}

Status ReplyParser::End() {
  if (done()) return {};
  Code error;
  if (impl_->parser->got_some()) impl_->parser->put_eof(error);
  if (done()) return {};
  return Fail(Reason::kInvalid, "the connection closed {}",
              status() == 0 ? "before an answer came" : "in the middle of the answer");
}

int ReplyParser::status() const {
  return impl_->parser->status;
}

bool ReplyParser::done() const {
  return impl_->parser->is_done();
}

bool ReplyParser::keeps_connection() const {
  return done() && impl_->parser->keep_alive() && impl_->waiting.empty();
}

const std::map<std::string, std::string>& ReplyParser::headers() const {
  return impl_->parser->headers;
}

}  // namespace tessera::http
