// SPDX-License-Identifier: Apache-2.0
// The API server's client. Objects are JSON; paths are those of Kubernetes' API, percent-encoded,
// e.g. "/api/v1/nodes/worker-1". Every call ends in exactly one answer, at its deadline at the
// latest; what failed for a reason that passes is tried again until then, with jittered pauses, or
// when the server says. Calls wait in line for their turn by the limits.
//
// Errors: kApiUnreachable, kApiBusy, kApiForbidden, kApiConflict, kApiExpired, kApiRejected,
// kNotFound; the message has the verb, the path and the server's own words.
//
// One thread: its loop's, which is not the one that serves kubelet. Answers come after the function
// that asked has returned. Once it is destroyed, which an answer may do, nobody is called any more.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "kube/access.h"
#include "kube/objects/binding.h"
#include "kube/objects/form.h"
#include "kube/paths.h"
#include "os/loop.h"

namespace tessera::kube {

struct Limits {
  double per_second = 50;  // attempts, on average: what kubelet itself takes, for a burst of pods
  double burst = 100;      // at once
  Duration deadline{30'000};  // of a call, or a list's page, with all its attempts
  Duration attempt{10'000};   // of one of them
  Duration watch{300'000};    // of a watch, which is taken up again then, or a little earlier
  int page = 100;             // objects of a list that are asked for at once, at most
};

enum class PatchType : uint8_t {
  kMerge,      // application/merge-patch+json
  kStrategic,  // application/strategic-merge-patch+json: lists with a key are merged by it
};

// What becomes of an object that is to be made, and is there already.
enum class IfThere : uint8_t { kFine, kConflict };

// What is kept of a node.
Form NodeForm();

// How an attempt ended, for the metrics: the verb, such as "patch" or "watch", and the status, or 0
// where there was no answer.
using AttemptObserver = std::function<void(std::string_view verb, int status)>;

class Client {
 public:
  struct Impl;  // client_impl.h
  using Answer = std::function<void(Result<json::Value>)>;
  using Outcome = std::function<void(const Status&)>;

  Client(os::Loop& loop, Access access, Limits limits = {}, AttemptObserver observer = {});
  ~Client();

  void Get(const std::string& path, const Form& form, Answer answer);
  // An object of this name that is there already is as good as a new one where callers give each
  // object a name that says which it is. Where it is not (kConflict), kApiConflict says that it is
  // to be read: another made it, or an attempt of this call whose answer was lost.
  void Create(const std::string& path, const json::Value& object, Outcome outcome,
              IfThere there = IfThere::kFine);
  // The object takes the place of the one that its metadata.resourceVersion names. kApiConflict
  // where that is another by now, which an attempt of this call may have written; kInvalid where it
  // names none. The answer is the object as it is then.
  void Replace(const std::string& path, const json::Value& object, const Form& form, Answer answer);
  // Binds a pod to a node, in one attempt: another follows only where the server refused without a
  // look (429). What is known then:
  //   a good outcome   it is bound, and has the annotations
  //   kApiUnreachable  nothing: it is bound, will be in a moment, or will not. The caller keeps
  //                    what he holds for it and reads the pod. Binding it to the same node once
  //                    more is safe, since a pod is bound once, by its UID
  //   kApiConflict     it is bound already, perhaps by such a call, or is being deleted, gated, or
  //                    another of its name: the pod is to be read
  //   kNotFound        it is gone
  //   all others       this call has not bound it
  void Bind(const Binding& binding, Outcome outcome);
  // With metadata.resourceVersion in the patch, kApiConflict where the object is another by now.
  // The answer is the object as it is then.
  void Patch(PatchType type, const std::string& path, const json::Value& patch, const Form& form,
             Answer answer);
  void Delete(const std::string& path, Outcome outcome);

  // For who makes a call again that came to nothing: how long he waits before it. Jittered, so that
  // agents that failed together do not come back together, and never shorter than the server asked
  // for (Retry-After, or retryAfterSeconds of a watch's error).
  Duration NextPause(Backoff& pauses);

 private:
  friend class Watch;
  std::unique_ptr<Impl> impl_;
};

// Objects of one list, followed for as long as it lives: listed in pages, then watched from there
// with bookmarks; taken up again where the stream ended, listed anew where the server no longer
// remembers (410). A page that fails, or is large, has the next ones smaller. While the API server
// cannot be reached, nothing is told, and the log says so once; lists that fail are read again
// after pauses that grow, whoever asks for them. Whom the server forbids to watch has lists alone,
// at such pauses. Same thread as the client, which outlives it. A listener may destroy it.
class Watch {
 public:
  struct Listener {
    std::function<void(const json::Value& object)> changed;  // added or modified
    std::function<void(const json::Value& object)> deleted;  // may be empty
    // The list is read anew, from its beginning: what was told of a list before is void. May be
    // empty.
    std::function<void()> begun;
    // One of the list's objects; the same one may come twice, of a page that was read again.
    std::function<void(const json::Value& object)> item;
    // It was read whole: what did not come is gone.
    std::function<void()> listed;
    // May be empty. The list could not be read; that is tried again.
    std::function<void(const Error&)> failed = {};
  };
  // `query`: empty, or such as "fieldSelector=spec.nodeName%3Dworker-1".
  Watch(os::Loop& loop, Client& client, std::string path, std::string query, Form form,
        Listener listener);
  ~Watch();

  // For who misses an object: the list is read anew, now or after the pause since one that failed;
  // then `listed` or `failed` is called. A stream that is there waits for that, as long as said at
  // most for each page, and goes on where the list cannot be read. False where the list is being
  // read already, from a moment before.
  bool Refresh(Duration page_within);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kube
