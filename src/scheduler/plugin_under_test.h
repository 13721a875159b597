// SPDX-License-Identifier: Apache-2.0
// A fake of a vendor's device plugin in HAMi's protocol. It registers devices, finds its pod, and
// grants each container the scheduler's choice. Its keys and words are those of the real plugins,
// not of the table under test. Header-only, for tests.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hami/names.h"
#include "hami/node_lock.h"
#include "hami/vendor_table.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {

struct FakePlugin {
  std::string resource;      // resource that it offers
  std::string register_key;  // annotation of its node
  std::string registered;
  std::string to_allocate_key;    // annotation of a pod
  std::string word;               // in it
  kube::Texts more{};             // further annotations of its node
  std::string offered = "40";     // of the resource
  std::string mutex{};            // hami.io/mutex.lock of its node
  std::string node = "worker-1";  // where it runs

  kube::ClusterNode Node() const {
    kube::ClusterNode object{.name = node, .uid = "node-uid", .annotations = more};
    object.annotations[register_key] = registered;
    object.allocatable[resource] = offered;
    return object;
  }

  // Allocates for the next container. Returns its devices, "UUID MEMORY CORES" joined by ", ", or
  // an error.
  std::string Allocate(kube::Pod& pod) {
    if (!mutex.ends_with(fmt::format(",{},{}", pod.pod_namespace, pod.name))) {
      return "the lock is of another pod";
    }
    if (pod.Annotation("hami.io/vgpu-node") != node) return "the pod is another node's";
    if (pod.Annotation("hami.io/bind-phase") != "allocating") return "the pod is not expected";
    std::vector<std::string> entries = Split(pod.annotations[to_allocate_key], ';');
    std::string given;
    for (std::string& entry : entries) {
      if (entry.empty()) continue;
      given = DevicesIn(entry);
      entry.clear();
      break;
    }
    pod.annotations[to_allocate_key] = Join(entries, ";");
    if (pod.annotations[to_allocate_key].find(word) == std::string::npos) {
      pod.annotations["hami.io/bind-phase"] = "success";
      mutex.clear();
    }
    return given.empty() ? "no devices were chosen" : given;
  }

 private:
  std::string DevicesIn(const std::string& entry) const {
    std::vector<std::string> texts;
    for (const std::string& device : Split(entry, ':')) {
      if (device.empty()) continue;
      const std::vector<std::string> fields = Split(device, ',');
      if (fields.size() != 4 || fields[1] != word) return "they are of another vendor";
      texts.push_back(fmt::format("{} {} {}", fields[0], fields[2], fields[3]));
    }
    return Join(texts, ", ");
  }
};

// A cluster with NVIDIA's and other vendors, as in HAMi's chart, and one plugin's node.
class VendorClusterTest : public ::testing::Test {
 protected:
  static kube::Container Container(const std::string& name, kube::Texts limits) {
    return {.name = name, .limits = std::move(limits)};
  }
  static kube::Pod Pod(const std::string& name, std::vector<kube::Container> containers) {
    return {.uid = "uid-" + name,
            .pod_namespace = "team",
            .name = name,
            .containers = std::move(containers)};
  }
  static kube::Pod PodOf(const std::string& name, kube::Texts limits) {
    return Pod(name, {Container("main", std::move(limits))});
  }

  static std::vector<hami::VendorConfig> AllConfigs() {
    std::vector<hami::VendorConfig> all;
    for (const std::string_view family : hami::kFamilies) {
      for (hami::VendorConfig& config : hami::UsualConfigs(family)) {
        all.push_back(std::move(config));
      }
    }
    return all;
  }
  static std::vector<hami::ServedVendor> Served(const hami::VendorTable& table) {
    std::vector<hami::ServedVendor> all{hami::ServedVendor()};
    all.insert(all.end(), table.rows().begin(), table.rows().end());
    return all;
  }

  FilterAnswer Filter(const kube::Pod& pod) {
    cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
    return cluster_.Filter({.pod = pod, .nodes = {"worker-1"}}, clock_.Now());
  }
  // Why the pod does not fit the plugin's node. Empty if it does.
  std::string WhyNot(const kube::Pod& pod) {
    const FilterAnswer answer = Filter(pod);
    if (!answer.nodes.empty()) return "";
    return answer.failed.empty() ? answer.unresolvable.at("worker-1")
                                 : answer.failed.at("worker-1");
  }
  // Binds the pod to the plugin's node, with the lock if needed.
  void Bind(kube::Pod& pod, FakePlugin& plugin) {
    ASSERT_EQ(WhyNot(pod), "");
    auto binding = cluster_.PlaceOn({pod.pod_namespace, pod.name, pod.uid, plugin.node},
                                    clock_.Now(), clock_.WallNow());
    ASSERT_TRUE(binding) << binding.error().message;
    if (cluster_.NeedsLock(pod.uid, plugin.node)) {
      plugin.mutex =
          hami::WriteNodeLock({clock_.WallNow(), hami::LockOwner{pod.pod_namespace, pod.name}});
    }
    for (const auto& [key, value] : binding->annotations) pod.annotations[key] = value;
    pod.node = plugin.node;
    cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  }
  // Also allocates for all containers, after which the lock is gone.
  std::vector<std::string> Run(kube::Pod pod, FakePlugin& plugin) {
    Bind(pod, plugin);
    std::vector<std::string> given;
    for (size_t i = 0; i < pod.containers.size(); ++i) given.push_back(plugin.Allocate(pod));
    EXPECT_EQ(plugin.mutex, "");
    EXPECT_EQ(pod.Annotation("hami.io/bind-phase"), "success");
    return given;
  }

  FakeClock clock_;
  const hami::VendorTable table_{AllConfigs()};
  Cluster cluster_{Served(table_), {}};
};

using Given = std::vector<std::string>;

}  // namespace tessera::scheduler
