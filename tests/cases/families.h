// The families of cases, one function each. Included by cases.cc alone.
#pragma once

#include "tests/cases/cases.h"

namespace onward::cases {

std::vector<OpCase> ArgReduceCases();
std::vector<OpCase> AttentionCases();
std::vector<OpCase> BatchNormalizationCases();
std::vector<OpCase> BinaryCases();
std::vector<OpCase> CastCases();
std::vector<OpCase> ClipCases();
std::vector<OpCase> Col2imCases();
std::vector<OpCase> CompareCases();
std::vector<OpCase> ConcatCases();
std::vector<OpCase> ConvCases();
std::vector<OpCase> CumulativeCases();
std::vector<OpCase> DepthToSpaceCases();
std::vector<OpCase> DetCases();
std::vector<OpCase> DftCases();
std::vector<OpCase> DropoutCases();
std::vector<OpCase> EinsumCases();
std::vector<OpCase> ExpandCases();
std::vector<OpCase> GatherCases();
std::vector<OpCase> GridSampleCases();
std::vector<OpCase> GruCases();
std::vector<OpCase> IdentityCases();
std::vector<OpCase> ImageDecoderCases();
std::vector<OpCase> LabelEncoderCases();
std::vector<OpCase> LinearAttentionCases();
std::vector<OpCase> LinearModelCases();
std::vector<OpCase> LossCases();
std::vector<OpCase> LrnCases();
std::vector<OpCase> LstmCases();
std::vector<OpCase> MatMulCases();
std::vector<OpCase> MeanVarianceNormalizationCases();
std::vector<OpCase> MlFeaturesCases();
std::vector<OpCase> NonMaxSuppressionCases();
std::vector<OpCase> NonZeroCases();
std::vector<OpCase> NormalizationCases();
std::vector<OpCase> OneHotCases();
std::vector<OpCase> OptimizersCases();
std::vector<OpCase> PadCases();
std::vector<OpCase> PoolCases();
std::vector<OpCase> PowCases();
std::vector<OpCase> QuantizeCases();
std::vector<OpCase> QuantizedConvCases();
std::vector<OpCase> QuantizedMatmulCases();
std::vector<OpCase> ReduceCases();
std::vector<OpCase> ResizeCases();
std::vector<OpCase> RnnCases();
std::vector<OpCase> RoiAlignCases();
std::vector<OpCase> RotaryEmbeddingCases();
std::vector<OpCase> ScatterCases();
std::vector<OpCase> ShapeOpsCases();
std::vector<OpCase> SliceCases();
std::vector<OpCase> SoftmaxCases();
std::vector<OpCase> StringCases();
std::vector<OpCase> SvmCases();
std::vector<OpCase> TfidfCases();
std::vector<OpCase> TopkCases();
std::vector<OpCase> TransposeCases();
std::vector<OpCase> TreeEnsembleCases();
std::vector<OpCase> TriluCases();
std::vector<OpCase> UnaryCases();
std::vector<OpCase> UniqueCases();
std::vector<OpCase> VariadicCases();
std::vector<OpCase> WhereCases();
std::vector<OpCase> WindowFunctionsCases();

}  // namespace onward::cases
