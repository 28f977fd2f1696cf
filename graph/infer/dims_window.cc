#include <cmath>

#include "graph/base/scaled_size.h"
#include "graph/infer/dim_rules.h"

namespace onward {
namespace {

using MaybeDims = std::optional<SymbolicDims>;

// Sizes of a window per spatial axis, with the standard's defaults.
struct Windows {
  std::vector<int64_t> kernel, strides, dilations, pads;
  std::string auto_pad;

  static std::optional<Windows> Of(const InferScope& scope, const SymbolicDims* weight,
                                   size_t spatial) {
    const Attributes& attributes = scope.node.attributes;
    Windows windows{attributes.Ints("kernel_shape"), attributes.Ints("strides"),
                    attributes.Ints("dilations"), attributes.Ints("pads"),
                    attributes.String("auto_pad", "NOTSET")};
    if (windows.kernel.empty() && weight != nullptr && weight->size() == spatial + 2) {
      for (size_t i = 2; i < weight->size(); ++i) {
        if (!(*weight)[i].known()) return std::nullopt;
        windows.kernel.push_back((*weight)[i].value());
      }
    }
    if (windows.strides.empty()) windows.strides.assign(spatial, 1);
    if (windows.dilations.empty()) windows.dilations.assign(spatial, 1);
    if (windows.pads.empty()) windows.pads.assign(2 * spatial, 0);
    const bool fits = windows.kernel.size() == spatial && windows.strides.size() == spatial &&
                      windows.dilations.size() == spatial && windows.pads.size() == 2 * spatial;
    if (!fits) return std::nullopt;
    for (size_t i = 0; i < spatial; ++i) {
      constexpr int64_t kLimit = int64_t{1} << 31;
      for (int64_t value : {windows.kernel[i], windows.strides[i], windows.dilations[i]}) {
        if (value < 1 || value > kLimit) return std::nullopt;
      }
    }
    return windows;
  }

  // The kernel's extent with dilation.
  Dim Extent(size_t i) const {
    return DimAdd(DimMul(Dim(kernel[i] - 1), Dim(dilations[i])), Dim(1));
  }
  bool same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
  Dim Pads(size_t i) const {
    if (auto_pad == "VALID") return Dim(0);
    return DimAdd(NumberDim(pads[i]), NumberDim(pads[i + kernel.size()]));
  }
};

// The number of windows in one axis: the standard's output_spatial_shape of Conv and MaxPool.
Dim WindowCount(const Windows& windows, size_t i, const Dim& size, bool ceil) {
  const Dim stride(windows.strides[i]);
  if (windows.same()) return DimCeilDiv(size, stride);
  const Dim room = DimSub(DimAdd(size, windows.Pads(i)), windows.Extent(i));
  if (!ceil) return DimAdd(DimFloorDiv(room, stride), Dim(1));
  // No window starts in the padding after the end.
  const Dim head = windows.auto_pad == "VALID" ? Dim(0) : NumberDim(windows.pads[i]);
  return DimMin(DimAdd(DimCeilDiv(room, stride), Dim(1)), DimCeilDiv(DimAdd(size, head), stride));
}

// Input of the weights: null for pools.
const SymbolicDims* Weight(const InferScope& scope) {
  const std::string& op = scope.node.op_type;
  if (op == "QLinearConv") return scope.Shape(3);
  return op.find("Conv") != std::string::npos ? scope.Shape(1) : nullptr;
}

MaybeDims ConvOrPool(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  if (input == nullptr || input->size() < 3) return std::nullopt;
  const SymbolicDims* weight = Weight(scope);
  const bool pool = scope.node.op_type.find("Pool") != std::string::npos;
  const std::optional<Windows> windows = Windows::Of(scope, weight, input->size() - 2);
  if (!windows || (!pool && (weight == nullptr || weight->empty()))) return std::nullopt;
  const bool ceil = scope.node.attributes.Int("ceil_mode", 0) != 0;
  SymbolicDims dims = *input;
  if (!pool) dims[1] = (*weight)[0];
  for (size_t i = 2; i < dims.size(); ++i) {
    dims[i] = WindowCount(*windows, i - 2, dims[i], pool && ceil);
  }
  return dims;
}

MaybeDims ConvTranspose(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const SymbolicDims* weight = scope.Shape(1);
  if (input == nullptr || weight == nullptr || input->size() < 3) return std::nullopt;
  const size_t spatial = input->size() - 2;
  const std::optional<Windows> windows = Windows::Of(scope, weight, spatial);
  if (!windows) return std::nullopt;
  const Attributes& attributes = scope.node.attributes;
  const std::vector<int64_t> sizes = attributes.Ints("output_shape");
  const std::vector<int64_t> extra =
      attributes.Ints("output_padding", std::vector<int64_t>(spatial, 0));
  if (extra.size() != spatial || (!sizes.empty() && sizes.size() < spatial)) return std::nullopt;
  SymbolicDims dims = *input;
  dims[1] = DimMul((*weight)[1], Dim(attributes.Int("group", 1)));
  for (size_t i = 0; i < spatial; ++i) {
    const Dim stride(windows->strides[i]);
    Dim& dim = dims[i + 2];
    if (!sizes.empty()) {
      dim = Dim(sizes[sizes.size() - spatial + i]);
    } else if (windows->same()) {
      dim = DimMul(dim, stride);
    } else {
      const Dim span = DimAdd(DimMul(DimSub(dim, Dim(1)), stride), windows->Extent(i));
      dim = DimSub(DimAdd(span, NumberDim(extra[i])), windows->Pads(i));
    }
  }
  return dims;
}

// ScaledSize of a number, or of any size where the scale is a fraction of a small power of two.
Dim Scaled(const Dim& size, float scale) {
  if (size.known()) {
    const double scaled = ScaledSize(size.value(), scale);
    return scaled >= 0 && scaled < 1e15 ? Dim(static_cast<int64_t>(scaled)) : Dim();
  }
  for (int shift = 0; shift <= 16; ++shift) {
    const double scaled = std::ldexp(static_cast<double>(scale), shift);
    if (!(scaled >= 0 && scaled < 1e12)) return {};
    if (scaled != std::floor(scaled)) continue;
    return DimFloorDiv(DimMul(size, Dim(static_cast<int64_t>(scaled))), Dim(int64_t{1} << shift));
  }
  return {};
}

MaybeDims Resize(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  if (input == nullptr) return std::nullopt;
  const size_t sizes_input = 3;
  const size_t scales_input = scope.node.op_type == "Upsample" ? 1 : 2;
  SymbolicDims dims = *input;
  std::vector<size_t> axes;
  for (int64_t axis : scope.node.attributes.Ints("axes")) {
    const absl::StatusOr<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(dims.size()));
    if (!normal.ok()) return std::nullopt;
    axes.push_back(static_cast<size_t>(*normal));
  }
  if (axes.empty()) {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(i);
  }
  const std::string policy = scope.node.attributes.String("keep_aspect_ratio_policy", "stretch");
  if (scope.HasInput(sizes_input)) {
    const MaybeDims sizes = scope.Elements(sizes_input);
    if (!sizes || sizes->size() != axes.size() || policy != "stretch") return std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = (*sizes)[i];
    return dims;
  }
  if (!scope.HasInput(scales_input)) return std::nullopt;
  const Tensor* scales = scope.graph.constant(scope.node.inputs[scales_input]);
  if (scales == nullptr || scales->dtype() != DType::kFloat32 || scales->raw_data() == nullptr ||
      scales->num_elements() != static_cast<int64_t>(axes.size())) {
    return std::nullopt;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = Scaled(dims[axes[i]], scales->data<float>()[i]);
  }
  return dims;
}

// [batch, frames, bins, 2]
MaybeDims Stft(const InferScope& scope, size_t) {
  const SymbolicDims* signal = scope.Shape(0);
  const MaybeDims step = scope.Elements(1);
  const SymbolicDims* window = scope.Shape(2);
  const MaybeDims length = scope.Elements(3);
  if (signal == nullptr || signal->size() < 2 || !step || step->size() != 1) return std::nullopt;
  Dim frame;
  if (length && length->size() == 1) frame = (*length)[0];
  if (frame.unknown() && window != nullptr && window->size() == 1) frame = (*window)[0];
  const Dim frames = DimAdd(DimFloorDiv(DimSub((*signal)[1], frame), (*step)[0]), Dim(1));
  const bool onesided = scope.node.attributes.Int("onesided", 1) != 0;
  const Dim bins = onesided ? DimAdd(DimFloorDiv(frame, Dim(2)), Dim(1)) : frame;
  return SymbolicDims{(*signal)[0], frames, bins, Dim(2)};
}

constexpr DimRule kRules[] = {
    {"AveragePool", ConvOrPool},
    {"Conv", ConvOrPool},
    {"ConvInteger", ConvOrPool},
    {"ConvTranspose", ConvTranspose},
    {"DeformConv", ConvOrPool},
    {"FusedConv", ConvOrPool},
    {"LpPool", ConvOrPool},
    {"MaxPool", ConvOrPool},
    {"PointwiseDepthwiseConv", ConvOrPool},
    {"QLinearConv", ConvOrPool},
    {"Resize", Resize},
    {"STFT", Stft},
    {"Upsample", Resize},
};

}  // namespace

absl::Span<const DimRule> WindowDimRules() { return kRules; }

}  // namespace onward
