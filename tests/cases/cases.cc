#include "tests/cases/cases.h"

#include "tests/cases/families.h"

namespace onward::cases {

std::vector<OpCase> AllCases() {
  std::vector<OpCase> all;
  for (auto family : {
           // clang-format off
           ArgReduceCases,
           AttentionCases,
           BatchNormalizationCases,
           BinaryCases,
           CastCases,
           ClipCases,
           Col2imCases,
           CompareCases,
           ConcatCases,
           ConvCases,
           CumulativeCases,
           DepthToSpaceCases,
           DetCases,
           DftCases,
           DropoutCases,
           EinsumCases,
           ExpandCases,
           GatherCases,
           GridSampleCases,
           GruCases,
           IdentityCases,
           ImageDecoderCases,
           LabelEncoderCases,
           LinearAttentionCases,
           LinearModelCases,
           LossCases,
           LrnCases,
           LstmCases,
           MatMulCases,
           MeanVarianceNormalizationCases,
           MlFeaturesCases,
           NonMaxSuppressionCases,
           NonZeroCases,
           NormalizationCases,
           OneHotCases,
           OptimizersCases,
           PadCases,
           PoolCases,
           PowCases,
           QuantizeCases,
           QuantizedConvCases,
           QuantizedMatmulCases,
           ReduceCases,
           ResizeCases,
           RnnCases,
           RoiAlignCases,
           RotaryEmbeddingCases,
           ScatterCases,
           ShapeOpsCases,
           SliceCases,
           SoftmaxCases,
           StringCases,
           SvmCases,
           TfidfCases,
           TopkCases,
           TransposeCases,
           TreeEnsembleCases,
           TriluCases,
           UnaryCases,
           UniqueCases,
           VariadicCases,
           WhereCases,
           WindowFunctionsCases,
           // clang-format on
       }) {
    for (OpCase& c : family()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
