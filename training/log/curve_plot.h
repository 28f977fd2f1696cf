// A plot of curves as an SVG picture: the loss of a training.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace onward::training {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by rising x; those that are not finite are gaps
};

struct CurvePlot {
  std::string title, x_label, y_label;
  std::vector<Curve> curves = {};
  bool logarithmic = false;  // the y axis; values that are not positive are gaps
};

// Curves of many points are drawn by the lowest and the highest of each step of x: a picture is
// some 100 kB at most.
std::string DrawSvg(const CurvePlot& plot);

}  // namespace onward::training
