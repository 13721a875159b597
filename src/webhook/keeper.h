// SPDX-License-Identifier: Apache-2.0
// Keeps the webhook's certificates in a Secret, which all replicas share, and its CA in the webhook
// configurations: made where they are missing, made anew in time, and looked at now and then, for
// another replica or a person may have changed them. Whichever replica is first writes; the others
// take up what it wrote. A certificate is served once API servers trust its CA. One thread: its
// loop's.
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
  std::vector<std::string> names{};           // of the Service, as API servers call it
  std::vector<std::string> configurations{};  // paths (kube/paths.h)
};

class Keeper {
 public:
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};
  static constexpr Duration kLook{300'000};
  // What is to be served from now on.
  using Serve = std::function<void(const http::Identity& identity)>;

  // The clock and the client outlive it; the loop does not run between their ends.
  Keeper(os::Loop& loop, const Clock& clock, kube::Client& client, KeptCertificates kept,
         Serve serve, Backoff retries = kRetries, Duration look = kLook);

  // Begins, and reads all of it again where it has begun.
  void Look();

 private:
  void TakeSecret(const Result<json::Value>& object);
  void Write(const kube::Secret& secret);
  // The Secret is as it should be: each configuration from `place` on gets its CA.
  void Trust(const kube::Texts& data, size_t place);
  void Use(const kube::Texts& data);
  void Ended(const Status& status);

  const Clock& clock_;
  kube::Client& client_;
  const KeptCertificates kept_;
  const Serve serve_;
  const Duration look_;
  bool busy_ = false;
  std::string served_;   // the certificate
  std::string refusal_;  // why something cannot be read or written, as the log last said
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::webhook
