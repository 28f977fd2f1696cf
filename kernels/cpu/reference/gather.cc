// Gather, GatherElements, GatherND.
#include "kernels/bind/gather.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Remembers the least bad position that any thread met; -1 is none.
class Fault {
 public:
  void Report(int64_t position) {
    int64_t seen = position_.load(std::memory_order_relaxed);
    while ((seen < 0 || position < seen) &&
           !position_.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
  }
  int64_t position() const { return position_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> position_{-1};
};

class Gather : public Kernel {
 public:
  explicit Gather(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override { return BindGather(context, axis_); }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<GatherSizes>();
    const TensorView& indices = context.input(1);
    Fault fault;
    if (state.inner > 0) {
      DispatchElement(context.input(0).dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        context.ParallelFor(
            state.outer * state.count, std::max<int64_t>(1, CopyGrain<T>() / state.inner),
            [&](int64_t begin, int64_t end) {
              GatherRows(state, indices, begin, end, context.in<T>(0), context.out<T>(0), fault);
            });
      });
    }
    if (fault.position() >= 0) return BadIndex(indices, fault.position(), state.dim);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void GatherRows(const GatherSizes& state, const TensorView& indices, int64_t begin,
                         int64_t end, const T* in, T* out, Fault& fault) {
    int64_t outer = begin / state.count, i = begin % state.count;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = Wrapped(IndexAt(indices, i), state.dim);
      if (at < 0) return fault.Report(i);
      const T* from = in + (outer * state.dim + at) * state.inner;
      if (state.inner == 1) {
        out[row] = *from;
      } else {
        CopyRun(from, state.inner, out + row * state.inner);
      }
      if (++i == state.count) i = 0, ++outer;
    }
  }
  int64_t axis_;
};

class GatherElements : public Kernel {
 public:
  explicit GatherElements(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindGatherElements(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<GatherElementsPlan>();
    const TensorView &data = context.input(0), &indices = context.input(1);
    const int64_t columns = indices.dims.back(), count = indices.num_elements();
    const int64_t dim = data.dim(state.axis);
    if (count == 0) return absl::OkStatus();
    Fault fault;
    DispatchElement(data.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / columns);
      context.ParallelFor(count / columns, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          GatherRow(state, data, indices, row, context.in<T>(0), context.out<T>(0), fault);
      });
    });
    if (fault.position() >= 0) return BadIndex(indices, fault.position(), dim);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void GatherRow(const GatherElementsPlan& state, const TensorView& data,
                        const TensorView& indices, int64_t row, const T* in, T* out, Fault& fault) {
    const int64_t last = data.rank() - 1, columns = indices.dims.back();
    const int64_t dim = data.dim(state.axis), stride = state.strides[state.axis];
    int64_t rest = row;
    for (int64_t i = last; i-- > 0; rest /= indices.dim(i)) {
      if (i != state.axis) in += rest % indices.dim(i) * state.strides[i];
    }
    const int64_t step = state.axis == last ? 0 : 1, position = row * columns;
    const int64_t done = indices.dtype == DType::kInt32
                             ? Pick(in, step, stride, indices.as<const int32_t>() + position, dim,
                                    columns, out + position)
                             : Pick(in, step, stride, indices.as<const int64_t>() + position, dim,
                                    columns, out + position);
    if (done < columns) fault.Report(position + done);
  }
  // out[c] = in[c * step + index[c] * stride]; the first place of a bad index, or `columns`.
  template <typename T, typename Index>
  static int64_t Pick(const T* in, int64_t step, int64_t stride, const Index* index, int64_t dim,
                      int64_t columns, T* out) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = Wrapped(index[c], dim);
      if (at < 0) return c;
      out[c] = in[c * step + at * stride];
    }
    return columns;
  }
  int64_t axis_;
};

class GatherND : public Kernel {
 public:
  explicit GatherND(int64_t batch_dims) : batch_dims_(batch_dims) {}
  absl::Status Bind(BindContext& context) const override {
    return BindGatherND(context, batch_dims_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<GatherNDPlan>();
    const TensorView& indices = context.input(1);
    Fault fault;
    if (state.inner > 0) {
      DispatchElement(context.input(0).dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const int64_t grain =
            std::max<int64_t>(1, std::min(CopyGrain<T>() / state.inner, int64_t{1} << 13));
        context.ParallelFor(state.rows, grain, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row)
            GatherRow(state, indices, row, context.in<T>(0), context.out<T>(0), fault);
        });
      });
    }
    if (const int64_t at = fault.position(); at >= 0)
      return BadIndex(indices, at, state.dims[at % state.depth]);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void GatherRow(const GatherNDPlan& state, const TensorView& indices, int64_t row,
                        const T* in, T* out, Fault& fault) {
    int64_t from = row / state.rows_per_batch * state.batch_stride;
    for (int64_t i = 0; i < state.depth; ++i) {
      const int64_t position = row * state.depth + i;
      const int64_t at = Wrapped(indices.as<const int64_t>()[position], state.dims[i]);
      if (at < 0) return fault.Report(position);
      from += at * state.strides[i];
    }
    CopyRun(in + from, state.inner, out + row * state.inner);
  }
  int64_t batch_dims_;
};

Made MakeGather(const NodeSpec& spec) {
  return std::make_unique<Gather>(spec.attributes().Int("axis", 0));
}

Made MakeGatherElements(const NodeSpec& spec) {
  return std::make_unique<GatherElements>(spec.attributes().Int("axis", 0));
}

Made MakeGatherND(const NodeSpec& spec) {
  const int64_t batch_dims = spec.attributes().Int("batch_dims", 0);
  if (batch_dims < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dims is ", batch_dims, ", must be at least 0"));
  return std::make_unique<GatherND>(batch_dims);
}

constexpr KernelEntry kKernels[] = {
    {"", "Gather", "gather_reference", MakeGather},
    {"", "GatherElements", "gather_elements_reference", MakeGatherElements},
    {"", "GatherND", "gather_nd_reference", MakeGatherND},
};

}  // namespace

KernelList ReferenceGather() { return kKernels; }

}  // namespace onward::kernels::cpu
