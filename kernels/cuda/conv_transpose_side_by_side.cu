// ConvTranspose over one or two axes whose windows lie side by side: one product, whose elements
// are then put into place.
#include <algorithm>
#include <optional>

#include "graph/base/checked.h"
#include "kernels/bind/conv.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {
namespace {

// The products [image][filter][tap row][tap column][row][column] of images of `pixels` elements
// become y [image][filter][row][tap row][column][tap column].
template <typename D>
struct Placement {
  D filters, rows, columns;  // of y, the columns in packs
  D tap_rows, packs;         // packs: those of a row of taps
  int64_t width, pixels;     // of x
};

// Writes `count` packs of y, each of taps of one row.
template <typename T, int kPack, typename I, typename D>
__global__ void PlaceLoop(const T* products, const T* bias, T* y, I count, Placement<D> p) {
  for (I i = static_cast<I>(GlobalIndex()); i < count; i += static_cast<I>(GlobalSize())) {
    const I line = p.columns.Quotient(i), place = i - line * p.columns.divisor;
    const I column = p.packs.Quotient(place), pack = place - column * p.packs.divisor;
    const I plane = p.rows.Quotient(line), y_row = line - plane * p.rows.divisor;
    const I row = p.tap_rows.Quotient(y_row), tap_row = y_row - row * p.tap_rows.divisor;
    const int64_t taps = static_cast<int64_t>(plane) * p.tap_rows.divisor + tap_row;
    const T* from = products + (taps * p.packs.divisor + pack) * kPack * p.pixels + row * p.width;
    ComputeType<T> addend = 0;
    if (bias != nullptr) addend = Load(bias[plane - p.filters.Quotient(plane) * p.filters.divisor]);
    Pack<T, kPack> elements;
    for (int k = 0; k < kPack; ++k)
      elements.elements[k] = Rounded<T>(Load(from[k * p.pixels + column]) + addend);
    StorePack(elements, y + static_cast<int64_t>(i) * kPack);
  }
}

struct SideBySide {
  WindowAxis h, w;
  int64_t filters, count;  // count: outputs
  Product product;
  cublasLtMatmulAlgo_t algorithm;
};

template <typename D>
Placement<D> PlacementOf(const SideBySide& s, int64_t pack) {
  const auto by = [](int64_t value) { return D(static_cast<decltype(D::divisor)>(value)); };
  return {by(s.filters),         by(s.h.input), by(s.w.input / pack),   by(s.h.kernel),
          by(s.w.kernel / pack), s.w.output,    s.h.output * s.w.output};
}

template <typename T>
struct PlaceOperands {
  const T *products, *bias;  // bias: may be null
  T* y;
};

template <typename T, int kPack>
absl::Status LaunchPacks(const PlaceOperands<T>& o, const SideBySide& s, cudaStream_t stream) {
  const int64_t count = s.count / kPack;
  if (count <= INT32_MAX) {
    return Launch(PlaceLoop<T, kPack, uint32_t, Divisor>, Blocks(count), kThreads, 0, stream,
                  o.products, o.bias, o.y, static_cast<uint32_t>(count),
                  PlacementOf<Divisor>(s, kPack));
  }
  return Launch(PlaceLoop<T, kPack, int64_t, WideDivisor>, Blocks(count), kThreads, 0, stream,
                o.products, o.bias, o.y, count, PlacementOf<WideDivisor>(s, kPack));
}

using LaunchPlacing = absl::Status (*)(const RunContext& context, const SideBySide& s);

template <typename T>
absl::Status LaunchPlace(const RunContext& context, const SideBySide& s) {
  const PlaceOperands<T> operands = {
      context.scratch<T>(), context.has_input(2) ? context.in<T>(2) : nullptr, context.out<T>(0)};
  cudaStream_t stream = StreamOf(context);
  const bool is_aligned = ArePackAligned({operands.y});
  if constexpr (kPackOf<T> >= 4) {
    if (is_aligned && s.w.kernel % 4 == 0) return LaunchPacks<T, 4>(operands, s, stream);
  }
  if (is_aligned && s.w.kernel % 2 == 0) return LaunchPacks<T, 2>(operands, s, stream);
  return LaunchPacks<T, 1>(operands, s, stream);
}

// Every output has one tap: the product is that of W transposed, filters and taps x channels, and
// of each image, channels x pixels.
class SideBySideConvTranspose : public Kernel {
 public:
  SideBySideConvTranspose(LaunchPlacing place, ConvTransposeAttributes attributes, DType dtype,
                          Precision precision)
      : place_(place),
        attributes_(std::move(attributes)),
        dtype_(dtype),
        product_(dtype, precision) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    context.SetOutput(0, g.output);
    auto* s = context.NewState<SideBySide>();
    s->count = NumElements(g.output);
    if (s->count == 0) return absl::OkStatus();
    if (g.axes.size() > 2) return absl::UnimplementedError("more than two spatial axes");
    if (g.batch > INT32_MAX) return absl::UnimplementedError("more than 2^31 - 1 images");
    s->h = RowsOf(g.axes);
    s->w = g.axes.back();
    s->filters = g.filters;
    Product& p = s->product;
    p.m = g.filters * g.kernel_size();
    p.n = g.output_size();
    p.k = g.channels;
    p.trans_a = true;
    p.batches = static_cast<int32_t>(g.batch);
    p.b_stride = p.k * p.n;
    const int64_t width = BitSize(dtype_) / 8;
    if (p.batches > 1) {
      p.b_alignment = AlignmentOfSteps(width * p.b_stride);
      p.d_alignment = AlignmentOfSteps(width * p.m * p.n);
    }
    // The products are as many as the outputs; the workspace lies behind them.
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(dtype_, g.output));
    context.SetScratch(bytes + LtProduct::scratch_bytes());
    return product_.Choose(p, &s->algorithm);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<SideBySide>();
    if (s.count == 0) return absl::OkStatus();
    ProductOperands operands;
    operands.a = context.input(1).data;
    operands.b = context.input(0).data;
    // Products of windows of one tap are in place.
    const bool in_place = s.h.kernel == 1 && s.w.kernel == 1 && !context.has_input(2);
    operands.d = in_place ? context.output(0).data : context.scratch<void>();
    ONWARD_RETURN_IF_ERROR(product_.Run(s.product, s.algorithm, 1, operands,
                                        context.scratch<char>() + s.count * (BitSize(dtype_) / 8),
                                        StreamOf(context)));
    return in_place ? absl::OkStatus() : place_(context, s);
  }

 private:
  LaunchPlacing place_;
  ConvTransposeAttributes attributes_;
  DType dtype_;
  LtProduct product_;
};

bool Are(const Dims& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [wanted](int64_t value) { return value == wanted; });
}

// False where it is not known that windows of `kernel` lie side by side and fill the output.
bool FillOutput(const ConvTransposeAttributes& attributes, DimsView kernel) {
  const WindowAttributes& window = attributes.conv.window;
  const bool are_strides = window.strides.empty() ? Are(Dims(kernel.begin(), kernel.end()), 1)
                                                  : DimsView(window.strides) == kernel;
  return are_strides && Are(window.dilations, 1) && Are(window.pads, 0) &&
         Are(attributes.output_padding, 0) && attributes.output_shape.empty();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSideBySide(const NodeSpec& spec) {
  const std::optional<Dims> w = spec.input_type(1).static_dims();
  if (!w || (w->size() != 3 && w->size() != 4) || NumElements(*w) == 0)
    return absl::UnimplementedError("only 1-D and 2-D windows of known size");
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  if (attributes.conv.group != 1 || !FillOutput(attributes, DimsView(*w).subspan(2)))
    return absl::UnimplementedError(
        "only one group whose windows are as large as the strides, "
        "without dilation and padding");
  LaunchPlacing place = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { place = LaunchPlace<typename decltype(tag)::type>; });
  if (place == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<SideBySideConvTranspose>(place, std::move(attributes),
                                                   spec.input_dtype(0), spec.options().precision);
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "conv_transpose_cublaslt", MakeSideBySide},
};

}  // namespace

KernelList SideBySideConvTransposeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
