// SPDX-License-Identifier: Apache-2.0
// The benchmarks' own, smallest kubelet, and the plugin process it talks to. Blocking; one thread.
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

// What both programs serve, and how devices of it fail.
struct Served {
  std::string resource;
  std::string variable;            // names the granted devices to the container
  std::vector<std::string> ids{};  // what kubelet is told
  std::vector<int> numa{};         // of each device; empty: none is known
  int shares = 1;                  // so many ids in a row are of one device
  // What only the agent needs: its resource but the name, more of its configuration, and the file
  // that, with this text, makes a device fail.
  std::string section;
  std::string settings;
  std::string fault_file{};
  std::function<std::string(int device)> fault{};

  int devices() const { return static_cast<int>(ids.size()) / shares; }
};
// Makes what is to be served, with all its files below a directory.
using MakeServed = std::function<Served(const std::string& directory)>;

MakeServed Npus(int count, std::string settings = "");

// Answers pod-resources: nobody holds any of these.
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

// Serves Registration on DIR/device-plugins/kubelet.sock and remembers the last endpoint; serves
// pod-resources all the time.
class Kubelet : public v1beta1::Registration::Service {
 public:
  Kubelet(std::string directory, const Served& served);

  void Listen();
  void Hush();  // ends the server and removes its socket, as kubelet does
  // The endpoint of the next registration after `seen`; waits for it.
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
  // The next list, as it came; waits for it. Nothing when the stream has ended. Decoding 8,000
  // devices takes a client longer than a small program takes to start.
  std::optional<grpc::ByteBuffer> Read();
  void Allocate(int id);  // a position in Served::ids
  // What is answered to a request for these ids.
  v1beta1::ContainerAllocateResponse Ask(const std::vector<std::string>& ids);
  // Before a container with these ids is made. Any thread.
  void PreStart(const std::vector<std::string>& ids);
  // Which `size` of the ids of `available` are to be taken.
  std::vector<std::string> Prefer(const std::vector<std::string>& available, int size);

 private:
  const Served& served_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader_;
};

// One of the two programs that are compared, in a temporary directory of its own. Where
// TESSERA_BENCH_BEFORE names another build of the agent, that one takes the bare server's place.
class Subject {
 public:
  enum class Kind { kTessera, kBare };
  Subject(Kind kind, const MakeServed& make);
  ~Subject();

  // Starts the program and waits for its first list; the time from before exec until it is here.
  Millis Start();
  // A device fails; the time until a list is decoded that says so.
  Millis Fail(int device);
  // kubelet.sock goes and comes back; the time from listening until the first list is here.
  Millis RestartKubelet();
  const Served& served() const { return served_; }
  Connection& connection() { return *connection_; }
  const std::string& directory() const { return directory_; }

  double rss_mb() const;
  int fds() const;
  double cpu_ms() const;      // used so far by all its threads
  double own_cpu_ms() const;  // by those that gRPC did not make
  double wakeups() const;     // so often one of its threads has waited and gone on

 private:
  void Open();
  // When the first list was here that has all devices.
  Clock::time_point Connect();
  grpc::ByteBuffer Read();
  void Locate(const v1beta1::ListAndWatchResponse& list);
  // Of all threads that there are now; of each a figure that only grows.
  double SumOf(const std::function<double(const std::string& task)>& figure) const;
  double CpuOf(const std::string& task) const;

  const std::string program_;  // the agent's; none for the bare server
  const bool bare_;
  std::string directory_;
  Served served_;
  std::unique_ptr<Kubelet> kubelet_;
  std::string faults_;            // the bare server's
  std::vector<int> positions_{};  // of each device's first id in the program's list
  os::Process process_;
  std::unique_ptr<Connection> connection_;
  int seen_ = 0;  // registrations, up to the one of connection_
};

}  // namespace tessera::bench
