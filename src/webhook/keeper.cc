// SPDX-License-Identifier: Apache-2.0
#include "webhook/keeper.h"

#include <utility>

#include "base/log.h"
#include "kube/objects/webhook.h"
#include "kube/paths.h"
#include "webhook/certificate.h"

namespace tessera::webhook {
namespace {

constexpr char kTypeOfSecret[] = "kubernetes.io/tls";

Status StatusOf(const Result<json::Value>& answer) {
  return answer ? Status() : Fail(answer.error());
}

}  // namespace

Keeper::Keeper(os::Loop& loop, const Clock& clock, kube::Client& client, KeptCertificates kept,
               Serve serve, Backoff retries, Duration look)
    : clock_(clock),
      client_(client),
      kept_(std::move(kept)),
      serve_(std::move(serve)),
      look_(look),
      retries_(retries),
      again_(loop, [this] { Look(); }) {}

void Keeper::Look() {
  if (std::exchange(busy_, true)) return;
  client_.Get(kube::SecretPath(kept_.secret_namespace, kept_.secret), kube::SecretForm(),
              [this](const Result<json::Value>& object) { TakeSecret(object); });
}

void Keeper::TakeSecret(const Result<json::Value>& object) {
  kube::Secret secret{
      .secret_namespace = kept_.secret_namespace, .name = kept_.secret, .type = kTypeOfSecret};
  if (object) {
    auto read = kube::ReadSecret(*object);
    if (!read) return Ended(Fail(read.error()));
    secret = *std::move(read);
  } else if (object.error().reason != Reason::kNotFound) {
    return Ended(Fail(object.error()));
  }
  auto renewed = Renew(secret.data, kept_.names, clock_.WallNow());
  if (!renewed) return Ended(Fail(renewed.error()));
  if (!*renewed) return Trust(secret.data, 0);
  log::Info("creates the webhook's certificate", {{"why", (*renewed)->why}});
  for (auto& [key, text] : (*renewed)->data) secret.data[key] = text;
  Write(secret);
}

// Replicas race here after they read the same Secret, or none. The create or the resourceVersion
// lets one win; the others get a conflict and read again.
void Keeper::Write(const kube::Secret& secret) {
  const auto written = [this, data = secret.data](const Status& status) {
    if (!status) return Ended(status);
    Trust(data, 0);
  };
  const json::Value object = kube::SecretJson(secret);
  if (secret.metadata.empty()) {
    return client_.Create(kube::SecretsPath(kept_.secret_namespace), object, written,
                          kube::IfThere::kConflict);
  }
  client_.Replace(kube::SecretPath(kept_.secret_namespace, kept_.secret), object,
                  kube::SecretForm(),
                  [written](const Result<json::Value>& answer) { written(StatusOf(answer)); });
}

// The order is: write the Secret, add the CA to every configuration, then serve. A certificate
// served earlier would fail every review, because API servers would not trust it.
void Keeper::Trust(const kube::Texts& data, size_t place) {
  if (place == kept_.configurations.size()) return Use(data);
  const std::string& path = kept_.configurations[place];
  client_.Get(path, kube::WebhookForm(), [this, path, data, place](const Result<json::Value>& is) {
    if (!is) return Ended(Fail(is.error()));
    const auto patch = kube::CaBundlePatch(*is, data.find(kAuthorities)->second);
    if (!patch) return Ended(Fail(patch.error().In(path)));
    if (!*patch) return Trust(data, place + 1);
    client_.Patch(kube::PatchType::kStrategic, path, **patch, kube::WebhookForm(),
                  [this, data, place](const Result<json::Value>& written) {
                    if (!written) return Ended(Fail(written.error()));
                    Trust(data, place + 1);
                  });
  });
}

void Keeper::Use(const kube::Texts& data) {
  const http::Identity identity = IdentityIn(data);
  if (std::exchange(served_, identity.certificate) != identity.certificate) serve_(identity);
  Ended({});
}

void Keeper::Ended(const Status& status) {
  busy_ = false;
  if (status) {
    if (!refusal_.empty()) log::Info("the webhook's certificate is maintained again");
    refusal_.clear();
    retries_.Succeeded();
    return again_.RingWithin(look_);
  }
  // Another replica wrote first. That is no failure, so it is logged only if it repeats.
  const bool raced = status.error().reason == Reason::kApiConflict && !retries_.pause().count();
  if (!raced && status.error().message != refusal_) {
    refusal_ = status.error().message;
    log::Warn("cannot maintain the webhook's certificate", status.error());
  }
  again_.RingWithin(client_.NextPause(retries_));
}

}  // namespace tessera::webhook
