#include "training/log/curve_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/utf8.h"

namespace onward::training {
namespace {

constexpr double kWidth = 800, kHeight = 480;
constexpr double kLeft = 70, kRight = 780, kTop = 40, kBottom = 430;
constexpr const char* kColors[] = {"#1f77b4", "#d62728", "#2ca02c",
                                   "#9467bd", "#ff7f0e", "#17becf"};

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : files::PrintableUtf8(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// From values to places in the picture.
struct Axis {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool logarithmic = false;

  bool Shows(double value) const { return std::isfinite(value) && !(logarithmic && value <= 0); }
  double Scaled(double value) const { return logarithmic ? std::log10(value) : value; }
  void Include(double value) {
    low = std::min(low, Scaled(value));
    high = std::max(high, Scaled(value));
  }
  void Finish() {
    if (!(low <= high)) low = 0, high = 1;
    const double least = 1e-12 * std::max({1e-12, std::abs(low), std::abs(high)});
    const double middle = low / 2 + high / 2;
    if (high - low <= least)
      low = middle - std::max(0.5, least), high = middle + std::max(0.5, least);
  }
  double Share(double value) const { return (Scaled(value) - low) / (high - low); }

  // Round numbers inside, some five of them.
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    const double raw = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0})
      if (step < raw) step = factor * power;
    for (double tick = std::ceil(low / step) * step;
         tick <= high + step * 1e-9 && ticks.size() < 20; tick += step)
      ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  }
  std::string Label(double tick) const {
    return absl::StrFormat("%.4g", logarithmic ? std::pow(10, tick) : tick);
  }
};

double X(const Axis& axis, double value) { return kLeft + (kRight - kLeft) * axis.Share(value); }
double Y(const Axis& axis, double value) { return kBottom - (kBottom - kTop) * axis.Share(value); }

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

void DrawAxes(const CurvePlot& plot, const Axis& x, const Axis& y, std::string* svg) {
  const double width = kRight - kLeft, height = kBottom - kTop;
  for (const double tick : x.Ticks()) {
    const double at = kLeft + width * (tick - x.low) / (x.high - x.low);
    absl::StrAppendFormat(svg, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, kTop, kBottom);
    *svg += Text(at, kBottom + 18, "middle", x.Label(tick));
  }
  for (const double tick : y.Ticks()) {
    const double at = kBottom - height * (tick - y.low) / (y.high - y.low);
    absl::StrAppendFormat(svg, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", kLeft, at, kRight);
    *svg += Text(kLeft - 6, at + 4, "end", y.Label(tick));
  }
  absl::StrAppendFormat(
      svg, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", kLeft,
      kTop, width, height);
  *svg += Text((kLeft + kRight) / 2, kHeight - 12, "middle", plot.x_label);
  *svg += Text((kLeft + kRight) / 2, 24, "middle", plot.title);
  absl::StrAppendFormat(svg, "<g transform=\"translate(16 %.1f) rotate(-90)\">%s</g>\n",
                        (kTop + kBottom) / 2, Text(0, 0, "middle", plot.y_label));
}

// Lines between neighbouring points; each column of the picture keeps its lowest and highest.
std::string PathOf(const Curve& curve, const Axis& x, const Axis& y) {
  std::string path;
  bool gap = true, alone = false;
  // A point without neighbours is a short line.
  const auto end_line = [&] {
    if (std::exchange(alone, false)) path += "m-3 0h6";
    gap = true;
  };
  const auto add = [&](double at, double value) {
    absl::StrAppendFormat(&path, "%c%.1f %.1f", gap ? 'M' : 'L', at, Y(y, value));
    alone = std::exchange(gap, false);
  };
  for (size_t i = 0; i < curve.points.size();) {
    const auto [first_x, first_y] = curve.points[i];
    if (!x.Shows(first_x) || !y.Shows(first_y)) {
      end_line();
      ++i;
      continue;
    }
    const double column = std::floor(X(x, first_x));
    double low = first_y, high = first_y;
    size_t end = i + 1;
    for (; end < curve.points.size(); ++end) {
      const auto [next_x, next_y] = curve.points[end];
      if (!x.Shows(next_x) || !y.Shows(next_y) || std::floor(X(x, next_x)) != column) break;
      low = std::min(low, next_y);
      high = std::max(high, next_y);
    }
    if (end == i + 1) {
      add(X(x, first_x), first_y);
    } else {
      add(column, low);
      add(column, high);
    }
    i = end;
  }
  end_line();
  return path;
}

}  // namespace

std::string DrawSvg(const CurvePlot& plot) {
  Axis x, y;
  y.logarithmic = plot.logarithmic;
  for (const Curve& curve : plot.curves) {
    for (const auto& [at, value] : curve.points) {
      if (!x.Shows(at) || !y.Shows(value)) continue;
      x.Include(at);
      y.Include(value);
    }
  }
  x.Finish();
  y.Finish();
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<style>.grid{stroke:#ddd;fill:none}.frame{stroke:#444;fill:none}"
      ".curve{fill:none;stroke-width:1.5}</style>\n<rect width=\"100%%\" "
      "height=\"100%%\" "
      "fill=\"#fff\"/>\n",
      kWidth, kHeight);
  DrawAxes(plot, x, y, &svg);
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    absl::StrAppendFormat(&svg, "<path class=\"curve\" stroke=\"%s\" d=\"%s\"/>\n", color,
                          PathOf(plot.curves[i], x, y));
    const double at = kTop + 18 + 18 * static_cast<double>(i);
    absl::StrAppendFormat(&svg, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%.1f %.1fh20\"/>\n",
                          color, kRight - 140, at - 4);
    svg += Text(kRight - 114, at, "start", plot.curves[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace onward::training
