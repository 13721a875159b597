// SPDX-License-Identifier: Apache-2.0
// Files of network cards: states, counters, routes, selectors, and the files of the two plugins.
#include "backend/rdma/devinfo.h"
#include "backend/rdma/functions.h"
#include "backend/rdma/host_network.h"
#include "backend/rdma/link.h"
#include "backend/rdma/names.h"
#include "backend/rdma/select.h"
#include "compat/sriov/translate.h"
#include "json/json.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace rdma = tessera::rdma;
  const std::string_view text = tessera::fuzz::Text(data, size);
  for (const char* const of_class : {"net", "infiniband"}) {
    const std::string_view function = rdma::FunctionIn(text, of_class);
    Require(text.find(function) != text.npos, "a function is of its link");
  }
  (void)rdma::ParseState(text);
  (void)rdma::ParseFatal(text);
  for (const std::string& name : rdma::ParseDefaultRoutes(text)) {
    Require(text.find(name) != text.npos, "a route is of the text");
  }
  for (const std::string& name : rdma::ParseDefaultRoutes6(text)) {
    Require(text.find(name) != text.npos, "a route is of the text");
  }
  for (const std::string& name : rdma::ParseInterfaces(text)) {
    Require(text.find(name) != text.npos, "an interface is of the text");
  }
  if (const auto pf = rdma::ParsePf(text)) {
    Require(text.starts_with(pf->name), "a name begins its text");
    for (const auto& [first, last] : pf->indices) Require(first <= last, "ranges go up");
  }
  const std::string info = rdma::DevInfoText({.address = std::string(text)});
  Require(tessera::json::Parse(info).has_value(), "a device's file is JSON");
  const auto document = tessera::config::Document::Parse("f", std::string(text));
  for (const auto& translated : {tessera::config::rdma_shared::Translate(document),
                                 tessera::config::sriov::Translate(document, "example.com")}) {
    Require(tessera::json::Parse(translated.yaml).has_value(), "a configuration is JSON");
  }
  return 0;
}
