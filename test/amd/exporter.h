// SPDX-License-Identifier: Apache-2.0
// A fake of AMD's metrics exporter, on a Unix socket. The test sets its answers. Any thread may
// call it; gRPC's threads serve.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::fake {

class AmdExporter {
 public:
  // `package`: of the service; other exporters have another one.
  explicit AmdExporter(const std::string& socket_path, std::string package = "gpumetricssvc");
  // Ends calls that hang, and closes the socket.
  ~AmdExporter();

  // By PCI address: {{"0000:05:00.0", "healthy"}}.
  void Set(const std::vector<std::pair<std::string, std::string>>& health);
  // The bytes of an answer that is none.
  void SetBytes(std::string bytes);
  // Calls from now on get no answer.
  void Hang();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fake
