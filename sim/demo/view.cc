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

std::string_view Dot(const Screen& screen) {
  return screen.unicode ? "●" : "*";
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

// A bar of `columns` columns, filled by `part` of `whole`.
TextLine Bar(int columns, int64_t part, int64_t whole, Style style, const Screen& screen) {
  const int64_t full = whole > 0 ? std::clamp<int64_t>(part * columns / whole, 0, columns) : 0;
  TextLine line;
  line.Add(style, Repeat(screen.unicode ? "━" : "=", static_cast<int>(full)));
  line.Add(Style::kDim, Repeat(screen.unicode ? "─" : "-", columns - static_cast<int>(full)));
  return line;
}

TextLine TitleLine(const Picture& picture, const Screen& screen) {
  TextLine line;
  line.Add(Style::kTitle, " tessera demo ").Add(Style::kPlain, " " + picture.title);
  const std::string clock = ShortClock(picture.now);
  const int bar = std::min(20, screen.columns / 5);
  line.ClipTo(screen.columns - bar - Columns(clock) - 4);
  line.PadTo(screen.columns - bar - Columns(clock) - 2);
  line.Append(Bar(bar, picture.now.count(), picture.length.count(), Style::kGood, screen));
  return std::move(line.Add(Style::kPlain, " " + clock));
}

TextLine StatusLine(const Picture& picture, const Screen& screen) {
  TextLine line;
  line.Add(Style::kPlain, fmt::format(" kubelet {} ", picture.kubelet_version));
  line.Add(picture.kubelet_up ? Style::kGood : Style::kBad,
           fmt::format("{} {}", Dot(screen), picture.kubelet_up ? "up" : "down"));
  line.Add(Style::kPlain, "   agent");
  if (picture.agents.empty()) line.Add(Style::kBad, fmt::format(" {} down", Dot(screen)));
  for (pid_t pid : picture.agents) line.Add(Style::kGood, fmt::format(" {} {}", Dot(screen), pid));
  line.Add(Style::kPlain, fmt::format("   pods {}   refused {}   ", picture.pods, picture.refused));
  if (picture.broken > 0) {
    line.Add(Style::kBroken, fmt::format("LAWS BROKEN {} x", picture.broken));
  } else {
    line.Add(Style::kGood, fmt::format("laws hold ({})", picture.checks));
  }
  return line;
}

TextLine PanelHead(const Panel& panel, int name_columns, const Screen& screen) {
  TextLine line;
  line.Add(panel.connected ? Style::kStory : Style::kDim, " " + Fit(panel.name, name_columns));
  line.Add(Style::kPlain, fmt::format("  capacity {:>3}  ", panel.capacity));
  const bool whole = panel.allocatable == panel.capacity;
  line.Add(whole ? Style::kPlain : Style::kWarning,
           fmt::format("allocatable {:>3}", panel.allocatable));
  line.Add(Style::kPlain, fmt::format("  held {:>3}  ", panel.held));
  if (line.columns() + Columns(panel.model) < screen.columns && !panel.model.empty()) {
    line.Add(Style::kDim, panel.model + "  ");
  }
  const int bar = std::min(kMaxBar, screen.columns - line.columns() - 1);
  if (bar >= 5) line.Append(Bar(bar, panel.held, panel.capacity, Style::kGood, screen));
  return line;
}

TextLine RuleLine(const Picture& picture, const Screen& screen) {
  TextLine line;
  const std::string_view dash = screen.unicode ? "─" : "-";
  line.Add(Style::kDim, Repeat(dash, 2));
  if (!picture.waiting.empty()) line.Add(Style::kWarning, " waiting for " + picture.waiting + " ");
  return std::move(line.Add(Style::kDim, Repeat(dash, screen.columns - line.columns())));
}

TextLine LegendLine(const Screen& screen) {
  struct Entry {
    TileState state;
    std::string_view word;
  };
  TextLine line;
  for (const Entry& entry :
       {Entry{TileState::kFree, "free"}, Entry{TileState::kHeld, "held"},
        Entry{TileState::kSuspect, "suspect"}, Entry{TileState::kUnhealthy, "unhealthy"},
        Entry{TileState::kCordoned, "cordoned"}, Entry{TileState::kUnknown, "not known now"}}) {
    line.Add(Style::kPlain, " ");
    line.Add(StyleOf(entry.state), fmt::format(" {} ", Sign(entry.state, screen.unicode)));
    line.Add(Style::kDim, fmt::format(" {} ", entry.word));
  }
  const std::string_view leave = "Ctrl-C ends ";
  if (line.columns() + Columns(leave) < screen.columns) {
    line.PadTo(screen.columns - Columns(leave)).Add(Style::kDim, std::string(leave));
  }
  return line;
}

void AddPanels(const Picture& picture, const Screen& screen, int lines, Frame& frame) {
  const int heads = static_cast<int>(picture.panels.size());
  const Grid grid = PlanGrid(picture.panels, screen.columns, lines - heads);
  const size_t end = frame.size() + static_cast<size_t>(std::max(lines, 0));
  int name_columns = 0;
  for (const Panel& panel : picture.panels) {
    name_columns = std::max(name_columns, Columns(panel.name));
  }
  for (const Panel& panel : picture.panels) {
    if (frame.size() >= end) return;
    frame.push_back(PanelHead(panel, name_columns, screen));
    const int room = static_cast<int>(end - frame.size());
    for (TextLine& line : TileLines(panel, grid, screen, picture.now, room)) {
      frame.push_back(std::move(line));
    }
  }
  if (picture.panels.empty() && frame.size() < end) {
    frame.push_back(std::move(TextLine().Add(Style::kDim, " no resource has registered yet")));
  }
}

void AddEvents(const Picture& picture, size_t lines, Frame& frame) {
  const size_t shown = std::min(lines, picture.events.size());
  for (size_t i = picture.events.size() - shown; i < picture.events.size(); ++i) {
    const Event& event = picture.events[i];
    TextLine line;
    line.Add(Style::kDim, fmt::format(" {} ", ShortClock(event.at)));
    frame.push_back(std::move(line.Add(StyleOf(event.tone), event.text)));
  }
}

}  // namespace

Frame Render(const Picture& picture, const Screen& screen) {
  Frame frame;
  frame.push_back(TitleLine(picture, screen));
  const std::string_view mark = screen.unicode ? " ▸ " : " > ";
  frame.push_back(std::move(TextLine().Add(
      Style::kStory, picture.story.empty() ? "" : std::string(mark) + picture.story)));
  frame.push_back(StatusLine(picture, screen));

  const int event_lines = std::max(5, screen.rows / 5);
  AddPanels(picture, screen, screen.rows - kHeadLines - kFootLines - event_lines, frame);
  frame.push_back(RuleLine(picture, screen));
  const auto rows = static_cast<size_t>(std::max(screen.rows, 0));
  if (frame.size() + 1 < rows) AddEvents(picture, rows - 1 - frame.size(), frame);
  frame.resize(rows == 0 ? 0 : rows - 1);
  if (rows > 0) frame.push_back(LegendLine(screen));
  for (TextLine& line : frame) line.ClipTo(screen.columns);
  return frame;
}

}  // namespace tessera::demo
