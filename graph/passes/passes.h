// The passes themselves; pass.h has their contract, pipeline.cc their order.
#pragma once

#include "graph/passes/pass.h"

namespace onward {

// Portable.
// Evaluates nodes whose inputs are all constants.
absl::StatusOr<int> FoldConstants(Graph& graph, const PassOptions& options, int& budget);
// Removes nodes whose results nothing reads, captures that a body does not read, optional outputs
// that nobody reads, and the memory of constants that nothing reads.
absl::StatusOr<int> EliminateDead(Graph& graph, const PassOptions& options, int& budget);
// Removes nodes whose result is their input, bit for bit.
absl::StatusOr<int> EliminateIdentity(Graph& graph, const PassOptions& options, int& budget);
// Two shape, layout or type changes in a row become one, and a CastLike a Cast.
absl::StatusOr<int> MergeChains(Graph& graph, const PassOptions& options, int& budget);
// Einsum to transposes, sums and a MatMul or Mul.
absl::StatusOr<int> LowerEinsum(Graph& graph, const PassOptions& options, int& budget);
// Products whose batch axes a Reshape joined, without it.
absl::StatusOr<int> UnflattenMatMul(Graph& graph, const PassOptions& options, int& budget);
// Sums with constants, and products by them, before a Reshape that splits the last axis.
absl::StatusOr<int> BiasBeforeReshape(Graph& graph, const PassOptions& options, int& budget);
// Sums of padded parts become their Concat.
absl::StatusOr<int> MergePads(Graph& graph, const PassOptions& options, int& budget);
// Rows that ScatterElements writes element by element are written by ScatterND.
absl::StatusOr<int> ScatterRows(Graph& graph, const PassOptions& options, int& budget);
// Equal constants and equal computations are done once.
absl::StatusOr<int> CommonSubexpressions(Graph& graph, const PassOptions& options, int& budget);
// The same where floats are parameters: equal ones stay apart.
absl::StatusOr<int> CommonSubexpressionsOfParameters(Graph& graph, const PassOptions& options,
                                                     int& budget);
// Folds per-channel scales and shifts into Conv, ConvTranspose, Gemm and MatMul.
absl::StatusOr<int> FuseBatchNorm(Graph& graph, const PassOptions& options, int& budget);
// Sums of convolutions of one image become one convolution.
absl::StatusOr<int> MergeParallelConvs(Graph& graph, const PassOptions& options, int& budget);
// Leaves out the taps of a Conv that meet only padding.
absl::StatusOr<int> TrimConvTaps(Graph& graph, const PassOptions& options, int& budget);
// MatMul + Add of matrices to Gemm; Transposes into Gemm.
absl::StatusOr<int> FuseGemm(Graph& graph, const PassOptions& options, int& budget);
// Normalizations of TensorFlow, Keras and JAX to the arithmetic that FuseNormalization reads.
absl::StatusOr<int> NormalizationForms(Graph& graph, const PassOptions& options, int& budget);
// Exported arithmetic to the standard's ops.
absl::StatusOr<int> FuseNormalization(Graph& graph, const PassOptions& options, int& budget);
absl::StatusOr<int> FuseGelu(Graph& graph, const PassOptions& options, int& budget);
absl::StatusOr<int> FuseActivations(Graph& graph, const PassOptions& options, int& budget);
// Shape arithmetic that types already give.
absl::StatusOr<int> SimplifyShapes(Graph& graph, const PassOptions& options, int& budget);
// The branch that a constant condition takes replaces its If.
absl::StatusOr<int> InlineConstantIf(Graph& graph, const PassOptions& options, int& budget);
// Small constants that bodies capture become constants of the bodies.
absl::StatusOr<int> SinkSmallConstants(Graph& graph, const PassOptions& options, int& budget);

// For devices: constants of any size that bodies capture (a portable model would store them twice).
absl::StatusOr<int> SinkConstants(Graph& graph, const PassOptions& options, int& budget);
// Ops on 16-bit floats to float32 between casts, where excess precision is allowed.
absl::StatusOr<int> WidenFloats(Graph& graph, const PassOptions& options, int& budget);
// Subnormal float32 weights and biases of products as zeros, where excess precision is allowed.
absl::StatusOr<int> FlushSubnormals(Graph& graph, const PassOptions& options, int& budget);
// Losses over classes read scores of 16 bits themselves, and their gradients write them.
absl::StatusOr<int> WidenLosses(Graph& graph, const PassOptions& options, int& budget);
// Gradients read and write floats of 16 bits that are cast around them.
absl::StatusOr<int> AbsorbCasts(Graph& graph, const PassOptions& options, int& budget);
// Normalizations of float write the 16 bits that their result is cast to.
absl::StatusOr<int> NarrowNormalizations(Graph& graph, const PassOptions& options, int& budget);
// Products of 8-bit integers with their scales, biases and zero points.
absl::StatusOr<int> FuseQuantized(Graph& graph, const PassOptions& options, int& budget);
// Products of floats by dequantized matrices of constants read the codes (MatMulNBits).
absl::StatusOr<int> FuseWeightCodes(Graph& graph, const PassOptions& options, int& budget);
// QuantizeLinear before what moves or chooses elements of dequantized values.
absl::StatusOr<int> QuantizeEarly(Graph& graph, const PassOptions& options, int& budget);
// Functions of single elements between 8-bit integers as tables.
absl::StatusOr<int> FuseByteTables(Graph& graph, const PassOptions& options, int& budget);
// Convolutions of 8-bit integers with their channels last.
absl::StatusOr<int> PutChannelsLast(Graph& graph, const PassOptions& options, int& budget);
// Softmax of scaled products to the standard's Attention, for float32.
absl::StatusOr<int> FuseAttentionHeads(Graph& graph, const PassOptions& options, int& budget);
// Constant masks of Attention that hide what is behind the query.
absl::StatusOr<int> FuseAttentionMask(Graph& graph, const PassOptions& options, int& budget);
// Transposes around Attention and repeated heads before it.
absl::StatusOr<int> FuseAttentionLayout(Graph& graph, const PassOptions& options, int& budget);
// Ops of the domain `onward`, for float32.
absl::StatusOr<int> FuseConv(Graph& graph, const PassOptions& options, int& budget);
// A pointwise convolution into the depthwise one that alone reads it.
absl::StatusOr<int> FusePointwiseDepthwise(Graph& graph, const PassOptions& options, int& budget);
// Convolutions of floats that are multiplied as bfloat16 with their channels last.
absl::StatusOr<int> PutFloatsChannelsLast(Graph& graph, const PassOptions& options, int& budget);
absl::StatusOr<int> FuseMatMul(Graph& graph, const PassOptions& options, int& budget);
absl::StatusOr<int> FuseAddNormalization(Graph& graph, const PassOptions& options, int& budget);
// Elementwise ops that read each other, of any dtype, where the device compiles kernels.
absl::StatusOr<int> FuseElementwise(Graph& graph, const PassOptions& options, int& budget);

}  // namespace onward
