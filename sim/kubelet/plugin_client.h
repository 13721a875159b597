// SPDX-License-Identifier: Apache-2.0
// kubelet's end of one connection to a device plugin. It connects once. Any thread; calls block,
// and Close ends them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "sim/kubelet/dial.h"
#include "sim/kubelet/endpoint.h"

namespace tessera::kubelet::embedded {

class PluginClient : public Endpoint {
 public:
  // Called on gRPC's threads; they must not wait.
  struct Listener {
    std::function<void(std::vector<ListedDevice>)> list;
    std::function<void(std::string why)> ended;  // called once, as the last call
  };

  PluginClient(std::string resource, std::string path);
  ~PluginClient() override;

  Status Connect(const DialLimit& limit, const Cancellation& stopping);
  Result<PluginOptions> Options(const DialLimit& limit);
  // Asks for the list of devices and follows it. The listener is kept until its `ended`.
  void Watch(Listener listener);
  // While on, no list is delivered, and only one more is read. Other calls go on.
  void HangInStream(bool on);
  // Ends the connection and all its calls. `abruptly`: as the kernel does for a killed process,
  // without a message to the plugin.
  void Close(bool abruptly = false);

  const std::string& resource() const { return resource_; }
  const std::string& path() const { return path_; }

  Result<std::vector<std::string>> Prefer(std::span<const std::string> available,
                                          std::span<const std::string> must_include,
                                          int size) override;
  Result<std::vector<std::string>> Allocate(std::span<const std::string> ids) override;
  Status PreStart(std::span<const std::string> ids) override;

 private:
  struct Line;
  class ListReader;
  std::shared_ptr<Line> line() const;

  const std::string resource_;
  const std::string path_;
  mutable Mutex mutex_;
  std::shared_ptr<Line> line_ TESSERA_GUARDED_BY(mutex_);  // nullptr before Connect and after Close
};

}  // namespace tessera::kubelet::embedded
