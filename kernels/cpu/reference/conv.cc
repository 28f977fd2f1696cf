// Conv, ConvTranspose and DeformConv as products of the weights with an implicit matrix: one column
// per output position, one row per channel and tap.
#include "kernels/bind/conv.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/conv_columns.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

struct ConvState {
  ConvColumns columns;
  int64_t batch, channels, filters, group;
};

ConvState KeepGeometry(BindContext& context, const ConvGeometry& g, bool transposed) {
  ConvState state;
  state.columns.axes = context.Keep<WindowAxis>(absl::Span<const WindowAxis>(g.axes));
  state.columns.kernel_size = g.kernel_size();
  state.columns.image_size = transposed ? g.output_size() : g.input_size();
  state.columns.num_positions = transposed ? g.input_size() : g.output_size();
  state.batch = g.batch;
  state.channels = g.channels;
  state.filters = g.filters;
  state.group = g.group;
  return state;
}

// Sums of one group: W as a matrix of filters x (channel, tap) times the columns that `pack`
// gathers.
template <typename T, typename PackWeights, typename PackColumns>
void ConvProduct(RunContext& context, const ConvState& s, const T* bias,
                 const PackWeights& pack_weights, const PackColumns& pack_columns) {
  using Acc = Accumulator<T>;
  const int64_t filters = s.filters / s.group, positions = s.columns.num_positions;
  T* y = context.out<T>(0);
  TiledProduct<Acc>(
      context, s.batch * s.group, filters, positions, s.channels / s.group * s.columns.kernel_size,
      pack_weights, pack_columns,
      [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
        // batch = image * group + g, so the filters of all images stand in one sequence.
        T* to = y + (batch * filters + row) * positions + column;
        const Acc offset =
            bias == nullptr ? Acc(0) : static_cast<Acc>(bias[batch % s.group * filters + row]);
        for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(sums[j] + offset);
      });
}

template <typename T>
class Conv : public Kernel {
 public:
  explicit Conv(ConvAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    context.SetOutput(0, g.output);
    *context.NewState<ConvState>() = KeepGeometry(context, g, false);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    using Acc = Accumulator<T>;
    const auto& s = context.state<ConvState>();
    const T* x = context.in<T>(0);
    const T* w = context.in<T>(1);
    const int64_t filters = s.filters / s.group;
    const int64_t depth_all = s.channels / s.group * s.columns.kernel_size;
    ConvProduct(
        context, s, context.has_input(2) ? context.in<T>(2) : nullptr,
        [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          const T* from = w + (batch % s.group * filters + row) * depth_all + p;
          PackRows(from, depth_all, 1, rows, depth, kTileDepth, to);
        },
        [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          const T* image = x + batch * (s.channels / s.group) * s.columns.image_size;
          PackConvColumns(s.columns, image, p, depth, column, columns, to);
        });
    return absl::OkStatus();
  }

 private:
  ConvAttributes attributes_;
};

template <typename T>
class ConvTranspose : public Kernel {
 public:
  explicit ConvTranspose(ConvTransposeAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    context.SetOutput(0, g.output);
    *context.NewState<ConvState>() = KeepGeometry(context, g, true);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    using Acc = Accumulator<T>;
    const auto& s = context.state<ConvState>();
    const T* x = context.in<T>(0);
    const T* w = context.in<T>(1);
    const int64_t taps = s.columns.kernel_size;
    const int64_t filters = s.filters / s.group, channels = s.channels / s.group;
    ConvProduct(
        context, s, context.has_input(2) ? context.in<T>(2) : nullptr,
        [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          const T* group = w + batch % s.group * channels * filters * taps;
          for (int64_t q = p; q < p + depth; ++q, ++to) {
            const T* from = group + (q / taps * filters + row) * taps + q % taps;
            for (int64_t i = 0; i < rows; ++i)
              to[i * kTileDepth] = static_cast<Acc>(from[i * taps]);
          }
        },
        [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          const T* image = x + batch * channels * s.columns.image_size;
          PackTransposedColumns(s.columns, image, p, depth, column, columns, to);
        });
    return absl::OkStatus();
  }

 private:
  ConvTransposeAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Conv<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return absl::UnimplementedError("Conv takes floating-point tensors");
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvTranspose(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ConvTransposeAttributes attributes,
                          ConvTransposeAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<ConvTranspose<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr)
    return absl::UnimplementedError("ConvTranspose takes floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "conv_reference", MakeConv},
    {"", "ConvTranspose", "conv_transpose_reference", MakeConvTranspose},
};

}  // namespace

KernelList ReferenceConv() { return kKernels; }

}  // namespace onward::kernels::cpu
