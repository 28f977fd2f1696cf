// Reductions and running sums.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ArgMax", AutocastClass::kFollow},        {"ArgMin", AutocastClass::kFollow},
    {"CumProd", AutocastClass::kFull},         {"CumSum", AutocastClass::kFull},
    {"Hardmax", AutocastClass::kFollow},       {"ReduceL1", AutocastClass::kFull},
    {"ReduceL2", AutocastClass::kFull},        {"ReduceLogSum", AutocastClass::kFull},
    {"ReduceLogSumExp", AutocastClass::kFull}, {"ReduceMax", AutocastClass::kFollow},
    {"ReduceMean", AutocastClass::kFollow},    {"ReduceMin", AutocastClass::kFollow},
    {"ReduceProd", AutocastClass::kFull},      {"ReduceSum", AutocastClass::kFull},
    {"ReduceSumSquare", AutocastClass::kFull}, {"TopK", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ReduceFacts() { return kFacts; }

}  // namespace onward
