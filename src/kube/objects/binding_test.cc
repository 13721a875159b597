// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/binding.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

Binding AnyBinding() {
  return {.pod_namespace = "team", .pod = "trainer", .uid = "u1", .node = "n1"};
}

TEST(BindingTest, CarriesThePlacementWithTheNode) {
  Binding binding = AnyBinding();
  binding.annotations = {{"hami.io/vgpu-node", "n1"}, {"hami.io/vgpu-time", "1"}};
  binding.labels = {{"hami.io/vgpu-node", "n1"}};

  EXPECT_EQ(json::Write(BindingJson(binding).value()),
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"trainer",)"
            R"("namespace":"team","uid":"u1",)"
            R"("annotations":{"hami.io/vgpu-node":"n1","hami.io/vgpu-time":"1"},)"
            R"("labels":{"hami.io/vgpu-node":"n1"}},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

TEST(BindingTest, IsOfOnePodAndNoLaterOneOfItsName) {
  for (std::string Binding::* part :
       {&Binding::pod_namespace, &Binding::pod, &Binding::uid, &Binding::node}) {
    Binding binding = AnyBinding();
    (binding.*part).clear();

    EXPECT_FALSE(BindingJson(binding).has_value());
  }
  Binding binding = AnyBinding();
  binding.uid.clear();
  EXPECT_EQ(BindingJson(binding).error(),
            (Error{Reason::kInvalid, "the binding of pod team/trainer: a field is missing"}));
}

TEST(BindingTest, HasNoAnnotationsThatWouldNotBeReadBack) {
  Binding binding = AnyBinding();
  binding.annotations["a"] = std::string(kLongestAnnotation, 'x');
  EXPECT_TRUE(BindingJson(binding).has_value());

  binding.annotations["a"] += "x";
  EXPECT_EQ(BindingJson(binding).error(),
            (Error{Reason::kInvalid,
                   "the binding of pod team/trainer: the annotation a has 32769 bytes, at most "
                   "32768 are read"}));

  const std::string half(kLongestAnnotation, 'x');
  binding.annotations = {{"a", half}, {"b", half}};
  EXPECT_EQ(BindingJson(binding).error(),
            (Error{Reason::kInvalid,
                   "the binding of pod team/trainer: its annotations have 65538 bytes; at most "
                   "65536 are allowed"}));
}

}  // namespace
}  // namespace tessera::kube
