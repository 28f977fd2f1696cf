// Concat and Split: one launch for each part, whose rows lie apart in the whole tensor.
#include <algorithm>

#include "kernels/bind/concat.h"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

// Rows of `columns` units; pitches from the beginning of a row to the next one, in units.
template <typename U, typename Index, typename By>
__global__ void RowsLoop(const U* from, U* to, Index count, By columns, int64_t from_pitch,
                         int64_t to_pitch) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const Index at = static_cast<Index>(i), row = columns.Quotient(at);
    const int64_t column = at - row * columns.divisor;
    to[row * to_pitch + column] = from[row * from_pitch + column];
  }
}

struct Rows {
  const char* from;
  char* to;
  int64_t rows, columns, from_pitch, to_pitch;  // bytes, but for the rows
};

template <typename U>
absl::Status CopyUnits(const Rows& rows, cudaStream_t stream) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(U));
  const int64_t columns = rows.columns / kSize, count = rows.rows * columns;
  const auto launch = [&](auto* loop, auto by, auto units) {
    return Launch(loop, Blocks(count), kThreads, 0, stream, reinterpret_cast<const U*>(rows.from),
                  reinterpret_cast<U*>(rows.to), units, by, rows.from_pitch / kSize,
                  rows.to_pitch / kSize);
  };
  if (count <= INT32_MAX) {
    return launch(&RowsLoop<U, uint32_t, Divisor>, Divisor(static_cast<uint32_t>(columns)),
                  static_cast<uint32_t>(count));
  }
  return launch(&RowsLoop<U, int64_t, WideDivisor>, WideDivisor(columns), count);
}

// In units of up to 16 bytes, where all rows begin at multiples of these.
absl::Status CopyRows(const Rows& rows, cudaStream_t stream) {
  if (rows.rows == 0 || rows.columns == 0) return absl::OkStatus();
  const auto bits = static_cast<uint64_t>(rows.columns | rows.from_pitch | rows.to_pitch) |
                    reinterpret_cast<uintptr_t>(rows.from) | reinterpret_cast<uintptr_t>(rows.to);
  if (bits % 16 == 0) return CopyUnits<uint4>(rows, stream);
  if (bits % 8 == 0) return CopyUnits<uint2>(rows, stream);
  if (bits % 4 == 0) return CopyUnits<uint32_t>(rows, stream);
  if (bits % 2 == 0) return CopyUnits<uint16_t>(rows, stream);
  return CopyUnits<uint8_t>(rows, stream);
}

struct Part {
  int64_t begin, size;  // bytes of a row of the whole
};

Part PartOf(const Parts& parts, int i, int64_t size) {
  const int64_t begin = i == 0 ? 0 : parts.ends[i - 1];
  return {begin * size, (parts.ends[i] - begin) * size};
}

int64_t SizeOf(DType dtype) { return BitSize(dtype) / 8; }

class Concat : public Kernel {
 public:
  explicit Concat(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindConcat(context, axis_, *context.NewState<Parts>());
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& whole = context.output(0);
    const auto& parts = context.state<Parts>();
    if (parts.count == 1 && context.input(0).data == whole.data) return absl::OkStatus();
    const int64_t size = SizeOf(whole.dtype);
    for (int i = 0; i < static_cast<int>(parts.count); ++i) {
      const Part part = PartOf(parts, i, size);
      ONWARD_RETURN_IF_ERROR(CopyRows({static_cast<const char*>(context.input(i).data),
                                       static_cast<char*>(whole.data) + part.begin, parts.rows,
                                       part.size, part.size, parts.row * size},
                                      StreamOf(context)));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};

class Split : public Kernel {
 public:
  explicit Split(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindSplit(context, axis_, *context.NewState<Parts>());
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& whole = context.input(0);
    const auto& parts = context.state<Parts>();
    const int64_t size = SizeOf(whole.dtype);
    for (int i = 0; i < static_cast<int>(parts.count); ++i) {
      if (!context.has_output(i) || context.output(i).data == whole.data) continue;
      const Part part = PartOf(parts, i, size);
      ONWARD_RETURN_IF_ERROR(CopyRows({static_cast<const char*>(whole.data) + part.begin,
                                       static_cast<char*>(context.output(i).data), parts.rows,
                                       part.size, parts.row * size, part.size},
                                      StreamOf(context)));
    }
    return absl::OkStatus();
  }
  uint64_t host_inputs() const override { return ~uint64_t{1}; }  // the sizes

 private:
  const int64_t axis_;
};

absl::Status CheckDType(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype != DType::kString && !IsSubByte(dtype)) return absl::OkStatus();
  return absl::UnimplementedError("only tensors of whole bytes lie on the device");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcat(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDType(spec));
  return std::make_unique<Concat>(spec.attributes().Int("axis", 0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSplit(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDType(spec));
  ONWARD_RETURN_IF_ERROR(CheckSplit(spec));
  return std::make_unique<Split>(spec.attributes().Int("axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Concat", "concat_cuda", MakeConcat},
    {"", "Split", "split_cuda", MakeSplit},
};

}  // namespace

KernelList ConcatKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
