// Reductions and running sums.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ArgMax", Precision::kFollow},        {"ArgMin", Precision::kFollow},
    {"CumProd", Precision::kFull},         {"CumSum", Precision::kFull},
    {"Hardmax", Precision::kFollow},       {"ReduceL1", Precision::kFull},
    {"ReduceL2", Precision::kFull},        {"ReduceLogSum", Precision::kFull},
    {"ReduceLogSumExp", Precision::kFull}, {"ReduceMax", Precision::kFollow},
    {"ReduceMean", Precision::kFollow},    {"ReduceMin", Precision::kFollow},
    {"ReduceProd", Precision::kFull},      {"ReduceSum", Precision::kFull},
    {"ReduceSumSquare", Precision::kFull}, {"TopK", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ReduceFacts() { return kFacts; }

}  // namespace onward
