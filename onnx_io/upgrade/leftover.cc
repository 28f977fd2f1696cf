#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Experimental ops of the first opsets, in no registry since opset 10 (meanings: the standard's
// Operators.md as of opset 7), and ops that ONNX Runtime alone has in the standard's domain.

ValueId Scaled(NodeUpgrade& u, ValueId x, std::string_view attribute, float otherwise) {
  const float value = u.attributes().Float(attribute, otherwise);
  return u.Add("Mul", {x, u.FloatLike(attribute, value, u.input(0))});
}

// alpha * x + beta
absl::Status Affine(NodeUpgrade& u) {
  const ValueId beta = u.FloatLike("beta", u.attributes().Float("beta", 0), u.input(0));
  u.AddAs(u.output(0), "Add", {Scaled(u, u.input(0), "alpha", 1), beta});
  u.Drop();
  return absl::OkStatus();
}

// alpha * softplus(beta * x), alpha * tanh(beta * x)
absl::Status AroundActivation(NodeUpgrade& u, std::string_view op) {
  const ValueId y = u.Add(op, {Scaled(u, u.input(0), "beta", 1)});
  const ValueId alpha = u.FloatLike("alpha", u.attributes().Float("alpha", 1), u.input(0));
  u.AddAs(u.output(0), "Mul", {y, alpha});
  u.Drop();
  return absl::OkStatus();
}
absl::Status ParametricSoftplus(NodeUpgrade& u) { return AroundActivation(u, "Softplus"); }
absl::Status ScaledTanh(NodeUpgrade& u) { return AroundActivation(u, "Tanh"); }

absl::Status Scale(NodeUpgrade& u) {
  const ValueId scale = u.FloatLike("scale", u.attributes().Float("scale", 1), u.input(0));
  u.AddAs(u.output(0), "Mul", {u.input(0), scale});
  u.Drop();
  return absl::OkStatus();
}

// x * scale + bias[channel] of images
absl::Status ImageScaler(NodeUpgrade& u) {
  const std::vector<float> bias = u.attributes().Floats("bias");
  const Tensor channels =
      Tensor::Of<float>({1, static_cast<int64_t>(bias.size()), 1, 1}, absl::MakeConstSpan(bias));
  const ValueId like = u.Add("CastLike", {u.Constant("bias", channels), u.input(0)});
  u.AddAs(u.output(0), "Add", {Scaled(u, u.input(0), "scale", 1), like});
  u.Drop();
  return absl::OkStatus();
}

// Cuts `border` (left, top, right, bottom) off images, or `scale` (height, width) out of them from
// the border's left and top.
absl::Status Crop(NodeUpgrade& u) {
  const std::vector<int64_t> border = u.attributes().Ints("border");
  const std::vector<int64_t> scale = u.attributes().Ints("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2)) {
    return absl::InvalidArgumentError(absl::StrCat("`border` has ", border.size(),
                                                   " values but needs 4; `scale` has ",
                                                   scale.size(), " but needs none or 2"));
  }
  const ValueId starts = u.Int64s("starts", {border[1], border[0]});
  ValueId ends;
  if (scale.empty()) {
    const ValueId size = u.Add("Shape", {u.input(0)}, {{"start", int64_t{2}}, {"end", int64_t{4}}});
    ends = u.Add("Sub", {size, u.Int64s("far_border", {border[3], border[2]})});
  } else {
    ends = u.Add("Add", {starts, u.Int64s("scale", scale)});
  }
  u.AddAs(u.output(0), "Slice", {u.input(0), starts, ends, u.Int64s("axes", {2, 3})});
  u.Drop();
  return absl::OkStatus();
}

absl::Status DynamicSlice(NodeUpgrade& u) {
  u.AddAs(u.output(0), "Slice", u.node.inputs);
  u.Drop();
  return absl::OkStatus();
}

// The shape that ConstantFill and GivenTensorFill ask for: an attribute, the input's shape or the
// input itself; the last two with `extra_shape` behind.
ValueId FillShape(NodeUpgrade& u) {
  if (!u.input(0).valid()) return u.Int64s("shape", u.attributes().Ints("shape"));
  ValueId shape;
  if (u.attributes().Int("input_as_shape", 0) != 0) {
    shape = u.Add("Cast", {u.input(0)}, {{"to", static_cast<int64_t>(DType::kInt64)}});
  } else {
    shape = u.Add("Shape", {u.input(0)});
  }
  const std::vector<int64_t> extra = u.attributes().Ints("extra_shape");
  if (extra.empty()) return shape;
  return u.Add("Concat", {shape, u.Int64s("extra_shape", extra)}, {{"axis", int64_t{0}}});
}

absl::Status ConstantFill(NodeUpgrade& u) {
  const Tensor value = Tensor::Of<float>({1}, {u.attributes().Float("value", 0)});
  const int64_t dtype = u.attributes().Int("dtype", static_cast<int64_t>(DType::kFloat32));
  const ValueId filled = u.Add("ConstantOfShape", {FillShape(u)}, {{"value", value}});
  u.AddAs(u.output(0), "Cast", {filled}, {{"to", dtype}});
  u.Drop();
  return absl::OkStatus();
}

absl::Status GivenTensorFill(NodeUpgrade& u) {
  const std::vector<float> values = u.attributes().Floats("values");
  const Tensor flat =
      Tensor::Of<float>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values));
  u.AddAs(u.output(0), "Reshape", {u.Constant("values", flat), FillShape(u)},
          {{"allowzero", int64_t{1}}});
  u.Drop();
  return absl::OkStatus();
}

// Statistics per sample, of each channel or of all.
absl::Status MeanVarianceNormalization(NodeUpgrade& u) {
  std::vector<int64_t> axes = {2, 3};
  if (u.attributes().Int("across_channels", 0) != 0) axes.insert(axes.begin(), 1);
  const ValueId x = u.input(0);
  if (u.attributes().Int("normalize_variance", 1) != 0) {
    u.AddAs(u.output(0), "MeanVarianceNormalization", {x}, {{"axes", axes}});
  } else {
    const ValueId mean =
        u.Add("ReduceMean", {x, u.Int64s("axes", axes)}, {{"keepdims", int64_t{1}}});
    u.AddAs(u.output(0), "Sub", {x, mean});
  }
  u.Drop();
  return absl::OkStatus();
}

// ONNX Runtime writes it in the standard's domain, at any opset.
absl::Status OfMicrosoft(NodeUpgrade& u) {
  u.node.domain = kMicrosoftDomain;
  return absl::OkStatus();
}

// Only becomes a node with a schema.
absl::Status SameAsLater(NodeUpgrade&) { return absl::OkStatus(); }

absl::Status NoStandardMeaning(NodeUpgrade& u) {
  return absl::UnimplementedError(absl::StrCat("the experimental op ", u.node.op_type,
                                               " has no equivalent in the standard's opsets"));
}

}  // namespace

UpgradeRules LeftoverUpgrades() {
  return {{"", "Affine", kLeftover, Affine},
          {"", "ATen", kLeftover, NoStandardMeaning},
          {"", "ConstantFill", kLeftover, ConstantFill},
          {"", "Crop", kLeftover, Crop},
          {"", "DynamicSlice", kLeftover, DynamicSlice},
          {"", "GivenTensorFill", kLeftover, GivenTensorFill},
          {"", "GRUUnit", kLeftover, NoStandardMeaning},
          {"", "ImageScaler", kLeftover, ImageScaler},
          {"", "LayerNormalization", kLeftover, SameAsLater},
          {"", "MeanVarianceNormalization", kLeftover, MeanVarianceNormalization},
          {"", "ParametricSoftplus", kLeftover, ParametricSoftplus},
          {"", "Scale", kLeftover, Scale},
          {"", "ScaledTanh", kLeftover, ScaledTanh},
          {"", "SimplifiedLayerNormalization", kLeftover, OfMicrosoft},
          {"", "ThresholdedRelu", kLeftover, SameAsLater}};
}

}  // namespace onward::onnx_io
