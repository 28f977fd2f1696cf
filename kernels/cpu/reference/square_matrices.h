// Kernels that take the square matrices in the last two dims of their input one at a time.
#pragma once

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {

// Matrix `index` of `in`, n x n; `work` is scratch for as many matrices as the kernel asked for.
using MatrixLoop = void (*)(const void* in, void* out, int64_t index, int64_t n, double* work);

class SquareMatrices : public Kernel {
 public:
  // An output matrix for each input matrix, or one element.
  enum class Gives : uint8_t { kMatrix, kElement };

  SquareMatrices(MatrixLoop loop, Gives gives, int64_t work_matrices)
      : loop_(loop), gives_(gives), work_matrices_(work_matrices) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const size_t rank = dims.size();
    if (rank < 2 || dims[rank - 1] != dims[rank - 2]) {
      return absl::InvalidArgumentError(
          absl::StrCat("input has shape ", DimsString(dims), ", must be square matrices"));
    }
    context.SetOutput(0, gives_ == Gives::kMatrix ? dims : dims.first(rank - 2));
    context.SetScratch(work_matrices_ * dims[rank - 1] * dims[rank - 1] *
                       static_cast<int64_t>(sizeof(double)) * context.num_workers());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const int64_t n = in.dim(in.rank() - 1);
    const int64_t count = NumElements(in.dims.first(in.dims.size() - 2));
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, n * n * n));
    context.ParallelForWorkers(count, grain, [&](int worker, int64_t begin, int64_t end) {
      double* work = context.scratch<double>() + worker * work_matrices_ * n * n;
      for (int64_t i = begin; i < end; ++i) loop_(in.data, context.output(0).data, i, n, work);
    });
    return absl::OkStatus();
  }

 private:
  MatrixLoop loop_;
  Gives gives_;
  int64_t work_matrices_;
};

}  // namespace onward::kernels::cpu
