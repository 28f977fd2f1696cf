#include "tests/cases/cases.h"

#include "tests/cases/families.h"

namespace onward::cases {

std::vector<OpCase> AllCases() {
  std::vector<OpCase> all;
  for (auto family : {
           // clang-format off
           AttentionCases,
           Col2imCases,
           ConcatCases,
           ConvCases,
           DepthToSpaceCases,
           EinsumCases,
           ExpandCases,
           GatherCases,
           GridSampleCases,
           GruCases,
           IdentityCases,
           LabelEncoderCases,
           LinearAttentionCases,
           LinearModelCases,
           LstmCases,
           MatMulCases,
           MlFeaturesCases,
           NonMaxSuppressionCases,
           NonZeroCases,
           OneHotCases,
           PadCases,
           PoolCases,
           ResizeCases,
           RnnCases,
           RoiAlignCases,
           RotaryEmbeddingCases,
           ScatterCases,
           ShapeOpsCases,
           SliceCases,
           StringCases,
           TfidfCases,
           TopkCases,
           TransposeCases,
           TreeEnsembleCases,
           TriluCases,
           UniqueCases,
           // clang-format on
       }) {
    for (OpCase& c : family()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
