#include "kernels/bind/square_matrices.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindSquareMatrices(BindContext& context, MatrixGives gives) {
  const DimsView dims = context.input_dims(0);
  const size_t rank = dims.size();
  if (rank < 2 || dims[rank - 1] != dims[rank - 2]) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has shape ", DimsString(dims), ", must be square matrices"));
  }
  context.SetOutput(0, gives == MatrixGives::kMatrix ? dims : dims.first(rank - 2));
  return absl::OkStatus();
}

}  // namespace onward::kernels
