#include "tests/cases/cases.h"

#include "tests/cases/families.h"

namespace onward::cases {

std::vector<OpCase> AllCases() {
  std::vector<OpCase> all;
  for (auto family : {
           // clang-format off
           Col2imCases,
           ConcatCases,
           DepthToSpaceCases,
           ExpandCases,
           GatherCases,
           GridSampleCases,
           IdentityCases,
           LabelEncoderCases,
           LinearModelCases,
           MlFeaturesCases,
           NonMaxSuppressionCases,
           NonZeroCases,
           OneHotCases,
           PadCases,
           ResizeCases,
           RoiAlignCases,
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
