// Resize is a product with a matrix along each axis. The matrix is what Resize makes of the
// identity, so that every mode and rounding is the op's own.
#include "onward/shape.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

using Ints = std::vector<int64_t>;

// [n, n]
Expr Identity2(const Expr& n, DType dtype) {
  const Expr numbers = Iota(n);
  return Cast(Equal(Unsqueeze(numbers, {1}), numbers), dtype);
}

struct Call {
  const GradientScope& s;
  int64_t rank;
  Ints axes;
  DType dtype;  // of the matrices

  Attributes LinearAttributes(Ints over) const {
    Attributes attributes = s.attributes();
    attributes.Set("axes", std::move(over));
    attributes.Set("extrapolation_value", 0.0f);
    return attributes;
  }
  // Element i of the scales or sizes; the region is [starts..., ends...].
  Expr At(int input, size_t i) const {
    const auto at = static_cast<int64_t>(i);
    return s.has_input(input) ? Slice(s.input(input), {at}, {at + 1}, {0}) : Expr();
  }
  Expr Region(size_t i) const {
    if (!s.has_input(1)) return {};
    const auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(axes.size());
    return Gather(s.input(1), IntsLike(s.input(0), {at, count + at}));
  }
  // Returns whether the axis stays as it is.
  bool Unchanged(size_t i) const {
    if (s.attributes().String("coordinate_transformation_mode") == "tf_crop_and_resize")
      return false;
    const auto axis = static_cast<size_t>(axes[i]);
    const auto &from = s.input(0).type().shape, &to = s.output(0).type().shape;
    if (!from || !to || axis >= to->size() || !(*from)[axis].SameAs((*to)[axis])) return false;
    if (s.has_input(3)) return true;
    const Tensor* scales = s.sink().graph().constant(s.input(2).id());
    return scales != nullptr && static_cast<int64_t>(i) < scales->num_elements() &&
           scales->data<float>()[i] == 1.0f;
  }
};

// [out, in]
Expr MatrixOf(const Call& call, size_t i) {
  const Expr eye = Identity2(DimOf(call.s.input(0), call.axes[i]), call.dtype);
  return Op("Resize", {eye, call.Region(i), call.At(2, i), call.At(3, i)},
            call.LinearAttributes({0}));
}

// dy with `axis` multiplied by the matrix [out, in].
Expr Along(const Expr& dy, const Expr& matrix, int64_t axis, int64_t rank) {
  if (axis == rank - 1) return MatMul(dy, matrix);
  if (axis == rank - 2) return MatMul(Transpose(matrix, {1, 0}), dy);
  Ints last = AxesUpTo(rank);
  std::swap(last[static_cast<size_t>(axis)], last.back());
  return Transpose(MatMul(Transpose(dy, last), matrix), last);
}

// Sizes that keep the aspect ratio scale all axes alike: one matrix for all of them.
Expr TogetherGradient(const Call& call) {
  const Expr x = call.s.input(0);
  Ints order, over, back(static_cast<size_t>(call.rank));
  for (int64_t axis = 0; axis < call.rank; ++axis) {
    if (std::find(call.axes.begin(), call.axes.end(), axis) == call.axes.end())
      order.push_back(axis);
  }
  const auto kept = static_cast<int64_t>(order.size());
  order.insert(order.end(), call.axes.begin(), call.axes.end());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  for (size_t i = 0; i < call.axes.size(); ++i) over.push_back(static_cast<int64_t>(i + 1));
  const Expr sizes = Gather(Shape(x), IntsLike(x, call.axes));
  const Expr count = Op("ReduceProd", {sizes, IntsLike(x, {0})});
  const Expr eye = Reshape(Identity2(count, call.dtype), expr::Concat({count, sizes}, 0));
  const Expr resized = Op("Resize", {eye, call.s.input(1), call.s.input(2), call.s.input(3)},
                          call.LinearAttributes(over));
  const Expr matrix = Cast(Reshape(resized, {0, -1}), x.dtype());  // [in, out]
  const Expr moved = Transpose(call.s.upstream(0), order);
  const Expr batch = Gather(Shape(x), IntsLike(x, Ints(order.begin(), order.begin() + kept)));
  const Expr flat = Reshape(moved, expr::Concat({batch, IntsLike(x, {-1})}, 0));
  const Expr dx = MatMul(flat, Transpose(matrix, {1, 0}));
  return Transpose(Reshape(dx, expr::Concat({batch, sizes}, 0)), back);
}

Gradients ResizeRule(const GradientScope& s) {
  const Expr x = s.input(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(x));
  Call call = {s, rank, s.attributes().Ints("axes"),
               x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32};
  if (call.axes.empty()) call.axes = AxesUpTo(rank);
  for (int64_t& axis : call.axes) {
    ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  }
  std::vector<Expr> gradients = NoGradients(s);
  const std::string policy = s.attributes().String("keep_aspect_ratio_policy", "stretch");
  if (s.has_input(3) && policy != "stretch") {
    gradients[0] = TogetherGradient(call);
    return gradients;
  }
  gradients[0] = s.upstream(0);
  for (size_t i = 0; i < call.axes.size(); ++i) {
    if (call.Unchanged(i)) continue;
    const Expr matrix = MatrixOf(call, i);
    gradients[0] =
        Along(gradients[0], matrix.dtype() == x.dtype() ? matrix : Cast(matrix, x.dtype()),
              call.axes[i], rank);
  }
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Resize", ResizeRule}};

}  // namespace

GradientList ResizeGradients() { return kRules; }

}  // namespace onward::gradient
