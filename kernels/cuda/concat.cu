// Concat and Split: rows of each part lie apart in the whole tensor.
#include <algorithm>

#include "kernels/bind/concat.h"
#include "kernels/cuda/copy_rows.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

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
    const bool is_there = parts.count == 1 && context.input(0).data == whole.data;
    if (is_there || whole.num_elements() == 0) return absl::OkStatus();
    const int64_t size = SizeOf(whole.dtype);
    RowCopies copies(StreamOf(context));
    for (int i = 0; i < static_cast<int>(parts.count); ++i) {
      const Part part = PartOf(parts, i, size);
      ONWARD_RETURN_IF_ERROR(copies.Add({static_cast<const char*>(context.input(i).data),
                                         static_cast<char*>(whole.data) + part.begin, parts.rows,
                                         part.size, part.size, parts.row * size}));
    }
    return copies.Finish();
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
    if (whole.num_elements() == 0) return absl::OkStatus();
    const auto& parts = context.state<Parts>();
    const int64_t size = SizeOf(whole.dtype);
    RowCopies copies(StreamOf(context));
    for (int i = 0; i < static_cast<int>(parts.count); ++i) {
      if (!context.has_output(i) || context.output(i).data == whole.data) continue;
      const Part part = PartOf(parts, i, size);
      ONWARD_RETURN_IF_ERROR(copies.Add({static_cast<const char*>(whole.data) + part.begin,
                                         static_cast<char*>(context.output(i).data), parts.rows,
                                         part.size, parts.row * size, part.size}));
    }
    return copies.Finish();
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
