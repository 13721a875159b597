// SPDX-License-Identifier: Apache-2.0
#include "cli/pod_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "base/text.h"
#include "cli/command/fields.h"
#include "cli/explain_view.h"
#include "cli/room_view.h"

namespace tessera::cli {
namespace {

std::string_view PlacerText(std::string_view by) {
  if (by == "hami-scheduler") return "by HAMi's scheduler, which chose its GPUs";
  if (by == "agent") return "by the agent, which chose devices by its request";
  if (by == "kubelet") return "by kubelet, which chose free shares";
  return "not placed yet: it has no devices";
}

std::string_view StateText(std::string_view state) {
  if (state == "bound") return "its grant is bound, as shown below";
  if (state == "holds") return "it holds the shares below";
  if (state == "promised") return "kubelet gave it shares, but its grant is not bound yet";
  if (state == "refused") return "refused: the container is not made";
  if (state == "ended") return "it has ended";
  if (state == "nothing") return "it asks for no resource of this agent";
  if (state == "waits") return "kubelet has not asked for its devices yet";
  return state;
}

// A pod's author chooses this text, so it must not control the terminal.
std::string PlainText(const std::string& text) {
  constexpr size_t kLongest = 400;
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::ranges::all_of(text, is_plain)) return Elide(text, kLongest);
  std::string quoted = Quote(text);
  // There are control characters beyond ASCII too.
  std::ranges::replace_if(quoted, [&](char c) { return !is_plain(c); }, '?');
  return Elide(quoted, kLongest);
}

std::string PlacementLines(const json::Object& page, const View& view) {
  const json::Object* placement = json::GetObject(page, "placement");
  if (placement == nullptr) return "";
  std::string out = Sentence("placed", PlacerText(TextIn(*placement, "by")), view);
  const std::string node = TextIn(*placement, "node");
  if (!node.empty() && node != TextIn(page, "node")) {
    out += Sentence("", fmt::format("for another node: {}", PlainText(node)), view);
  }
  return out;
}

std::string AskedText(const json::Object& container) {
  const json::Object* asks = json::GetObject(container, "asks");
  std::vector<std::string> texts;
  for (const auto& [resource, quantity] : asks == nullptr ? json::Object() : *asks) {
    texts.push_back(std::string(std::string_view(resource)) + "=" + TextIn(*asks, resource));
  }
  return Join(texts, " ");
}

std::string GrantText(const json::Object& grant) {
  std::vector<std::string> parts;
  for (const json::Object* part : ObjectsIn(grant, "parts")) {
    const auto bytes = json::GetInt(*part, "memoryBytes").value_or(0);
    parts.push_back(fmt::format("{}: {}, {} of its time", TextIn(*part, "device"),
                                MibText(static_cast<uint64_t>(bytes)), CoresText(*part)));
  }
  return Join(parts, "; ");
}

std::string RefusalLine(const json::Object& refusal, const View& view) {
  const int64_t count = json::GetInt(refusal, "count").value_or(1);
  const std::string times = count == 1
                                ? "at " + TextIn(refusal, "last")
                                : fmt::format("{} times from {} to {}", count,
                                              TextIn(refusal, "first"), TextIn(refusal, "last"));
  return Sentence("refused",
                  fmt::format("{}{}: {} [{}]", times,
                              IsTrue(refusal, "over") ? ", but the container was made since" : "",
                              TextIn(refusal, "message"), TextIn(refusal, "reason")),
                  view);
}

std::string ContainerText(const json::Object& container, const View& view) {
  const std::string kind = TextIn(container, "kind");
  std::string out = Paint("container " + TextIn(container, "name"), Tone::kTitle, view);
  out += kind.empty() || kind == "app" ? "\n" : fmt::format(" ({})\n", kind);
  const std::string asked = AskedText(container);
  if (!asked.empty()) out += Sentence("asks for", asked, view);
  out += Sentence("state", StateText(TextIn(container, "state")), view);
  for (const json::Object* holding : ObjectsIn(container, "holdings")) {
    out += Sentence(
        "holds",
        fmt::format("{} {}", TextIn(*holding, "resource"), Join(ListIn(*holding, "shares"), " ")),
        view);
    const std::vector<std::string> devices = ListIn(*holding, "devices");
    if (devices != ListIn(*holding, "shares")) out += Sentence("on", Join(devices, " "), view);
  }
  for (const json::Object* grant : ObjectsIn(container, "grants")) {
    out += Sentence("granted", GrantText(*grant), view);
    out += Sentence("grant", TextIn(*grant, "grant"), view);
    out += Sentence("directory", TextIn(*grant, "directory"), view);
    const bool controlled = IsTrue(*grant, "controlled");
    out += Sentence("library", controlled ? TextIn(*grant, "library") : "none enforces its limits",
                    view);
  }
  for (const json::Object* refusal : ObjectsIn(container, "refusals")) {
    out += RefusalLine(*refusal, view);
  }
  return out + Sentence("to do", TextIn(container, "advice"), view);
}

std::string AnnotationLines(const json::Object& page) {
  const json::Object* annotations = json::GetObject(page, "annotations");
  if (annotations == nullptr || annotations->empty()) return "";
  std::string out = "\nannotations\n";
  for (const auto& [key, value] : *annotations) {
    out += fmt::format("  {}={}\n", std::string_view(key), PlainText(TextIn(*annotations, key)));
  }
  return out;
}

// Refusals without a known container or pod.
std::string PerhapsLines(const json::Object& page, const View& view) {
  std::string out;
  for (const json::Object* refusal : ObjectsIn(page, "refusals")) {
    out += RefusalLine(*refusal, view) + Sentence("to do", TextIn(*refusal, "advice"), view);
  }
  return out.empty() ? "" : "\nrefused before kubelet named the pod; it may be this one\n" + out;
}

}  // namespace

bool IsPodName(std::string_view word) {
  const size_t slash = word.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < word.size() &&
         word.find('/', slash + 1) == std::string_view::npos &&
         word.substr(0, slash).find('.') == std::string_view::npos;
}

std::string PodText(const json::Value& answer, const View& view) {
  const json::Object& page = ObjectOf(answer);
  std::string out = Paint("pod " + TextIn(page, "pod"), Tone::kTitle, view) + "\n";
  const std::string uid = TextIn(page, "uid");
  out += Sentence("uid", uid, view);
  out += Sentence("node", TextIn(page, "node"), view);
  std::string phase = TextIn(page, "phase");
  if (phase.empty()) phase = "unknown: no API server has reported it";
  out += Sentence("phase", phase + (IsTrue(page, "deleting") ? ", being deleted" : ""), view);
  out += PlacementLines(page, view);
  for (const json::Object* container : ObjectsIn(page, "containers")) {
    out += "\n" + ContainerText(*container, view);
  }
  return out + PerhapsLines(page, view) + AnnotationLines(page);
}

}  // namespace tessera::cli
