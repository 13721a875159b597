// SPDX-License-Identifier: Apache-2.0
// The API server's client. Objects are JSON. Paths are those of the Kubernetes API,
// percent-encoded: "/api/v1/nodes/worker-1". Every call gets exactly one answer, at its deadline at
// the latest. Transient failures are retried until then, with jittered pauses or when the server
// says. The limits queue all attempts.
//
// Errors: kApiUnreachable, kApiBusy, kApiForbidden, kApiConflict, kApiExpired, kApiRejected,
// kNotFound. The message has the verb, the path and the server's text.
//
// One thread: the loop's, which is not kubelet's. An answer never comes before the call has
// returned. No answer comes after the client's destruction, which an answer may cause.
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
  double per_second = 50;     // attempts, on average; as kubelet's own limit, for bursts of pods
  double burst = 100;         // attempts at once
  Duration deadline{30'000};  // of a call or a list page, with all attempts
  Duration attempt{10'000};   // of one attempt
  Duration watch{300'000};    // of a watch stream, which is renewed then or a little earlier
  int page = 100;             // largest page of a list, in objects
};

enum class PatchType : uint8_t {
  kMerge,      // application/merge-patch+json
  kStrategic,  // application/strategic-merge-patch+json: merges lists by key
};

// The result of creating an object that already exists.
enum class IfThere : uint8_t { kFine, kConflict };

// The parts of a node that are kept.
Form NodeForm();

// Receives each attempt's verb, such as "patch" or "watch", and its status, or 0 without an answer.
// For metrics.
using AttemptObserver = std::function<void(std::string_view verb, int status)>;

class Client {
 public:
  struct Impl;  // client_impl.h
  using Answer = std::function<void(Result<json::Value>)>;
  using Outcome = std::function<void(const Status&)>;

  Client(os::Loop& loop, Access access, Limits limits = {}, AttemptObserver observer = {});
  ~Client();

  void Get(const std::string& path, const Form& form, Answer answer);
  // With kFine, an existing object of the same name counts as success. Use it if the name
  // identifies the content. With kConflict, kApiConflict tells the caller to read the object:
  // another client made it, or an earlier attempt of this call whose answer was lost.
  void Create(const std::string& path, const json::Value& object, Outcome outcome,
              IfThere there = IfThere::kFine);
  // Replaces the object if it still has `object`'s metadata.resourceVersion. The answer is the new
  // object. kApiConflict if it changed, possibly by an earlier attempt of this call. kInvalid if
  // `object` has no version.
  void Replace(const std::string& path, const json::Value& object, const Form& form, Answer answer);
  // Binds a pod to a node in one attempt. A second one follows only after a 429, since the server
  // then did not process the first. The outcome means:
  //   success          The pod is bound and has the annotations.
  //   kApiUnreachable  Unknown: the pod may be bound now, later, or never. The caller keeps the
  //                    pod's hold and reads the pod. Binding it again to the same node is safe,
  //                    since the API server binds a UID once.
  //   kApiConflict     The pod is already bound, perhaps by an earlier call, or is being deleted,
  //                    gated, or replaced by another of its name. The caller reads the pod.
  //   kNotFound        The pod is gone.
  //   any other        This call has not bound the pod.
  void Bind(const Binding& binding, Outcome outcome);
  // If the patch has metadata.resourceVersion: kApiConflict if the object has changed. The answer
  // is the new object.
  void Patch(PatchType type, const std::string& path, const json::Value& patch, const Form& form,
             Answer answer);
  void Delete(const std::string& path, Outcome outcome);

  // The pause before a caller repeats a failed call. Jittered, so that agents that failed together
  // do not retry together. Never shorter than the server asked for (Retry-After, or
  // retryAfterSeconds of a watch error).
  Duration NextPause(Backoff& pauses);

 private:
  friend class Watch;
  std::unique_ptr<Impl> impl_;
};

// Follows the objects of one list: lists them in pages, then watches with bookmarks. An ended
// stream is resumed. After a 410 the list is read again. A page that fails or is large makes the
// next pages smaller. While the API server is unreachable the listener hears nothing, and one log
// line says so. Failed lists are retried after growing pauses. Without the right to watch, it lists
// at such pauses.
// Same thread as the client, which outlives it. The listener may destroy it.
class Watch {
 public:
  struct Listener {
    std::function<void(const json::Value& object)> changed;  // added or modified
    std::function<void(const json::Value& object)> deleted;  // may be empty
    // A list starts from its beginning. Items of an unfinished list before it are void. May be
    // empty.
    std::function<void()> begun;
    // An object of the list. It may come twice, if a page was read again.
    std::function<void(const json::Value& object)> item;
    // The list is complete. Objects that it did not have are gone.
    std::function<void()> listed;
    // The list failed and will be retried. May be empty.
    std::function<void(const Error&)> failed = {};
  };
  // `query` is empty or, for example, "fieldSelector=spec.nodeName%3Dworker-1".
  Watch(os::Loop& loop, Client& client, std::string path, std::string query, Form form,
        Listener listener);
  ~Watch();

  // Reads the list again, now or after the pause that follows a failure; then calls `listed` or
  // `failed`. An open stream pauses for the list, at most `page_within` for each page, and resumes
  // if the list fails. False if a list is already being read, since that one began before this
  // call.
  bool Refresh(Duration page_within);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kube
