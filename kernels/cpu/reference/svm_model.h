// The attributes and kernel functions that the support vector machines of ai.onnx.ml share.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/reference/class_scores.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

enum class SvmKernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

// Support vectors and the kernel function between a row of X and one of them.
struct SvmModel {
  SvmKernel kernel = SvmKernel::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;
  int64_t num_vectors = 0;  // 0: the coefficients are the vectors (liblinear)
  int64_t features = 0;
  std::vector<float> vectors, coefficients, rho;
  PostTransform transform = PostTransform::kNone;
  ReadNumber read = nullptr;

  double Dot(const double* x, const float* vector) const;
  double Apply(const double* x, int64_t vector) const;
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
