#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// The power of the norm is an integer since opset 2; `whole` tells whether it was one before.
absl::Status PowerToInteger(NodeUpgrade& u, bool& whole) {
  const float p = u.attributes().Float("p", 2.0f);
  if (!(p >= 1) || p > 1e6f) {
    return absl::InvalidArgumentError(absl::StrCat("p is ", p, " but must be at least 1"));
  }
  whole = p == std::floor(p);
  if (whole && u.Has("p")) u.attributes().Set("p", static_cast<int64_t>(p));
  return absl::OkStatus();
}

ValueId AbsToPower(NodeUpgrade& u, float p) {
  return u.Add("Pow", {u.Add("Abs", {u.input(0)}), u.FloatLike("p", p, u.input(0))});
}

absl::Status GlobalLpPoolPower(NodeUpgrade& u) {
  bool whole = false;
  if (absl::Status status = PowerToInteger(u, whole); !status.ok() || whole) return status;
  const float p = u.attributes().Float("p", 2.0f);
  const ValueId rank = u.Add("Size", {u.Add("Shape", {u.input(0)})});
  const ValueId axes = u.Add("Range", {u.Int64("first_axis", 2), rank, u.Int64("step", 1)});
  const ValueId sum = u.Add("ReduceSum", {AbsToPower(u, p), axes}, {{"keepdims", int64_t{1}}});
  u.AddAs(u.output(0), "Pow", {sum, u.FloatLike("root", 1 / p, u.input(0))});
  u.Drop();
  return absl::OkStatus();
}

// The sum over a window is its average, padding included, times its size.
absl::Status LpPoolPower(NodeUpgrade& u) {
  bool whole = false;
  if (absl::Status status = PowerToInteger(u, whole); !status.ok() || whole) return status;
  const float p = u.attributes().Float("p", 2.0f);
  const std::vector<int64_t> kernel = u.attributes().Ints("kernel_shape");
  const auto size = CheckedNumElements(kernel);
  if (kernel.empty() || !size.ok()) {
    return absl::InvalidArgumentError("`kernel_shape` is needed, of positive sizes");
  }
  Attributes pool = u.attributes();
  pool.Erase("p");
  pool.Set("count_include_pad", int64_t{1});
  const ValueId mean = u.Add("AveragePool", {AbsToPower(u, p)}, std::move(pool));
  const ValueId sum =
      u.Add("Mul", {mean, u.FloatLike("window", static_cast<float>(*size), u.input(0))});
  u.AddAs(u.output(0), "Pow", {sum, u.FloatLike("root", 1 / p, u.input(0))});
  u.Drop();
  return absl::OkStatus();
}

}  // namespace

UpgradeRules PoolUpgrades() {
  return {{"", "GlobalLpPool", 2, GlobalLpPoolPower}, {"", "LpPool", 2, LpPoolPower}};
}

}  // namespace onward::onnx_io
