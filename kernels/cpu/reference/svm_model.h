// The attributes and kernel functions that the support vector machines of ai.onnx.ml share.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/reference/class_scores.h"
#include "kernels/cpu/simd/row_dots.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

enum class SvmKernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

// Support vectors and the kernel function between a row of X and one of them.
struct SvmModel {
  SvmKernel kernel = SvmKernel::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;
  int64_t num_vectors = 0;  // 0: the coefficients are the vectors (liblinear)
  int64_t features = 0;
  std::vector<double> vectors;  // or the rows of coefficients of liblinear
  std::vector<float> coefficients, rho;
  PostTransform transform = PostTransform::kNone;
  ReadNumbers read = nullptr;
  const RowDots* dots = nullptr;

  // The products of x and the first `count` rows of liblinear's coefficients.
  void Multiply(const double* x, int64_t count, double* sums) const {
    dots->of_doubles(x, 1, vectors.data(), count, features, sums);
  }
  // Sets `kernels` to the kernel function of x and each of the num_vectors.
  void Apply(const double* x, double* kernels) const;
  // The number of rows of X, a vector being one row; InvalidArgument where it does not have the
  // model's features.
  absl::StatusOr<int64_t> Rows(DimsView dims) const;
  // Bytes of scratch that ForEachRow needs for each worker.
  int64_t RowBytes() const {
    return (features + num_vectors) * static_cast<int64_t>(sizeof(double));
  }
  // Calls body(row, x, kernels) for each row of input 0; `kernels` has room for num_vectors.
  void ForEachRow(const RunContext& context,
                  absl::FunctionRef<void(int64_t, const double*, double*)> body) const;
};

// Reads the attributes that both ops have. `linear_outputs` rows of coefficients stand for the
// vectors where `num_vectors` is 0.
absl::StatusOr<SvmModel> ReadSvmModel(const NodeSpec& spec, int64_t num_vectors,
                                      int64_t linear_outputs);

}  // namespace onward::kernels::cpu
