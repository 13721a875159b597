// SPDX-License-Identifier: Apache-2.0
#include "kube/paths.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

TEST(PathsTest, AreThoseOfTheApi) {
  EXPECT_EQ(NodePath("n1"), "/api/v1/nodes/n1");
  EXPECT_EQ(PodPath("team-a", "trainer-0"), "/api/v1/namespaces/team-a/pods/trainer-0");
  EXPECT_EQ(SecretsPath("team-a"), "/api/v1/namespaces/team-a/secrets");
  EXPECT_EQ(SecretPath("team-a", "tls"), "/api/v1/namespaces/team-a/secrets/tls");
  EXPECT_EQ(LeasesPath("kube-system"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
  EXPECT_EQ(MutatingWebhookPath("x"),
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/x");
  EXPECT_EQ(ValidatingWebhookPath("x"),
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x");
}

TEST(PathsTest, ANameIsOnePartWhateverIsInIt) {
  EXPECT_EQ(NodePath("a/b"), "/api/v1/nodes/a%2Fb");
  EXPECT_EQ(PodPath("a/b", "c?d"), "/api/v1/namespaces/a%2Fb/pods/c%3Fd");
  EXPECT_EQ(SecretPath("a/b", "../c"), "/api/v1/namespaces/a%2Fb/secrets/..%2Fc");
}

}  // namespace
}  // namespace tessera::kube
