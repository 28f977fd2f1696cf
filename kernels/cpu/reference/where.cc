// Where, by element size: the values are only moved.
#include "kernels/bind/where.h"

#include <complex>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using WhereLoop = void (*)(const BroadcastTile<3>& tile, const bool* condition, const void* x,
                           const void* y, void* out);

// Without a branch for numbers, so that loops vectorise.
template <typename T>
T Pick(uint8_t condition, const T& x, const T& y) {
  if constexpr (std::is_integral_v<T>) {
    const T mask = static_cast<T>(-static_cast<T>(condition != 0));
    return static_cast<T>((x & mask) | (y & ~mask));
  } else {
    return condition != 0 ? x : y;
  }
}

template <typename T>
void RunWhere(const BroadcastTile<3>& tile, const bool* condition, const void* x_data,
              const void* y_data, void* out_data) {
  const auto* c = reinterpret_cast<const uint8_t*>(condition) + tile.offset[0];
  const T* x = static_cast<const T*>(x_data) + tile.offset[1];
  const T* y = static_cast<const T*>(y_data) + tile.offset[2];
  T* out = static_cast<T*>(out_data) + tile.out_offset;
  const int64_t n = tile.columns, sc = tile.column_stride[0], sx = tile.column_stride[1],
                sy = tile.column_stride[2];
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (sc != 0 && sx != 0 && sy != 0) {
      for (int64_t i = 0; i < n; ++i) out[i] = Pick<T>(c[i], x[i], y[i]);
    } else if (sc != 0 && sx == 0 && sy != 0) {
      const T value = *x;
      for (int64_t i = 0; i < n; ++i) out[i] = Pick<T>(c[i], value, y[i]);
    } else if (sc != 0 && sx != 0) {
      const T value = *y;
      for (int64_t i = 0; i < n; ++i) out[i] = Pick<T>(c[i], x[i], value);
    } else if (sc == 0) {
      const T* from = *c ? x : y;
      if ((*c ? sx : sy) != 0) {
        std::copy(from, from + n, out);
      } else {
        std::fill(out, out + n, T(*from));
      }
    } else {
      const T yes = *x, no = *y;
      for (int64_t i = 0; i < n; ++i) out[i] = Pick<T>(c[i], yes, no);
    }
    c += tile.row_stride[0];
    x += tile.row_stride[1];
    y += tile.row_stride[2];
    out += n;
  }
}

class Where : public Kernel {
 public:
  explicit Where(WhereLoop loop) : loop_(loop) {}
  absl::Status Bind(BindContext& context) const override { return BindWhere(context); }
  absl::Status Run(RunContext& context) const override {
    const bool* condition = context.in<bool>(0);
    const void* x = context.input(1).data;
    const void* y = context.input(2).data;
    void* out = context.output(0).data;
    ParallelTiles<3>(context, context.state<BroadcastLoop<3>>(), kCheapGrain,
                     [&](const BroadcastTile<3>& tile) { loop_(tile, condition, x, y, out); });
    return absl::OkStatus();
  }

 private:
  WhereLoop loop_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWhere(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(1);
  if (dtype == DType::kString) return std::make_unique<Where>(RunWhere<std::string>);
  switch (BitSize(dtype)) {
    case 8:
      return std::make_unique<Where>(RunWhere<uint8_t>);
    case 16:
      return std::make_unique<Where>(RunWhere<uint16_t>);
    case 32:
      return std::make_unique<Where>(RunWhere<uint32_t>);
    case 64:
      return std::make_unique<Where>(RunWhere<uint64_t>);
    case 128:
      return std::make_unique<Where>(RunWhere<std::complex<double>>);
  }
  return NoLoopFor(dtype);
}

constexpr KernelEntry kKernels[] = {
    {"", "Where", "where_reference", MakeWhere},
};

}  // namespace

KernelList ReferenceWhere() { return kKernels; }

}  // namespace onward::kernels::cpu
