#include "kernels/cpu/elementwise.h"

#include "absl/strings/str_cat.h"
#include "kernels/bind/binary.h"

namespace onward::kernels::cpu {

absl::Status NoLoopFor(DType dtype) {
  return absl::UnimplementedError(
      absl::StrCat("no loop for dtype ", std::string(DTypeName(dtype))));
}

absl::Status UnaryKernel::Bind(BindContext& context) const {
  context.SetOutput(0, context.input_dims(0));
  if (in_size_ == out_size_) context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

absl::Status UnaryKernel::Run(RunContext& context) const {
  const TensorView& in = context.input(0);
  const std::byte* from = in.as<const std::byte>();
  std::byte* to = context.out<std::byte>(0);
  context.ParallelFor(in.num_elements(), grain_, [&](int64_t begin, int64_t end) {
    loop_(from + begin * in_size_, to + begin * out_size_, end - begin, parameters_);
  });
  return absl::OkStatus();
}

absl::Status BinaryKernel::Bind(BindContext& context) const {
  return BindBinary(context, {.same_size = same_size_,
                              .to_first = broadcasting_ == Broadcasting::kToFirst,
                              .equal = broadcasting_ == Broadcasting::kNone});
}

absl::Status BinaryKernel::Run(RunContext& context) const {
  const void* a = context.input(0).data;
  const void* b = context.input(1).data;
  void* out = context.output(0).data;
  ParallelTiles<2>(context, context.state<BroadcastLoop<2>>(), grain_,
                   [&](const BroadcastTile<2>& tile) { loop_(tile, a, b, out, parameters_); });
  return absl::OkStatus();
}

}  // namespace onward::kernels::cpu
