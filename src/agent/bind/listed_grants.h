// SPDX-License-Identifier: Apache-2.0
// Which container holds which late grant, where kubelet's checkpoint is of a shape that the agent
// does not know: by a list of kubelet's pod-resources API, which has neither UIDs nor names of
// grants nor plain init containers, by what Allocate has promised in this process, and by the
// records of the grants that were bound. A grant's name is never used again, and its container
// alone has it: a wrong guess here would write a document that nobody reads.
//
// Of one time; never changes. Any thread; it waits for disks when it is made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/bind/grant_pins.h"
#include "agent/bind/held_grants.h"
#include "agent/bind/pod_book.h"
#include "agent/bind/promised_grants.h"
#include "base/result.h"
#include "kubelet/pod_lists.h"

namespace tessera::agent {

class ListedGrants {
 public:
  // By NAMESPACE/NAME, those that the API server was asked for since the list.
  using Pods = std::map<std::string, PodPtr>;

  // `promised` and `book` outlive it. Fails where it is not known what records there are.
  static Result<std::shared_ptr<const ListedGrants>> Make(kubelet::PodListPtr list, Pods pods,
                                                          GrantPins& pins,
                                                          const PromisedGrants& promised,
                                                          const PodBook& book);

  // For what there is room beside: all that the list has, and the records of what it does not.
  const HeldGrantsPtr& held() const { return held_; }
  // The grant of the container that is about to be made with these ids. kGrantUnknown where that is
  // in doubt, may be an init container, or is without a CDI document, which `cdi` says of the
  // resource. kNotEnforced where the container has another resource's as well.
  Result<const HeldGrant*> Find(const std::string& resource, const std::vector<std::string>& ids,
                                bool cdi) const;

 private:
  using Record = std::pair<std::string, PinPtr>;  // by the grant's name; null: it cannot be read

  ListedGrants(kubelet::PodListPtr list, Pods pods, std::vector<Record> records,
               const PromisedGrants& promised, const PodBook& book);
  Result<size_t> OwnerOf(const std::string& resource, const std::vector<std::string>& ids) const;
  HeldGrant GrantOf(const Holding& holding) const;
  const Record* RecordOf(const Holding& holding, const std::string& name) const;
  bool MayBe(const Pin& pin, const Holding& holding) const;
  void AddRecord(const Record& record, std::vector<HeldGrant>& all) const;
  PodPtr Asked(const Holding& holding) const;
  PodPtr Seen(const Holding& holding) const;
  Status CheckAlone(size_t mine) const;

  const kubelet::PodListPtr list_;
  const Pods pods_;
  const PromisedGrants& promised_;
  const PodBook& book_;
  const std::vector<Record> records_;
  HeldGrantsPtr held_;  // the list's first, in its order
};

}  // namespace tessera::agent
