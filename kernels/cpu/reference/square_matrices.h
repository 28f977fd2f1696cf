// Kernels that take the square matrices in the last two dims of their input one at a time.
#pragma once

#include <algorithm>

#include "kernels/bind/square_matrices.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {

// Matrix `index` of `in`, n x n; `work` is scratch for as many matrices as the kernel asked for.
using MatrixLoop = void (*)(const void* in, void* out, int64_t index, int64_t n, double* work);

class SquareMatrices : public Kernel {
 public:
  SquareMatrices(MatrixLoop loop, MatrixGives gives, int64_t work_matrices)
      : loop_(loop), gives_(gives), work_matrices_(work_matrices) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindSquareMatrices(context, gives_));
    const int64_t n = context.input_dims(0).back();
    context.SetScratch(work_matrices_ * n * n * static_cast<int64_t>(sizeof(double)) *
                       context.num_workers());
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
  MatrixGives gives_;
  int64_t work_matrices_;
};

}  // namespace onward::kernels::cpu
