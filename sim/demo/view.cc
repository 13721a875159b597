// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/view.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/demo/tiles.h"

namespace tessera::demo {
namespace {

constexpr int kHeadLines = 3;
constexpr int kFootLines = 2;  // the rule above the events and the legend
constexpr int kMaxBar = 40;

std::string_view Dot(const Look& look) {
  return look.unicode ? "●" : "*";
}

// "00:02.5".
std::string ShortClock(Duration at) {
  return ClockText(at).substr(0, 7);
}

Style StyleOf(Tone tone) {
  switch (tone) {
    case Tone::kStory:
      return Style::kStory;
    case Tone::kGood:
      return Style::kGood;
    case Tone::kBad:
      return Style::kBad;
    case Tone::kWarning:
      return Style::kWarning;
    case Tone::kBroken:
      return Style::kBroken;
    case Tone::kPlain:
      break;
  }
  return Style::kPlain;
}

// A bar of `columns`, of which `part` of `whole` is full.
Line Bar(int columns, int64_t part, int64_t whole, Style style, const Look& look) {
  const int64_t full = whole > 0 ? std::clamp<int64_t>(part * columns / whole, 0, columns) : 0;
  Line line;
  line.Add(style, Repeat(look.unicode ? "━" : "=", static_cast<int>(full)));
  line.Add(Style::kDim, Repeat(look.unicode ? "─" : "-", columns - static_cast<int>(full)));
  return line;
}

Line TitleLine(const Picture& picture, const Look& look) {
  Line line;
  line.Add(Style::kTitle, " tessera demo ").Add(Style::kPlain, " " + picture.title);
  const std::string clock = ShortClock(picture.now);
  const int bar = std::min(20, look.columns / 5);
  line.ClipTo(look.columns - bar - Columns(clock) - 4);
  line.PadTo(look.columns - bar - Columns(clock) - 2);
  line.Append(Bar(bar, picture.now.count(), picture.length.count(), Style::kGood, look));
  return std::move(line.Add(Style::kPlain, " " + clock));
}

Line StatusLine(const Picture& picture, const Look& look) {
  Line line;
  line.Add(Style::kPlain, fmt::format(" kubelet {} ", picture.kubelet_version));
  line.Add(picture.kubelet_up ? Style::kGood : Style::kBad,
           fmt::format("{} {}", Dot(look), picture.kubelet_up ? "up" : "down"));
  line.Add(Style::kPlain, "   agent");
  if (picture.agents.empty()) line.Add(Style::kBad, fmt::format(" {} down", Dot(look)));
  for (pid_t pid : picture.agents) line.Add(Style::kGood, fmt::format(" {} {}", Dot(look), pid));
  line.Add(Style::kPlain, fmt::format("   pods {}   refused {}   ", picture.pods, picture.refused));
  if (picture.broken > 0) {
    line.Add(Style::kBroken, fmt::format("LAWS BROKEN {} x", picture.broken));
  } else {
    line.Add(Style::kGood, fmt::format("laws hold ({})", picture.checks));
  }
  return line;
}

Line PanelHead(const Panel& panel, int name_columns, const Look& look) {
  Line line;
  line.Add(panel.connected ? Style::kStory : Style::kDim, " " + Fit(panel.name, name_columns));
  line.Add(Style::kPlain, fmt::format("  capacity {:>3}  ", panel.capacity));
  const bool whole = panel.allocatable == panel.capacity;
  line.Add(whole ? Style::kPlain : Style::kWarning,
           fmt::format("allocatable {:>3}", panel.allocatable));
  line.Add(Style::kPlain, fmt::format("  held {:>3}  ", panel.held));
  if (line.columns() + Columns(panel.model) < look.columns && !panel.model.empty()) {
    line.Add(Style::kDim, panel.model + "  ");
  }
  const int bar = std::min(kMaxBar, look.columns - line.columns() - 1);
  if (bar >= 5) line.Append(Bar(bar, panel.held, panel.capacity, Style::kGood, look));
  return line;
}

Line RuleLine(const Picture& picture, const Look& look) {
  Line line;
  const std::string_view dash = look.unicode ? "─" : "-";
  line.Add(Style::kDim, Repeat(dash, 2));
  if (!picture.waiting.empty()) line.Add(Style::kWarning, " waiting for " + picture.waiting + " ");
  return std::move(line.Add(Style::kDim, Repeat(dash, look.columns - line.columns())));
}

Line LegendLine(const Look& look) {
  struct Entry {
    TileState state;
    std::string_view word;
  };
  Line line;
  for (const Entry& entry :
       {Entry{TileState::kFree, "free"}, Entry{TileState::kHeld, "held"},
        Entry{TileState::kSuspect, "suspect"}, Entry{TileState::kUnhealthy, "unhealthy"},
        Entry{TileState::kCordoned, "cordoned"}, Entry{TileState::kUnknown, "not known now"}}) {
    line.Add(Style::kPlain, " ");
    line.Add(StyleOf(entry.state), fmt::format(" {} ", Sign(entry.state, look.unicode)));
    line.Add(Style::kDim, fmt::format(" {} ", entry.word));
  }
  const std::string_view leave = "Ctrl-C ends ";
  if (line.columns() + Columns(leave) < look.columns) {
    line.PadTo(look.columns - Columns(leave)).Add(Style::kDim, std::string(leave));
  }
  return line;
}

void AddPanels(const Picture& picture, const Look& look, int lines, Frame& frame) {
  const int heads = static_cast<int>(picture.panels.size());
  const Grid grid = PlanGrid(picture.panels, look.columns, lines - heads);
  const size_t end = frame.size() + static_cast<size_t>(std::max(lines, 0));
  int name_columns = 0;
  for (const Panel& panel : picture.panels) {
    name_columns = std::max(name_columns, Columns(panel.name));
  }
  for (const Panel& panel : picture.panels) {
    if (frame.size() >= end) return;
    frame.push_back(PanelHead(panel, name_columns, look));
    const int room = static_cast<int>(end - frame.size());
    for (Line& line : TileLines(panel, grid, look, picture.now, room)) {
      frame.push_back(std::move(line));
    }
  }
  if (picture.panels.empty() && frame.size() < end) {
    frame.push_back(std::move(Line().Add(Style::kDim, " no resource has registered yet")));
  }
}

void AddEvents(const Picture& picture, size_t lines, Frame& frame) {
  const size_t shown = std::min(lines, picture.events.size());
  for (size_t i = picture.events.size() - shown; i < picture.events.size(); ++i) {
    const Event& event = picture.events[i];
    Line line;
    line.Add(Style::kDim, fmt::format(" {} ", ShortClock(event.at)));
    frame.push_back(std::move(line.Add(StyleOf(event.tone), event.text)));
  }
}

}  // namespace

Frame Render(const Picture& picture, const Look& look) {
  Frame frame;
  frame.push_back(TitleLine(picture, look));
  const std::string_view mark = look.unicode ? " ▸ " : " > ";
  frame.push_back(std::move(
      Line().Add(Style::kStory, picture.story.empty() ? "" : std::string(mark) + picture.story)));
  frame.push_back(StatusLine(picture, look));

  const int event_lines = std::max(5, look.rows / 5);
  AddPanels(picture, look, look.rows - kHeadLines - kFootLines - event_lines, frame);
  frame.push_back(RuleLine(picture, look));
  const auto rows = static_cast<size_t>(std::max(look.rows, 0));
  if (frame.size() + 1 < rows) AddEvents(picture, rows - 1 - frame.size(), frame);
  frame.resize(rows == 0 ? 0 : rows - 1);
  if (rows > 0) frame.push_back(LegendLine(look));
  for (Line& line : frame) line.ClipTo(look.columns);
  return frame;
}

}  // namespace tessera::demo
