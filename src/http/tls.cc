// SPDX-License-Identifier: Apache-2.0
#include "http/tls.h"

#include <dlfcn.h>

#include <utility>

#include "base/text.h"
#include "http/tls_table.h"
#include "os/address.h"
#include "os/files.h"
#include "os/process.h"
#include "version.h"

namespace tessera::http {
namespace {

constexpr char kFile[] = "libtessera-tls.so";
constexpr char kAdvice[] = "install the program and this file from one build";

// Loads the library's table. The library stays loaded if it is of this build.
Result<const TlsTable*> Load(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
    return Fail(Reason::kInvalid, "TLS cannot be loaded: {}; {}",
                why == nullptr ? file : std::string(why), kAdvice);
  }
  auto* function = reinterpret_cast<TlsFunction*>(dlsym(handle, kTlsFunction));
  const TlsTable* table = function == nullptr ? nullptr : function();
  const std::string_view version = table == nullptr ? "" : table->version;
  const std::string_view commit = table == nullptr ? "" : table->commit;
  if (version == TESSERA_VERSION && commit == TESSERA_COMMIT) return table;
  Error error{
      Reason::kInvalid,
      fmt::format("{} is from {}, but this program from {} {}: {}, and restart it", file,
                  table == nullptr ? "something else" : fmt::format("{} {}", version, commit),
                  TESSERA_VERSION, TESSERA_COMMIT, kAdvice)};
  dlclose(handle);
  return Fail(std::move(error));
}

Result<const TlsTable*> LoadFirst(const std::vector<std::string>& places) {
  for (const std::string& file : places) {
    if (os::Exists(file)) return Load(file);
  }
  return Fail(Reason::kNotFound, "TLS needs {}, which is missing (looked for {}): {}", kFile,
              Join(places, ", "), kAdvice);
}

TlsText TextOf(const std::string& text) {
  return {text.data(), text.size()};
}

}  // namespace

struct Tls::Impl {
  explicit Impl(const TlsTable& table_) : table(table_) {}
  ~Impl() { table.free(context); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const TlsTable& table;
  ssl_ctx_st* context = nullptr;
};

std::vector<std::string> Tls::PlacesFor(std::string_view program) {
  const std::string_view directory = program.substr(0, program.rfind('/'));
  const std::string_view above = directory.substr(0, directory.rfind('/'));
  return {fmt::format("{}/{}", directory, kFile), fmt::format("{}/lib/tessera/{}", above, kFile)};
}

Result<const TlsTable*> Tls::Table() {
  return LoadFirst(PlacesFor(os::OwnPath()));
}

Result<Tls> Tls::Make(const Endpoint& endpoint) {
  return Make(endpoint, PlacesFor(os::OwnPath()));
}

Result<Tls> Tls::Make(const Endpoint& endpoint, const std::vector<std::string>& places) {
  const TlsTable* table = TRY(LoadFirst(places));
  const std::string& name = endpoint.server_name.empty() ? endpoint.host : endpoint.server_name;
  const TlsSettings settings{.ca = TextOf(endpoint.ca),
                             .certificate = TextOf(endpoint.certificate),
                             .key = TextOf(endpoint.key),
                             .name = endpoint.verify ? name.c_str() : nullptr,
                             .name_is_address = os::IsAddress(name)};
  return MakeOf(*table, settings);
}

Result<Tls> Tls::Make(const Identity& identity) {
  const TlsTable* table = TRY(Table());
  return MakeOf(
      *table,
      {.serves = true, .certificate = TextOf(identity.certificate), .key = TextOf(identity.key)});
}

Result<Tls> Tls::MakeOf(const TlsTable& table, const TlsSettings& settings) {
  auto impl = std::make_shared<Impl>(table);
  TlsWords words{};
  impl->context = table.make(settings, words);
  if (impl->context == nullptr) return Fail({Reason::kInvalid, words.text});
  return Tls(std::move(impl));
}

std::optional<TlsSession> Tls::Accept(int socket) const {
  ssl_st* session = impl_->table.accept(impl_->context, socket);
  if (session == nullptr) return std::nullopt;
  return TlsSession(impl_->table, session);
}

bufferevent* Tls::NewBuffers(event_base* base) const {
  return impl_->table.new_buffers(impl_->context, base);
}

std::string Tls::Trouble(bufferevent* buffers) const {
  TlsWords words{};
  impl_->table.trouble(buffers, words);
  return words.text;
}

TlsSession::TlsSession(TlsSession&& other) noexcept
    : table_(other.table_), session_(std::exchange(other.session_, nullptr)) {}

TlsSession::~TlsSession() {
  table_->end(session_);
}

int TlsSession::Receive(std::span<char> into) {
  return table_->receive(session_, into.data(), into.size());
}

int TlsSession::Peek() {
  return table_->look(session_);
}

int TlsSession::Send(std::string_view bytes) {
  return table_->send(session_, {bytes.data(), bytes.size()});
}

void TlsSession::EndSending() {
  table_->end_sending(session_);
}

bool TlsSession::holds_more() const {
  return table_->holds_more(session_);
}

bool TlsSession::is_open() const {
  return table_->is_open(session_);
}

}  // namespace tessera::http
