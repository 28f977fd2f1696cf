// The gradient of MaxPool over one or two spatial axes in float32, one plane at a time.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/kernel_list.h"
#include "kernels/shapes/pool.h"

namespace onward::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // window elements that one thread takes at a time

struct PoolGradientState {
  WindowAxis rows, columns;
  int64_t planes, input_size, output_size;
};

class MaxPoolGradient : public Kernel {
 public:
  explicit MaxPoolGradient(PoolAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, context.input_dims(0)));
    if (DimsView(g.output) != context.input_dims(1)) {
      return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(1)),
                                                     ", the pool's output ", DimsString(g.output)));
    }
    context.SetOutput(0, context.input_dims(0));
    auto* s = context.NewState<PoolGradientState>();
    s->rows = g.axes.size() == 2 ? g.axes[0] : WindowAxis{1, 1};
    s->columns = g.axes.back();
    s->planes = g.planes;
    s->input_size = g.input_size();
    s->output_size = g.output_size();
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolGradientState>();
    const int64_t work = s.input_size + s.output_size * s.rows.kernel * s.columns.kernel;
    context.ParallelFor(s.planes, std::max<int64_t>(1, kGrain / (work + 1)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            Plane(s, context.in<float>(0) + i * s.input_size,
                                  context.in<float>(1) + i * s.output_size,
                                  context.out<float>(0) + i * s.input_size);
                          }
                        });
    return absl::OkStatus();
  }

 private:
  static void Plane(const PoolGradientState& s, const float* x, const float* dy, float* dx) {
    std::fill_n(dx, s.input_size, 0.0f);
    for (int64_t i = 0; i < s.rows.output; ++i) {
      const int64_t top = s.rows.start(i);
      const int64_t k0 = s.rows.first_tap(top), k1 = s.rows.last_tap(top);
      for (int64_t j = 0; j < s.columns.output; ++j, ++dy) {
        const int64_t left = s.columns.start(j);
        const int64_t l0 = s.columns.first_tap(left), l1 = s.columns.last_tap(left);
        // The first largest, a NaN above all: as MaxPool's Indices.
        int64_t at =
            (top + k0 * s.rows.dilation) * s.columns.input + left + l0 * s.columns.dilation;
        float largest = x[at];
        for (int64_t k = k0; k < k1; ++k) {
          const int64_t row = (top + k * s.rows.dilation) * s.columns.input + left;
          for (int64_t l = l0; l < l1; ++l) {
            const int64_t here = row + l * s.columns.dilation;
            const bool larger = x[here] > largest || (std::isnan(x[here]) && !std::isnan(largest));
            largest = larger ? x[here] : largest;
            at = larger ? here : at;
          }
        }
        if (k0 < k1 && l0 < l1) dx[at] += *dy;
      }
    }
  }

  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPoolGradient(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() > 2)
    return absl::UnimplementedError("one or two spatial axes");
  return std::make_unique<MaxPoolGradient>(std::move(attributes));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "MaxPoolGradient", "max_pool_gradient", MakeMaxPoolGradient}};

}  // namespace

KernelList PoolGradientKernels() { return kKernels; }

}  // namespace onward::cpu
