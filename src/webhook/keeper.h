// SPDX-License-Identifier: Apache-2.0
// Keeps the webhook's certificates in a Secret that all replicas share, and its CA in the webhook
// configurations. It creates and renews them, and checks them at intervals, because another replica
// or a person may change them. Replicas race to write. The first write wins by its resource
// version; the others use it. A certificate is served only after the configurations have its CA, so
// API servers trust it.
// One thread: the loop's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/listen.h"
#include "kube/client.h"
#include "kube/objects/secret.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::webhook {

struct KeptCertificates {
  std::string secret_namespace{};
  std::string secret{};
  std::vector<std::string> names{};           // DNS names of the Service
  std::vector<std::string> configurations{};  // paths (kube/paths.h)
};

class Keeper {
 public:
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};
  static constexpr Duration kLook{300'000};
  // Receives each new identity to serve.
  using Serve = std::function<void(const http::Identity& identity)>;

  // The clock and the client outlive the keeper. The loop must not run between the ends of keeper
  // and client.
  Keeper(os::Loop& loop, const Clock& clock, kube::Client& client, KeptCertificates kept,
         Serve serve, Backoff retries = kRetries, Duration look = kLook);

  // Starts the keeper, or checks everything again.
  void Look();

 private:
  void TakeSecret(const Result<json::Value>& object);
  void Write(const kube::Secret& secret);
  // The Secret is valid. Writes its CA to each configuration from index `place` on.
  void Trust(const kube::Texts& data, size_t place);
  void Use(const kube::Texts& data);
  void Ended(const Status& status);

  const Clock& clock_;
  kube::Client& client_;
  const KeptCertificates kept_;
  const Serve serve_;
  const Duration look_;
  bool busy_ = false;
  std::string served_;   // the certificate that is served
  std::string refusal_;  // last logged error
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::webhook
