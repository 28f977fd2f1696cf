// ConvInteger and QLinearConv: the input is shifted by its zero point to 16 bits, so that padding
// is zero, then multiplied as Conv does it.
#include "kernels/bind/quantized_conv.h"

#include <utility>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/conv_columns.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

// For the input in 16 bits.
void AddScratch(BindContext& context) {
  context.SetScratch(NumElements(context.input_dims(0)) * static_cast<int64_t>(sizeof(int16_t)));
}

// The sums without bias: store(filter, first output element, count, sums).
template <typename Store>
void Convolve(RunContext& context, const QuantizedConvInputs& inputs, const Store& store) {
  const auto& s = context.state<QuantizedConvSizes>();
  const TensorView& x = context.input(0);
  const TensorView& w = context.input(inputs.w);
  const auto x_zero =
      static_cast<int16_t>(LineValues<int32_t>(OptionalInput(context, inputs.x_zero))[0]);
  const LineValues<uint32_t> w_zeros(OptionalInput(context, inputs.w_zero));
  int16_t* shifted = context.scratch<int16_t>();
  DispatchDType(TypeList<int8_t, uint8_t>(), x.dtype, [&](auto tag) {
    const auto* from = x.as<const typename decltype(tag)::type>();
    context.ParallelFor(x.num_elements(), kCheapGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) shifted[i] = static_cast<int16_t>(from[i] - x_zero);
    });
  });
  const int64_t filters = s.filters / s.group;
  const int64_t depth_all = s.channels / s.group * s.kernel_size;
  const ConvColumns implicit = {s.axes, s.kernel_size, s.image_size, s.positions};
  TiledProduct<uint32_t>(
      context, s.batch * s.group, filters, s.positions, depth_all,
      [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, uint32_t* to) {
        for (int64_t i = 0; i < rows; ++i, to += kTileDepth) {
          const int64_t filter = batch % s.group * filters + row + i;
          LoadShifted(w, filter * depth_all + p, depth, w_zeros[filter], to);
        }
      },
      [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, uint32_t* to) {
        const int16_t* image = shifted + batch * (s.channels / s.group) * s.image_size;
        PackConvColumns(implicit, image, p, depth, column, columns, to);
      },
      [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const uint32_t* sums) {
        store(batch % s.group * filters + row, (batch * filters + row) * s.positions + column,
              columns, sums);
      });
}

class ConvInteger : public Kernel {
 public:
  explicit ConvInteger(ConvAttributes attributes) : attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindConvInteger(context, attributes_));
    AddScratch(context);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    int32_t* y = context.out<int32_t>(0);
    Convolve(context, kConvIntegerInputs,
             [&](int64_t, int64_t to, int64_t count, const uint32_t* sums) {
               for (int64_t j = 0; j < count; ++j) y[to + j] = static_cast<int32_t>(sums[j]);
             });
    return absl::OkStatus();
  }

 private:
  ConvAttributes attributes_;
};

class QLinearConv : public Kernel {
 public:
  explicit QLinearConv(ConvAttributes attributes) : attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindQLinearConv(context, attributes_));
    AddScratch(context);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const float x_scale = *context.in<float>(1), y_scale = *context.in<float>(6);
    const LineValues<float> w_scales(context.input(4));
    const int32_t* bias = context.has_input(8) ? context.in<int32_t>(8) : nullptr;
    const Requantizer to_output(context.output(0), context.input(7));
    Convolve(context, kQLinearConvInputs,
             [&](int64_t filter, int64_t to, int64_t count, const uint32_t* sums) {
               const float scale = x_scale * w_scales[filter] / y_scale;
               const uint32_t offset = bias == nullptr ? 0 : static_cast<uint32_t>(bias[filter]);
               for (int64_t j = 0; j < count; ++j)
                 to_output.Store(to + j, AsSigned(sums[j] + offset), scale);
             });
    return absl::OkStatus();
  }

 private:
  ConvAttributes attributes_;
};

template <typename ConvKernel>
absl::StatusOr<std::unique_ptr<Kernel>> MakeQuantizedConv(const NodeSpec& spec) {
  const int w =
      std::is_same_v<ConvKernel, QLinearConv> ? kQLinearConvInputs.w : kConvIntegerInputs.w;
  for (int i : {0, w}) {
    const DType dtype = spec.input_dtype(i);
    if (dtype != DType::kInt8 && dtype != DType::kUint8) return NoLoopFor(dtype);
  }
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  return std::make_unique<ConvKernel>(std::move(attributes));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvInteger", "conv_integer_reference", MakeQuantizedConv<ConvInteger>},
    {"", "QLinearConv", "qlinear_conv_reference", MakeQuantizedConv<QLinearConv>},
};

}  // namespace

KernelList ReferenceQuantizedConv() { return kKernels; }

}  // namespace onward::kernels::cpu
