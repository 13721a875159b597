// SPDX-License-Identifier: Apache-2.0
// The small text functions, and the ids of shares.

#include "base/text.h"

#include <array>

#include "base/quote.h"
#include "share/share.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace {

void CheckOrder(const std::vector<std::string>& words) {
  const tessera::NaturalLess less;
  for (const auto& a : words) {
    Require(!less(a, a), "nothing is less than itself");
    for (const auto& b : words) {
      Require(!(less(a, b) && less(b, a)), "only one of two is the less");
      for (const auto& c : words) {
        Require(!less(a, b) || !less(b, c) || less(a, c), "the order is transitive");
      }
    }
  }
}

// Takes the word as a device's id. Its shares' ids must lead back to it.
void CheckShareIds(const std::string& word) {
  tessera::Device device;
  device.key = {"dummy.com/npu", word};
  device.visible_as = word;
  tessera::Inventory inventory;
  inventory.devices.push_back(device);
  using tessera::Division;
  using tessera::Separator;
  for (const tessera::Policy& policy :
       {tessera::Policy{}, tessera::Policy{Division::kReplicas, 3},
        tessera::Policy{Division::kReplicas, 3, Separator::kDash}}) {
    const tessera::Offer offer =
        tessera::Divide("dummy.com/npu", {policy}, inventory, "dummy.com/npu",
                        [](const tessera::Device&) { return std::nullopt; });
    Require(offer.shares.size() == (policy.division == Division::kWhole ? 1 : 3),
            "every replica is a share");
    for (const auto& share : offer.shares) {
      Require(tessera::DeviceOfShare(share.id) == word, "a share's id leads to its device");
      const std::string_view held[] = {share.id};
      Require(tessera::PlanFor(policy, held) == tessera::Plan{policy},
              "a share that the policy makes keeps nothing");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  if (const auto span = tessera::ParseDuration(text)) {
    Require(tessera::ParseDuration(tessera::FormatDuration(*span)) == span,
            "a time span reads as it was written");
  }
  tessera::IsExtendedResourceName(text);
  tessera::Quote(text);
  Require(tessera::Trim(text).size() <= size, "trimming adds nothing");

  std::vector<std::string> words = tessera::Split(text, '\n');
  Require(tessera::Join(words, "\n") == text, "joining undoes splitting");
  if (words.size() > 8) words.resize(8);
  for (auto& word : words) word.resize(std::min<size_t>(word.size(), 64));
  CheckOrder(words);
  tessera::Closest(words.front(), words);
  if (!words.front().empty()) CheckShareIds(words.front());
  return 0;
}
