// SPDX-License-Identifier: Apache-2.0
// Keeps the objects of a list as the API server last reported them, by "NAMESPACE/NAME", trimmed to
// the parts that the reader keeps. It lists them in pages, then watches. A new list replaces the
// contents once it is complete, and the handlers get the differences. Brief objects go to the
// handlers while the list is read, so a large cluster's are never all in memory. While the API
// server is unreachable, the contents stay as last seen.
//
// An object that cannot be read or has no room affects no other. It keeps its last state, or stays
// out, is counted, and is logged once. An object with a new UID is a new object. NodePods is
// separate: it keys pods by kubelet's UIDs, which mirror pods claim, and trims them further when
// space is short.
//
// One thread: the loop's. The client outlives it. No handler may destroy it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/left_out.h"
#include "kube/objects/metadata.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

// T needs == and CostOf(T), its approximate size in memory.
template <class T>
class Informer {
 public:
  using Ptr = std::shared_ptr<const T>;

  struct Source {
    std::string path;     // of the list: "/api/v1/nodes"
    std::string query{};  // as for a Watch
    Form form;            // keeps the metadata's name, namespace and uid
    std::function<Result<T>(const json::Value& object)> read;
    // Selects objects that no one reads after their handler call. Only their keys and UIDs are
    // kept, and each update counts as a change. Empty: none.
    std::function<bool(const T& object)> brief{};
    // Bytes for all objects. While a list is read, changed objects exist twice.
    size_t most = size_t{256} << 20;
    Duration resync{0};  // interval between lists; 0: never
  };
  // The contents are already new when a handler runs. Each handler may be empty. `before` and the
  // removed object are null for brief objects.
  struct Handlers {
    std::function<void(const Ptr& object)> added{};
    std::function<void(const Ptr& before, const Ptr& now)> changed{};
    std::function<void(const Ptr& object, const std::string& uid)> removed{};
    std::function<void()> listed{};              // after all handler calls for a complete list
    std::function<void(const Error&)> failed{};  // the list failed and will be retried
  };

  Informer(os::Loop& loop, Client& client, Source source, Handlers handlers)
      : source_(std::move(source)),
        handlers_(std::move(handlers)),
        left_out_("an object's change is ignored"),
        resync_(loop, [this] { (void)Refresh(kListLimit); }),
        watch_(loop, client, source_.path, source_.query, source_.form,
               {.changed = [this](const json::Value& object) { Changed(object); },
                .deleted = [this](const json::Value& object) { Deleted(object); },
                .begun = [this] { Begin(); },
                .item = [this](const json::Value& object) { Take(object); },
                .listed = [this] { Listed(); },
                .failed = [this](const Error& error) { Failed(error); }}) {}

  // Whether a list has been read.
  bool Synced() const { return synced_; }
  size_t size() const { return present_.entries.size(); }
  size_t bytes() const { return present_.bytes; }
  // Objects with an outdated or missing state; LeftOut::kMost at most.
  size_t left_out() const { return left_out_.size(); }
  // The key is "NAMESPACE/NAME", or "NAME" without a namespace. Null if there is no such object, or
  // it is brief.
  Ptr Find(std::string_view key) const {
    const auto found = present_.entries.find(key);
    return found == present_.entries.end() ? nullptr : found->second.object;
  }
  // Visits objects in key order. The callback must not run the loop.
  void ForEach(const std::function<void(const std::string& key, const Ptr& object)>& told) const {
    for (const auto& [key, entry] : present_.entries) told(key, entry.object);
  }

  // Reads a list that begins after this call; then `listed` or `failed` is called (Watch::Refresh).
  bool Refresh(Duration page_within) { return watch_.Refresh(page_within); }

 private:
  // The time for a page of a list with no waiter.
  static constexpr Duration kListLimit{30'000};
  static constexpr size_t kEntryCost = 200;  // approximate cost of a map entry

  struct Entry {
    Ptr object;
    std::string uid;
    size_t cost;
  };
  struct Contents {
    std::map<std::string, Entry, std::less<>> entries{};
    size_t bytes = 0;

    // False if there is no room.
    bool Put(const std::string& key, Entry entry, size_t most) {
      const auto found = entries.find(key);
      const size_t before = found == entries.end() ? 0 : found->second.cost;
      if (bytes - before + entry.cost > most) return false;
      bytes += entry.cost - before;
      entries.insert_or_assign(key, std::move(entry));
      return true;
    }
    void Erase(const std::string& key) {
      const auto found = entries.find(key);
      if (found == entries.end()) return;
      bytes -= found->second.cost;
      entries.erase(found);
    }
    // The entry with this key and UID, or null.
    const Entry* Same(const std::string& key, const std::string& uid) const {
      const auto found = entries.find(key);
      return found != entries.end() && found->second.uid == uid ? &found->second : nullptr;
    }
  };

  void Begin() {
    listing_ = {};
    owed_ = present_.bytes;
    left_out_.BeginList();
  }

  // An unchanged object is shared between both lists. Room of present objects stays reserved until
  // the list has reached them. So new objects, which any user can create, never displace present
  // ones.
  void Take(const json::Value& object) {
    const std::string key = ObjectKeyIn(object);
    const Entry* former = present_.Same(key, UidIn(object));
    const bool first = former != nullptr && !listing_.entries.contains(key);
    if (first) owed_ -= std::min(owed_, former->cost);
    const size_t most = source_.most - std::min(source_.most, owed_);
    const std::optional<Entry> read = Read(object, key, former);
    if (read && Keep(key, *read, listing_, most)) {
      if (IsBrief(*read->object)) TakeAtOnce(key, *read);
    } else if (former != nullptr) {
      (void)listing_.Put(key, *former, source_.most);
    }
  }

  // Its room is counted in the new list, which replaces the present one, so no limit applies here.
  void TakeAtOnce(const std::string& key, const Entry& entry) {
    RemoveOther(key, entry.uid);
    Change(key, entry, std::numeric_limits<size_t>::max());
  }

  void Listed() {
    left_out_.EndList();
    const Contents before = std::exchange(present_, std::exchange(listing_, {}));
    synced_ = true;
    for (const auto& [key, entry] : before.entries) {
      if (present_.Same(key, entry.uid) == nullptr) TellRemoved(entry);
    }
    for (const auto& [key, entry] : present_.entries) {
      if (entry.object) TellOf(before.Same(key, entry.uid), entry.object);
    }
    if (handlers_.listed) handlers_.listed();
    ResyncLater();
  }

  void Failed(const Error& error) {
    listing_ = {};
    if (handlers_.failed) handlers_.failed(error);
    ResyncLater();
  }

  void ResyncLater() {
    if (source_.resync > Duration(0)) resync_.RingWithin(source_.resync);
  }

  void Changed(const json::Value& object) {
    const std::string key = ObjectKeyIn(object);
    const std::string uid = UidIn(object);
    RemoveOther(key, uid);
    const std::optional<Entry> read = Read(object, key, present_.Same(key, uid));
    if (read) Change(key, *read, source_.most);
  }

  void Change(const std::string& key, const Entry& now, size_t most) {
    const Entry* same = present_.Same(key, now.uid);
    const std::optional<Entry> former = same == nullptr ? std::nullopt : std::optional(*same);
    if (!Keep(key, now, present_, most)) return;
    TellOf(former ? &*former : nullptr, now.object);
  }

  // Removes a former object of the same name.
  void RemoveOther(const std::string& key, const std::string& uid) {
    const auto found = present_.entries.find(key);
    if (found != present_.entries.end() && found->second.uid != uid) Remove(key);
  }

  void Deleted(const json::Value& object) {
    const std::string key = ObjectKeyIn(object);
    left_out_.Remove(key);
    if (present_.Same(key, UidIn(object)) != nullptr) Remove(key);
  }

  void Remove(const std::string& key) {
    const Entry entry = present_.entries.find(key)->second;
    present_.Erase(key);
    TellRemoved(entry);
  }

  // Nothing if the object cannot be read.
  std::optional<Entry> Read(const json::Value& object, const std::string& key,
                            const Entry* former) {
    Result<T> read = source_.read(object);
    if (read && key.empty()) read = Fail(Reason::kInvalid, "an object has no name");
    if (!read) {
      left_out_.Add(key, read.error().In(source_.path));
      return std::nullopt;
    }
    const bool same = former != nullptr && former->object && *former->object == *read;
    const Ptr kept = same ? former->object : std::make_shared<const T>(*std::move(read));
    return Entry{kept, UidIn(object), BriefCost(key) + CostOf(*kept)};
  }

  // False if there is no room.
  bool Keep(const std::string& key, Entry entry, Contents& contents, size_t most) {
    if (IsBrief(*entry.object)) entry = {nullptr, std::move(entry.uid), BriefCost(key)};
    if (!contents.Put(key, std::move(entry), most)) {
      left_out_.Add(key, {Reason::kInvalid,
                          fmt::format("{}: no room for {}: all objects together may have {} bytes",
                                      source_.path, key, source_.most)});
      return false;
    }
    left_out_.Remove(key);
    return true;
  }

  bool IsBrief(const T& object) const { return source_.brief && source_.brief(object); }
  static size_t BriefCost(const std::string& key) { return kEntryCost + key.size(); }

  void TellRemoved(const Entry& entry) {
    if (handlers_.removed) handlers_.removed(entry.object, entry.uid);
  }
  void TellOf(const Entry* former, const Ptr& now) {
    if (former == nullptr) {
      if (handlers_.added) handlers_.added(now);
    } else if (former->object != now) {
      if (handlers_.changed) handlers_.changed(former->object, now);
    }
  }

  const Source source_;
  const Handlers handlers_;
  Contents present_;
  Contents listing_;
  size_t owed_ = 0;  // bytes of present objects that the list has not reached
  bool synced_ = false;
  LeftOut left_out_;
  os::Alarm resync_;
  Watch watch_;
};

}  // namespace tessera::kube
