// Shapes of Conv, ConvTranspose and DeformConv.
#pragma once

#include "kernels/bind/window.h"

namespace onward::kernels {

struct ConvAttributes {
  WindowAttributes window;
  int64_t group = 1;

  static absl::StatusOr<ConvAttributes> Parse(const NodeSpec& spec);
};

// A convolution with every size known. X is [batch, channels, input...], W is [filters,
// channels / group, kernel...], Y is [batch, filters, output...].
struct ConvGeometry {
  Dims output;
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t filters = 0;
  int64_t group = 1;
  WindowAxes axes;

  int64_t input_size() const;   // product of spatial input sizes
  int64_t output_size() const;  // product of spatial output sizes
  int64_t kernel_size() const;  // product of kernel sizes
};

// `bias` is null when there is none. InvalidArgument names the dims that do not fit.
absl::StatusOr<ConvGeometry> ConvDims(const ConvAttributes& attributes, DimsView x, DimsView w,
                                      const DimsView* bias);
// The same for the inputs X, W and, where there is one, bias.
absl::StatusOr<ConvGeometry> ConvDims(const ConvAttributes& attributes, const BindContext& context);

// InvalidArgument when input 3, the residual of a fused convolution, has not the shape `output`.
absl::Status CheckResidual(const BindContext& context, DimsView output);

struct ConvTransposeAttributes {
  ConvAttributes conv;
  Dims output_padding;
  Dims output_shape;  // spatial sizes, or all sizes

  static absl::StatusOr<ConvTransposeAttributes> Parse(const NodeSpec& spec);
};

// The convolution whose gradient this is: `input` of an axis is ConvTranspose's output and `output`
// its input. X is [batch, channels, axes.output...], W is [channels, filters / group, kernel...], Y
// (`output`) is [batch, filters, axes.input...].
absl::StatusOr<ConvGeometry> ConvTransposeDims(const ConvTransposeAttributes& attributes,
                                               DimsView x, DimsView w, const DimsView* bias);
absl::StatusOr<ConvGeometry> ConvTransposeDims(const ConvTransposeAttributes& attributes,
                                               const BindContext& context);

}  // namespace onward::kernels
