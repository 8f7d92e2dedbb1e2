#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/pipeline/timeline.hpp"

namespace trireme::pipeline {
namespace {

// Pixels.
constexpr double kLeft = 84;
constexpr double kRight = 24;
constexpr double kTop = 74;
constexpr double kRowHeight = 30;
constexpr double kRowGap = 6;
constexpr double kAxisHeight = 46;
constexpr double kDigitWidth = 6.6;
constexpr double kMinWidth = 900;
constexpr double kMaxWidth = 4000;
constexpr double kWidthPerBox = 20;

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
};

/// Okabe and Ito's palette (2008), which the colour-blind tell apart.
Colour colour_of(std::string_view event) {
  if (event == name(ActionKind::forward)) return {86, 180, 233};
  if (event == name(ActionKind::backward)) return {213, 94, 0};
  if (event == name(ActionKind::backward_input)) return {230, 159, 0};
  if (event == name(ActionKind::backward_weight)) return {0, 158, 115};
  return {170, 170, 170};
}

/// Each chunk is a little darker than the one before it.
Colour shaded(Colour colour, int chunk) {
  const double share = std::max(0.4, 1 - 0.17 * chunk);
  const auto darker = [share](int part) { return static_cast<int>(std::lround(share * part)); };
  return {darker(colour.red), darker(colour.green), darker(colour.blue)};
}

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

/// Black or white, whichever can be read on it.
std::string_view ink_on(Colour colour) {
  return 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue > 105 ? "#111" : "#fff";
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return result;
}

struct Unit {
  std::string_view name;
  double seconds = 1;
};

Unit unit_for(double span_s) {
  if (span_s >= 2) return {"s", 1};
  if (span_s >= 2e-3) return {"ms", 1e-3};
  return {"µs", 1e-6};
}

/// The 1, 2 or 5 times a power of ten that gives about ten ticks.
double tick_step(double span) {
  const double rough = span / 10;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

class Picture {
 public:
  Picture(const std::vector<Event>& events, const PictureOptions& options) : events_(events), options_(options) {
    std::map<int, int> boxes;
    bool any = false;
    for (const Event& event : events) {
      rows_ = std::max(rows_, event.row + 1);
      chunks_ = std::max(chunks_, event.chunk + 1);
      begin_s_ = any ? std::min(begin_s_, event.begin_s) : event.begin_s;
      end_s_ = any ? std::max(end_s_, event.end_s) : event.end_s;
      any = true;
      width_ = std::max(width_, kWidthPerBox * ++boxes[event.row]);
    }
    width_ = std::min(width_, kMaxWidth);
    unit_ = unit_for(end_s_ - begin_s_);
    // An event that lies within another one is drawn on top of it.
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.end_s - a.begin_s > b.end_s - b.begin_s; });
  }

  std::string text() {
    const double height = bottom() + kAxisHeight;
    const double whole = kLeft + width_ + kRight;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">",
        whole, height);
    add("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>", whole, height);
    add("<text x=\"{:.1f}\" y=\"26\" font-size=\"16\" fill=\"#111\">{}</text>", kLeft, escaped(options_.title));
    add_legend();
    add_rows();
    add_axis();
    for (const Event& event : events_) add_box(event);
    add("</svg>");
    return svg_;
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    svg_ += fmt::format(format, std::forward<Values>(values)...) + '\n';
  }
  [[nodiscard]] double x(double time_s) const {
    const double span_s = end_s_ - begin_s_;
    return span_s > 0 ? kLeft + width_ * (time_s - begin_s_) / span_s : kLeft;
  }
  static double y(int row) { return kTop + row * (kRowHeight + kRowGap); }
  [[nodiscard]] double bottom() const { return y(rows_); }

  void add_legend() {
    std::set<std::string> names;
    for (const Event& event : events_) names.insert(event.name);
    std::vector<std::string> in_order;
    for (const ActionKind kind :
         {ActionKind::forward, ActionKind::backward, ActionKind::backward_input, ActionKind::backward_weight}) {
      if (names.erase(std::string(name(kind))) > 0) in_order.emplace_back(name(kind));
    }
    double at = kLeft;
    for (const std::string& entry : in_order) {
      for (int chunk = 0; chunk < chunks_; ++chunk, at += 14) add_swatch(at, shaded(colour_of(entry), chunk));
      at = add_label(at, chunks_ > 1 ? fmt::format("{} (chunks 0 to {})", entry, chunks_ - 1) : entry);
    }
    if (names.empty()) return;
    add_swatch(at, colour_of(""));
    add_label(at + 14, join({names.begin(), names.end()}));
  }
  void add_swatch(double at, Colour colour) {
    add("<rect x=\"{:.1f}\" y=\"42\" width=\"13\" height=\"13\" fill=\"{}\"/>", at, hex(colour));
  }
  double add_label(double at, const std::string& label) {
    add("<text x=\"{:.1f}\" y=\"53\" fill=\"#333\">{}</text>", at + 5, escaped(label));
    return at + 24 + kDigitWidth * static_cast<double>(label.size());
  }

  void add_rows() {
    for (int row = 0; row < rows_; ++row) {
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#333\">{} {}</text>", kLeft - 10,
          y(row) + kRowHeight / 2 + 4, escaped(options_.row_name), row);
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f1f1f1\"/>", kLeft, y(row),
          width_, kRowHeight);
    }
  }

  void add_axis() {
    const double span = (end_s_ - begin_s_) / unit_.seconds;
    add("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#333\"/>", kLeft, bottom(), width_);
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#333\">time in {}</text>", kLeft + width_ / 2,
        bottom() + 36, unit_.name);
    if (span <= 0) return;
    const double step = tick_step(span);
    for (int tick = 0; tick * step <= span * (1 + 1e-9); ++tick) {
      const double at = x(begin_s_ + tick * step * unit_.seconds);
      add("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"#333\"/>", at, bottom());
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#333\">{:.6g}</text>", at, bottom() + 18,
          tick * step);
    }
  }

  void add_box(const Event& event) {
    const Colour colour = shaded(colour_of(event.name), event.chunk);
    const double left = x(event.begin_s);
    const double width = x(event.end_s) - left;
    const double drawn = std::max(width - 0.8, 0.4);  // a hair of background between neighbours
    add("<g><title>{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"/>",
        escaped(description(event)), left, y(event.row), drawn, kRowHeight, hex(colour));
    const std::string number = event.micro_batch < 0 ? std::string() : std::to_string(event.micro_batch);
    if (!number.empty() && kDigitWidth * static_cast<double>(number.size()) + 1 < drawn) {
      add("<text x=\"{:.2f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"middle\" fill=\"{}\">{}</text>",
          left + drawn / 2, y(event.row) + kRowHeight / 2 + 4, ink_on(colour), number);
    }
    add("</g>");
  }

  [[nodiscard]] std::string description(const Event& event) const {
    std::string what = event.name;
    if (event.micro_batch >= 0) what += fmt::format(", micro-batch {}, chunk {}", event.micro_batch, event.chunk);
    return fmt::format("{}: {:.6g} to {:.6g} {}", what, (event.begin_s - begin_s_) / unit_.seconds,
                       (event.end_s - begin_s_) / unit_.seconds, unit_.name);
  }

  std::vector<Event> events_;
  const PictureOptions& options_;
  int rows_ = 0;
  int chunks_ = 1;
  double begin_s_ = 0;
  double end_s_ = 0;
  double width_ = kMinWidth;
  Unit unit_;
  std::string svg_;
};

}  // namespace

std::string svg_picture(const std::vector<Event>& events, const PictureOptions& options) {
  return Picture(events, options).text();
}

}  // namespace trireme::pipeline
