#include "kernels/bind/quantized_matmul.h"

#include "absl/strings/str_cat.h"
#include "kernels/bind/matmul.h"

namespace onward::kernels {
namespace {

absl::Status CheckCount(const char* name, DimsView dims, int64_t lines, int64_t all) {
  const int64_t count = NumElements(dims);
  if (count == 1 || count == lines || count == all) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has shape ", DimsString(dims), ", must have 1 or ", lines, " elements"));
}

}  // namespace

absl::Status BindQuantizedProduct(BindContext& context, int b_input) {
  const DimsView a = context.input_dims(0), b = context.input_dims(b_input);
  ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g, MatMulDims(a, b));
  context.SetOutput(0, g.output);
  *context.NewState<QuantizedProduct>() = {g.m,
                                           g.n,
                                           g.k,
                                           g.num_batches(),
                                           context.Keep<int64_t>(g.batch),
                                           context.Keep<int64_t>(g.a_strides),
                                           context.Keep<int64_t>(g.b_strides)};
  return absl::OkStatus();
}

absl::Status CheckLineValues(const BindContext& context, int index, const char* name,
                             DimsView operand, bool is_a) {
  if (!context.has_input(index)) return absl::OkStatus();
  const size_t rank = operand.size();
  if (is_a) {
    const int64_t rows = rank < 2 ? 1 : operand[rank - 2];
    const int64_t k = rank < 1 ? 1 : operand[rank - 1];
    return CheckCount(name, context.input_dims(index), rows,
                      k == 0 ? rows : NumElements(operand) / k);
  }
  const int64_t columns = rank < 2 ? 1 : operand[rank - 1];
  const int64_t k = rank < 2 ? NumElements(operand) : operand[rank - 2];
  return CheckCount(name, context.input_dims(index), columns,
                    k == 0 ? columns : NumElements(operand) / k);
}

absl::Status CheckOneValue(const BindContext& context, int index, const char* name) {
  return CheckCount(name, context.input_dims(index), 1, 1);
}

absl::Status BindMatMulInteger(BindContext& context) {
  ONWARD_RETURN_IF_ERROR(BindQuantizedProduct(context, 1));
  ONWARD_RETURN_IF_ERROR(CheckLineValues(context, 2, "a_zero_point", context.input_dims(0), true));
  return CheckLineValues(context, 3, "b_zero_point", context.input_dims(1), false);
}

absl::Status BindQLinearMatMul(BindContext& context) {
  ONWARD_RETURN_IF_ERROR(BindQuantizedProduct(context, 3));
  const DimsView a = context.input_dims(0), b = context.input_dims(3);
  ONWARD_RETURN_IF_ERROR(CheckLineValues(context, 1, "a_scale", a, true));
  ONWARD_RETURN_IF_ERROR(CheckLineValues(context, 2, "a_zero_point", a, true));
  ONWARD_RETURN_IF_ERROR(CheckLineValues(context, 4, "b_scale", b, false));
  ONWARD_RETURN_IF_ERROR(CheckLineValues(context, 5, "b_zero_point", b, false));
  ONWARD_RETURN_IF_ERROR(CheckOneValue(context, 6, "y_scale"));
  return CheckOneValue(context, 7, "y_zero_point");
}

}  // namespace onward::kernels
