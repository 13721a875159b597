// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/output.h"

#include <optional>

#include "sim/demo/terminal.h"
#include "sim/demo/view.h"

namespace tessera::demo {
namespace {

class LiveOutput : public Output {
 public:
  bool Happened(const Event&) override { return true; }
  bool Draw(const Picture& picture) override {
    // Taken this late, so that signals are caught before the screen is taken.
    if (!terminal_) terminal_.emplace();
    return terminal_->Show(Render(picture, terminal_->CurrentScreen()));
  }
  void Resized() override {
    if (terminal_) terminal_->Forget();
  }
  void Suspend() override {
    if (terminal_) terminal_->Suspend();
  }
  void Resume() override {
    if (terminal_) terminal_->Resume();
  }
  void End(const Summary& summary) override {
    terminal_.reset();
    WriteOut(SummaryText(summary));
  }
  bool live() const override { return true; }

 private:
  std::optional<Terminal> terminal_;
};

class PlainOutput : public Output {
 public:
  bool Happened(const Event& event) override {
    return event.quiet || WriteOut(PlainLine(event) + "\n");
  }
  bool Draw(const Picture&) override { return true; }
  void End(const Summary& summary) override { WriteOut(SummaryText(summary)); }
};

class JsonOutput : public Output {
 public:
  bool Happened(const Event& event) override { return WriteOut(JsonLine(event) + "\n"); }
  bool Draw(const Picture&) override { return true; }
  void End(const Summary& summary) override { WriteOut(json::Write(SummaryJson(summary)) + "\n"); }
};

}  // namespace

std::unique_ptr<Output> MakeOutput(const DemoOptions& options) {
  if (options.json) return std::make_unique<JsonOutput>();
  if (options.plain || !CanShowLive()) return std::make_unique<PlainOutput>();
  return std::make_unique<LiveOutput>();
}

}  // namespace tessera::demo
