#include "graph/passes/pass.h"
#include "graph/passes/passes.h"

namespace onward {

std::vector<Pass> PortablePipeline() {
  return {
      {"sink_small_constants", SinkSmallConstants},
      {"fold_constants", FoldConstants},
      {"inline_if", InlineConstantIf},
      {"simplify_shapes", SimplifyShapes},
      {"inline_if", InlineConstantIf},
      {"eliminate_identity", EliminateIdentity},
      {"lower_einsum", LowerEinsum},
      {"unflatten_matmul", UnflattenMatMul},
      {"bias_before_reshape", BiasBeforeReshape},
      {"merge_chains", MergeChains},
      {"merge_pads", MergePads},
      {"scatter_rows", ScatterRows},
      {"normalization_forms", NormalizationForms},
      {"common_subexpressions", CommonSubexpressions},
      {"fuse_normalization", FuseNormalization},
      {"fuse_gelu", FuseGelu},
      {"fuse_activations", FuseActivations},
      {"fuse_batch_norm", FuseBatchNorm},
      {"merge_parallel_convs", MergeParallelConvs},
      {"trim_conv_taps", TrimConvTaps},
      {"fuse_gemm", FuseGemm},
      {"fold_constants", FoldConstants},
      {"simplify_shapes", SimplifyShapes},
      {"eliminate_identity", EliminateIdentity},
      {"common_subexpressions", CommonSubexpressions},
      {"eliminate_dead", EliminateDead},
  };
}

std::vector<Pass> AttentionPipeline() {
  return {{"fuse_attention_heads", FuseAttentionHeads},
          {"fuse_attention_mask", FuseAttentionMask},
          {"fuse_attention_layout", FuseAttentionLayout}};
}

std::vector<Pass> DevicePipeline(std::string_view provider) {
  std::vector<Pass> passes = {{"sink_constants", SinkConstants}};
  if (provider == "cpu") {
    passes.push_back({"widen_floats", WidenFloats});
    passes.push_back({"eliminate_identity", EliminateIdentity});
    passes.push_back({"merge_chains", MergeChains});  // that had a Cast between them
    passes.push_back({"flush_subnormals", FlushSubnormals});
    passes.push_back({"quantize_early", QuantizeEarly});
    passes.push_back({"fuse_quantized", FuseQuantized});
    passes.push_back({"fuse_weight_codes", FuseWeightCodes});
    passes.push_back({"fuse_byte_tables", FuseByteTables});
    passes.push_back({"put_channels_last", PutChannelsLast});
    passes.push_back({"eliminate_dead", EliminateDead});
  }
  for (const Pass& pass : AttentionPipeline()) passes.push_back(pass);
  passes.push_back({"fuse_conv", FuseConv});
  if (provider == "cpu") {
    passes.push_back({"put_floats_channels_last", PutFloatsChannelsLast});
    passes.push_back({"fuse_pointwise_depthwise", FusePointwiseDepthwise});
  }
  if (provider == "cuda") {
    passes.push_back({"widen_losses", WidenLosses});
    passes.push_back({"absorb_casts", AbsorbCasts});
  }
  passes.push_back({"fuse_matmul", FuseMatMul});
  passes.push_back({"fuse_add_normalization", FuseAddNormalization});
  if (provider == "cuda") passes.push_back({"narrow_normalizations", NarrowNormalizations});
  passes.push_back({"fold_constants", FoldConstants});
  passes.push_back({"eliminate_dead", EliminateDead});
  // Bodies run on the host.
  if (provider == "cuda") passes.push_back({"fuse_elementwise", FuseElementwise, false});
  return passes;
}

}  // namespace onward
