#include "graph/ops/facts.h"

#include "absl/container/flat_hash_map.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using Table = absl::flat_hash_map<std::string_view, const OpFacts*>;

const Table& OnnxTable() {
  static const Table* table = [] {
    auto* rows = new Table();
    for (const auto& family :
         {AttentionFacts,     CastFacts,          ConstantFacts, ControlFlowFacts, ConvFacts,
          ElementwiseFacts,   GatherScatterFacts, LayoutFacts,   LossFacts,        MatmulFacts,
          NormalizationFacts, PoolFacts,          QuantizeFacts, RandomFacts,      RecurrentFacts,
          ReduceFacts,        ResizeFacts,        SequenceFacts, SignalFacts,      SoftmaxFacts,
          StringFacts}) {
      for (const OpFacts& facts : family()) rows->emplace(facts.op, &facts);
    }
    return rows;
  }();
  return *table;
}

constexpr OpFacts kOnwardFacts[] = {
    {"AddLayerNormalization", AutocastClass::kFull},
    {"AddRMSNormalization", AutocastClass::kFull},
    // What other ranks add differs from run to run.
    {.op = "AllReduce", .autocast = AutocastClass::kFull, .random = true},
    {.op = "After", .autocast = AutocastClass::kFollow, .view = true},
    {.op = "Copy", .autocast = AutocastClass::kFollow, .view = true},
    {"FusedConv", AutocastClass::kLower},
    {"FusedMatMul", AutocastClass::kLower},
    {.op = "RequireRange", .autocast = AutocastClass::kFollow, .view = true},
    {.op = "RequireShape", .autocast = AutocastClass::kFollow, .view = true},
    {.op = "StopGradient", .autocast = AutocastClass::kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> OnwardFacts() { return kOnwardFacts; }

const OpFacts* FindFacts(std::string_view op, std::string_view domain) {
  if (domain.empty()) {
    const auto it = OnnxTable().find(op);
    return it == OnnxTable().end() ? nullptr : it->second;
  }
  if (domain != kOnwardDomain) return nullptr;
  for (const OpFacts& facts : kOnwardFacts) {
    if (facts.op == op) return &facts;
  }
  return nullptr;
}

}  // namespace onward
