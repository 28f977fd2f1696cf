// Samples of images.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

std::vector<Expr> GridSample(const FormulaCall& call) {
  std::string mode = call.String("mode");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return {Op("GridSample", {call.input(0), call.input(1)},
             {{"mode", mode},
              {"padding_mode", call.String("padding_mode")},
              {"align_corners", call.Int("align_corners")}})};
}

// Where one axis of each box is sampled, [boxes, count]: in pixels of the image, whose last is
// `last`. A single sample lies in the middle of its box.
Expr SamplePositions(const Expr& from, const Expr& to, const Expr& last, const Expr& count) {
  ExprSink& sink = *from.sink();
  const Expr index =
      Cast(Op("Range", {ScalarLike(count, 0), count, ScalarLike(count, 1)}), from.dtype());
  const Expr steps = Cast(count - 1, from.dtype());
  const Expr one = ScalarLike(from, 1);
  const Expr spread = from * last + index * ((to - from) * last / Max(steps, one));
  const Expr middle = Expand((from + to) * last * 0.5, Shape(spread));
  return Where(Greater(count, sink.Scalar(1, count.dtype())), spread, middle);
}

// Crops of images at boxes [y1, x1, y2, x2] in units of the image, corners aligned.
std::vector<Expr> CropAndResize(const FormulaCall& call) {
  const std::string mode = call.String("mode");
  if (mode != "bilinear" && mode != "nearest") call.Fail("`mode` must be bilinear or nearest");
  const DType wide = DType::kFloat32;
  const std::vector<Expr> corners = Split(Cast(call.input(1), wide), {1, 1, 1, 1}, 1);
  const std::vector<Expr> sizes = Split(call.input(3), {1, 1}, 0);
  Expr grid[2], inside[2];
  for (int axis = 0; axis < 2; ++axis) {
    const size_t first = static_cast<size_t>(axis);
    const Expr last = Cast(Shape(call.input(0), axis + 2, axis + 3), wide) - 1;
    Expr at = SamplePositions(corners[first], corners[first + 2], last, OneElement(sizes[first]));
    inside[axis] = And(GreaterOrEqual(at, ScalarLike(at, 0)), LessOrEqual(at, last));
    // Halves away from zero; what lies outside is not used.
    if (mode == "nearest") at = Floor(at + 0.5);
    grid[axis] = at * 2 / Max(last, ScalarLike(last, 1)) - 1;
    const int64_t other = axis == 0 ? 2 : 1;
    grid[axis] = Unsqueeze(grid[axis], {other});
    inside[axis] = Unsqueeze(inside[axis], {other});
  }
  const Expr zeros_y = grid[0] * 0, zeros_x = grid[1] * 0;
  const Expr points =
      Concat({Unsqueeze(grid[1] + zeros_y, {3}), Unsqueeze(grid[0] + zeros_x, {3})}, 3);
  const Expr images = Gather(Cast(call.input(0), wide), call.input(2));
  const Expr samples = Op("GridSample", {images, points},
                          {{"mode", std::string(mode == "nearest" ? "nearest" : "linear")},
                           {"padding_mode", std::string("border")},
                           {"align_corners", int64_t{1}}});
  const Expr kept = Unsqueeze(And(inside[0], inside[1]), {1});
  const Expr outside = call.sink().Scalar(call.Float("extrapolation_value"), wide);
  return {Cast(Where(kept, samples, outside), call.input(0).dtype())};
}

}  // namespace

std::vector<FormulaOp> ResizeOps() {
  return {
      {"GridSample <align_corners: int = 0, mode: string = \"bilinear\","
       " padding_mode: string = \"zeros\"> (X: T, Grid: T) -> (Y: T)"
       " where T = float16|float|double",
       GridSample},
      {"CropAndResize <extrapolation_value: float = 0, mode: string = \"bilinear\">"
       " (X: T, rois: T, batch_indices: I, crop_size: I) -> (Y: T)"
       " where T = float16|float|double, I = int32",
       CropAndResize},
  };
}

}  // namespace onward::microsoft
