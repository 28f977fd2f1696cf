#include "kernels/bind/attention_gradient.h"

#include "kernels/bind/check_dims.h"

namespace onward::kernels {

using namespace attention_gradient;  // NOLINT: numbers of inputs and outputs

absl::StatusOr<AttentionGeometry> BindAttentionGradient(const AttentionAttributes& attributes,
                                                        BindContext& context) {
  DimsView mask, nonpad;
  AttentionInputs inputs = {context.input_dims(kQ), context.input_dims(kK), context.input_dims(kV)};
  if (context.has_input(kMask)) inputs.mask = &(mask = context.input_dims(kMask));
  if (context.has_input(kNonpad)) inputs.nonpad_kv_seqlen = &(nonpad = context.input_dims(kNonpad));
  ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, AttentionDims(attributes, inputs));
  const Dims y = g.packed ? Dims{g.batch, g.q_len, g.q_heads * g.v_head_size}
                          : Dims{g.batch, g.q_heads, g.q_len, g.v_head_size};
  ONWARD_RETURN_IF_ERROR(CheckDims("dY", context.input_dims(kDy), y));
  for (const int i : {kDq, kDk, kDv})
    if (context.has_output(i)) context.SetOutput(i, context.input_dims(i));
  return g;
}

}  // namespace onward::kernels
