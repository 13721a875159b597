// SPDX-License-Identifier: Apache-2.0
// The benchmarks' minimal kubelet, and the plugin process that it talks to. Blocking; one thread.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/process.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "proto/podresources/podresources.grpc.pb.h"

namespace tessera::bench {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::duration<double, std::milli>;

// The devices of both programs, and how one fails.
struct Served {
  std::string resource;
  std::string variable;            // the variable with the granted devices
  std::vector<std::string> ids{};  // the ids in kubelet
  std::vector<int> numa{};         // of each device; empty: unknown
  int shares = 1;                  // ids in a row that belong to one device
  // For the agent only: its resource but the name, further configuration, and the file that makes a
  // device fail when it has this text.
  std::string section;
  std::string settings;
  std::string fault_file{};
  std::function<std::string(int device)> fault{};

  int devices() const { return static_cast<int>(ids.size()) / shares; }
};
// Makes the devices, with all their files below a directory.
using MakeServed = std::function<Served(const std::string& directory)>;

MakeServed Npus(int count, std::string settings = "");

// Answers pod-resources: no container holds a device.
class PodResources : public v1::PodResourcesLister::Service {
 public:
  explicit PodResources(const Served& served) : served_(served) {}
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse*) override;
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override;

 private:
  const Served& served_;
};

// Serves Registration on DIR/device-plugins/kubelet.sock and stores the last endpoint. Serves
// pod-resources all the time.
class Kubelet : public v1beta1::Registration::Service {
 public:
  Kubelet(std::string directory, const Served& served);

  void Listen();
  void Hush();  // ends the server and removes its socket, as kubelet does
  // Waits for the next registration after `seen`; returns its endpoint.
  std::string AwaitEndpoint(int seen);
  int registrations();

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override;

  const std::string directory;

 private:
  std::unique_ptr<grpc::Server> Serve(const std::string& socket, grpc::Service& service);

  std::unique_ptr<grpc::Server> server_;
  PodResources pod_resources_;
  std::unique_ptr<grpc::Server> pod_resources_server_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  int registrations_ = 0;
  std::string endpoint_;
};

// A connection to a plugin, with its list open.
class Connection {
 public:
  Connection(const std::string& socket, const Served& served);
  ~Connection();
  // Waits for the next list and returns its bytes; null: the stream has ended. Not decoded: for
  // 8,000 devices that takes longer than a small program's start.
  std::optional<grpc::ByteBuffer> Read();
  void Allocate(int id);  // an index of Served::ids
  // The answer to a request for these ids.
  v1beta1::ContainerAllocateResponse Ask(const std::vector<std::string>& ids);
  // Called before a container with these ids is made. Any thread.
  void PreStart(const std::vector<std::string>& ids);
  // The `size` preferred ids among `available`.
  std::vector<std::string> Prefer(const std::vector<std::string>& available, int size);

 private:
  const Served& served_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader_;
};

// One of the two compared programs, in its own temporary directory. If TESSERA_BENCH_BEFORE names
// another build of the agent, that replaces the bare server.
class Subject {
 public:
  enum class Kind { kTessera, kBare };
  Subject(Kind kind, const MakeServed& make);
  ~Subject();

  // Starts the program; returns the time from before exec to its first list.
  Millis Start();
  // Makes a device fail; returns the time until a decoded list shows it.
  Millis Fail(int device);
  // Restarts kubelet.sock; returns the time from its start to the first list.
  Millis RestartKubelet();
  const Served& served() const { return served_; }
  Connection& connection() { return *connection_; }
  const std::string& directory() const { return directory_; }

  double rss_mb() const;
  double driver_mb() const;  // of rss_mb, the files of a simulated driver: its node is below ours
  int fds() const;
  double cpu_ms() const;      // used so far by all its threads
  double own_cpu_ms() const;  // without the threads of gRPC
  double wakeups() const;     // the number of waits of its threads that have ended

 private:
  void Open();
  // Returns when the first list with all devices arrived.
  Clock::time_point Connect();
  grpc::ByteBuffer Read();
  void Locate(const v1beta1::ListAndWatchResponse& list);
  // The sum over all present threads of a figure that only grows.
  double SumOf(const std::function<double(const std::string& task)>& figure) const;
  double CpuOf(const std::string& task) const;

  const std::string program_;  // the agent's; empty: the bare server
  const bool bare_;
  std::string directory_;
  Served served_;
  std::unique_ptr<Kubelet> kubelet_;
  std::string faults_;            // the bare server's
  std::vector<int> positions_{};  // of each device's first id in the program's list
  os::Process process_;
  std::unique_ptr<Connection> connection_;
  int seen_ = 0;  // registrations, up to that of connection_
};

}  // namespace tessera::bench
