// The families of cases, one function each. Included by cases.cc alone.
#pragma once

#include "tests/cases/cases.h"

namespace onward::cases {

std::vector<OpCase> AttentionCases();
std::vector<OpCase> Col2imCases();
std::vector<OpCase> ConcatCases();
std::vector<OpCase> ConvCases();
std::vector<OpCase> DepthToSpaceCases();
std::vector<OpCase> EinsumCases();
std::vector<OpCase> ExpandCases();
std::vector<OpCase> GatherCases();
std::vector<OpCase> GridSampleCases();
std::vector<OpCase> GruCases();
std::vector<OpCase> IdentityCases();
std::vector<OpCase> LabelEncoderCases();
std::vector<OpCase> LinearAttentionCases();
std::vector<OpCase> LinearModelCases();
std::vector<OpCase> LstmCases();
std::vector<OpCase> MatMulCases();
std::vector<OpCase> MlFeaturesCases();
std::vector<OpCase> NonMaxSuppressionCases();
std::vector<OpCase> NonZeroCases();
std::vector<OpCase> OneHotCases();
std::vector<OpCase> PadCases();
std::vector<OpCase> PoolCases();
std::vector<OpCase> ResizeCases();
std::vector<OpCase> RnnCases();
std::vector<OpCase> RoiAlignCases();
std::vector<OpCase> RotaryEmbeddingCases();
std::vector<OpCase> ScatterCases();
std::vector<OpCase> ShapeOpsCases();
std::vector<OpCase> SliceCases();
std::vector<OpCase> StringCases();
std::vector<OpCase> TfidfCases();
std::vector<OpCase> TopkCases();
std::vector<OpCase> TransposeCases();
std::vector<OpCase> TreeEnsembleCases();
std::vector<OpCase> TriluCases();
std::vector<OpCase> UniqueCases();

}  // namespace onward::cases
