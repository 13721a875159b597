// SPDX-License-Identifier: Apache-2.0
// The objects of a list as the API server has them, each trimmed to what its reader keeps, by
// "NAMESPACE/NAME": listed in pages, then watched. A list that is read anew takes the place of what
// there is once it is whole, and what changed is told. Brief objects alone are told while it is
// read, so that a large cluster's are never there all at once. While the API server cannot be
// reached, they stay as they were last seen.
//
// An object that cannot be read, or that there is no room for, costs itself only: it stays as it
// was last, or out, is counted, and the log says so once. An object of another UID is another one.
// NodePods is not made of this: its pods go by kubelet's UIDs, which mirror pods claim, and are
// trimmed further where there is no room.
//
// One thread: its loop's, as the client's, which outlives it. No handler may destroy it.
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

// T has ==, and CostOf(T), about the memory that it takes.
template <class T>
class Informer {
 public:
  using Ptr = std::shared_ptr<const T>;

  struct Source {
    std::string path;     // of the list: "/api/v1/nodes"
    std::string query{};  // as a Watch's
    Form form;            // keeps the metadata's name, namespace and uid
    std::function<Result<T>(const json::Value& object)> read;
    // Objects that nobody looks at again once they were told: their keys and UIDs alone are kept,
    // and whatever comes of one is told as a change. Empty: there are none.
    std::function<bool(const T& object)> brief{};
    // Bytes that all may take. While a list is read, what has changed takes them twice.
    size_t most = size_t{256} << 20;
    Duration resync{0};  // after so long the list is read anew; 0: never
  };
  // What is there is new already when they are called. Each may be empty. `before`, and what is
  // removed, is null where it was brief.
  struct Handlers {
    std::function<void(const Ptr& object)> added{};
    std::function<void(const Ptr& before, const Ptr& now)> changed{};
    std::function<void(const Ptr& object, const std::string& uid)> removed{};
    std::function<void()> listed{};              // the list was read whole, and all of it told
    std::function<void(const Error&)> failed{};  // it could not be read; that is tried again
  };

  Informer(os::Loop& loop, Client& client, Source source, Handlers handlers)
      : source_(std::move(source)),
        handlers_(std::move(handlers)),
        left_out_("an object is left as it was"),
        resync_(loop, [this] { (void)Refresh(kListLimit); }),
        watch_(loop, client, source_.path, source_.query, source_.form,
               {.changed = [this](const json::Value& object) { Changed(object); },
                .deleted = [this](const json::Value& object) { Deleted(object); },
                .begun = [this] { Begin(); },
                .item = [this](const json::Value& object) { Take(object); },
                .listed = [this] { Listed(); },
                .failed = [this](const Error& error) { Failed(error); }}) {}

  // Whether the list was read at all.
  bool Synced() const { return synced_; }
  size_t size() const { return present_.entries.size(); }
  size_t bytes() const { return present_.bytes; }
  // Whose present state is not there; LeftOut::kMost at most.
  size_t left_out() const { return left_out_.size(); }
  // "NAMESPACE/NAME", or "NAME" of what is in no namespace; null where there is none, or it is
  // brief.
  Ptr Find(std::string_view key) const {
    const auto found = present_.entries.find(key);
    return found == present_.entries.end() ? nullptr : found->second.object;
  }
  // In the order of their keys. What is called may not let the loop go on.
  void ForEach(const std::function<void(const std::string& key, const Ptr& object)>& told) const {
    for (const auto& [key, entry] : present_.entries) told(key, entry.object);
  }

  // For who needs a list that begins after now: `listed` or `failed` is called then (as
  // Watch::Refresh).
  bool Refresh(Duration page_within) { return watch_.Refresh(page_within); }

 private:
  // How long a page may take of a list that nobody waits for.
  static constexpr Duration kListLimit{30'000};
  static constexpr size_t kEntryCost = 200;  // of the map, about

  struct Entry {
    Ptr object;
    std::string uid;
    size_t cost;
  };
  struct Contents {
    std::map<std::string, Entry, std::less<>> entries{};
    size_t bytes = 0;

    // False where there is no room.
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
    // The entry of the same object, whatever its state; null where there is none.
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

  // One that is as it was is kept once. The room of those that were there is theirs until they have
  // come: newcomers, of which anybody may make many, put none of them out.
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

  // There is room for it: in the list, which takes the place of what is present.
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

  // The one that had the name before.
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

  // Nothing where it cannot be.
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

  // False where there is no room.
  bool Keep(const std::string& key, Entry entry, Contents& contents, size_t most) {
    if (IsBrief(*entry.object)) entry = {nullptr, std::move(entry.uid), BriefCost(key)};
    if (!contents.Put(key, std::move(entry), most)) {
      left_out_.Add(key, {Reason::kInvalid, fmt::format("{}: no room for {}: all have {} bytes at "
                                                        "most",
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
  size_t owed_ = 0;  // bytes of present ones that the list has not come to
  bool synced_ = false;
  LeftOut left_out_;
  os::Alarm resync_;
  Watch watch_;
};

}  // namespace tessera::kube
