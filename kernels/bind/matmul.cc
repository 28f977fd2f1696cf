#include "kernels/bind/matmul.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels {
namespace {

absl::Status Mismatch(const char* what, DimsView a, DimsView b) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": A ", DimsString(a), ", B ", DimsString(b)));
}

// Joins batch axes that both operands walk without a jump.
void JoinBatches(MatMulGeometry& g) {
  size_t kept = 0;
  for (size_t i = 0; i < g.batch.size(); ++i) {
    if (g.batch[i] == 1) continue;
    if (kept > 0 && g.a_strides[kept - 1] == g.a_strides[i] * g.batch[i] &&
        g.b_strides[kept - 1] == g.b_strides[i] * g.batch[i]) {
      g.batch[kept - 1] *= g.batch[i];
      g.a_strides[kept - 1] = g.a_strides[i];
      g.b_strides[kept - 1] = g.b_strides[i];
      continue;
    }
    g.batch[kept] = g.batch[i];
    g.a_strides[kept] = g.a_strides[i];
    g.b_strides[kept] = g.b_strides[i];
    ++kept;
  }
  g.batch.resize(kept);
  g.a_strides.resize(kept);
  g.b_strides.resize(kept);
  // The innermost batch of a shared B is more rows of A.
  if (kept > 0 && g.b_strides[kept - 1] == 0 && g.a_strides[kept - 1] == g.m * g.k) {
    g.m *= g.batch[kept - 1];
    g.batch.pop_back();
    g.a_strides.pop_back();
    g.b_strides.pop_back();
  }
}

// The dims that MatMulDims takes for an operand whose last two axes are swapped.
absl::StatusOr<Dims> OperandDims(DimsView dims, bool swapped) {
  Dims result(dims.begin(), dims.end());
  if (!swapped) return result;
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a transposed operand has shape ", DimsString(dims), ", rank 2 is needed"));
  }
  std::swap(result[dims.size() - 1], result[dims.size() - 2]);
  return result;
}

// MatMulDims folds the batch of a shared B into the rows of A; those of a transposed A do not lie
// in sequence.
void SplitRows(int64_t rows, MatMulGeometry& g) {
  if (g.m == rows || rows == 0) return;
  g.batch.push_back(g.m / rows);
  g.a_strides.push_back(rows * g.k);
  g.b_strides.push_back(0);
  g.m = rows;
}

absl::Status CheckAddends(BindContext& context, const MatMulGeometry& g) {
  if (context.has_input(2) && context.input_dims(2) != DimsView({g.n})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bias has shape ", DimsString(context.input_dims(2)), ", expected [", g.n, "]"));
  }
  if (context.has_input(3)) {
    if (context.input_dims(3) != DimsView(g.output)) {
      return absl::InvalidArgumentError(absl::StrCat("residual has shape ",
                                                     DimsString(context.input_dims(3)),
                                                     ", the result ", DimsString(g.output)));
    }
    context.AllowInPlace(0, 3);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatMulGeometry> MatMulDims(DimsView a, DimsView b) {
  if (a.empty() || b.empty()) return Mismatch("an operand is a scalar", a, b);
  MatMulGeometry g;
  const bool a_vector = a.size() == 1, b_vector = b.size() == 1;
  g.m = a_vector ? 1 : a[a.size() - 2];
  g.k = a.back();
  g.n = b_vector ? 1 : b.back();
  if ((b_vector ? b[0] : b[b.size() - 2]) != g.k) return Mismatch("inner dims differ", a, b);
  const DimsView a_batch = a_vector ? DimsView() : a.first(a.size() - 2);
  const DimsView b_batch = b_vector ? DimsView() : b.first(b.size() - 2);
  const size_t rank = std::max(a_batch.size(), b_batch.size());
  g.batch.assign(rank, 1);
  g.a_strides.assign(rank, 0);
  g.b_strides.assign(rank, 0);
  int64_t a_stride = g.m * g.k, b_stride = g.k * g.n;
  for (size_t i = 1; i <= rank; ++i) {
    const int64_t a_dim = i <= a_batch.size() ? a_batch[a_batch.size() - i] : 1;
    const int64_t b_dim = i <= b_batch.size() ? b_batch[b_batch.size() - i] : 1;
    if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
      return Mismatch("batch dims do not broadcast", a, b);
    g.batch[rank - i] = a_dim == 1 ? b_dim : a_dim;
    if (a_dim != 1) g.a_strides[rank - i] = a_stride;
    if (b_dim != 1) g.b_strides[rank - i] = b_stride;
    a_stride *= a_dim;
    b_stride *= b_dim;
  }
  g.output = g.batch;
  if (!a_vector) g.output.push_back(g.m);
  if (!b_vector) g.output.push_back(g.n);
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(g.output).status());
  JoinBatches(g);
  return g;
}

FusedMatMulAttributes FusedMatMulAttributes::Parse(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  return {attributes.Int("transA", 0) != 0, attributes.Int("transB", 0) != 0,
          attributes.Float("alpha", 1.0f)};
}

absl::StatusOr<MatMulGeometry> BindFusedMatMul(BindContext& context,
                                               const FusedMatMulAttributes& attributes) {
  ONWARD_ASSIGN_OR_RETURN(const Dims a, OperandDims(context.input_dims(0), attributes.trans_a));
  ONWARD_ASSIGN_OR_RETURN(const Dims b, OperandDims(context.input_dims(1), attributes.trans_b));
  ONWARD_ASSIGN_OR_RETURN(MatMulGeometry g, MatMulDims(a, b));
  if (attributes.trans_a) SplitRows(a[a.size() - 2], g);
  ONWARD_RETURN_IF_ERROR(CheckAddends(context, g));
  context.SetOutput(0, g.output);
  return g;
}

GemmAttributes GemmAttributes::Parse(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  return {attributes.Float("alpha", 1.0f), attributes.Float("beta", 1.0f),
          attributes.Int("transA", 0) != 0, attributes.Int("transB", 0) != 0};
}

absl::StatusOr<GemmGeometry> GemmDims(const GemmAttributes& attributes,
                                      const BindContext& context) {
  const DimsView a = context.input_dims(0), b = context.input_dims(1);
  if (a.size() != 2 || b.size() != 2) return Mismatch("operands must have rank 2", a, b);
  GemmGeometry g;
  g.m = a[attributes.trans_a ? 1 : 0];
  g.k = a[attributes.trans_a ? 0 : 1];
  g.n = b[attributes.trans_b ? 0 : 1];
  if (b[attributes.trans_b ? 1 : 0] != g.k) return Mismatch("inner dims differ", a, b);
  const Dims output = {g.m, g.n};
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(output).status());
  if (!context.has_input(2)) return g;
  const DimsView c = context.input_dims(2);
  const int64_t columns = c.empty() ? 1 : c.back();
  const int64_t rows = c.size() < 2 ? 1 : c[0];
  if (c.size() > 2 || (columns != 1 && columns != g.n) || (rows != 1 && rows != g.m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("C ", DimsString(c), " does not broadcast to ", DimsString(output)));
  }
  g.c_row_stride = rows == 1 ? 0 : columns;
  g.c_column_stride = columns == 1 ? 0 : 1;
  return g;
}

}  // namespace onward::kernels
