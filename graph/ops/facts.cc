#include "graph/ops/facts.h"

#include <utility>

#include "graph/base/hash_map.h"

namespace onward {
namespace {

using Family = absl::Span<const OpFacts> (*)();

constexpr Family kFamilies[] = {
    AllReduceFacts,   AttentionFacts, BinaryFacts,        CastFacts,          ConstantFacts,
    ControlFlowFacts, ConvFacts,      CopyFacts,          GatherScatterFacts, LayoutFacts,
    LossFacts,        MatmulFacts,    NormalizationFacts, PoolFacts,          QuantizeFacts,
    RandomFacts,      RecurrentFacts, ReduceFacts,        RequireFacts,       ResizeFacts,
    SequenceFacts,    SignalFacts,    SoftmaxFacts,       StopGradientFacts,  StringFacts,
    UnaryFacts};

// By op and domain.
using Table = HashMap<std::pair<std::string_view, std::string_view>, const OpFacts*>;

const Table& Facts() {
  static const Table* table = [] {
    auto* rows = new Table();
    for (const auto& family : kFamilies) {
      for (const OpFacts& facts : family())
        rows->emplace(std::pair(facts.op, facts.domain), &facts);
    }
    return rows;
  }();
  return *table;
}

}  // namespace

absl::Span<absl::Span<const OpFacts> (*const)()> FactFamilies() { return kFamilies; }

const OpFacts* FindFacts(std::string_view op, std::string_view domain) {
  const auto it = Facts().find(std::pair(op, domain));
  return it == Facts().end() ? nullptr : it->second;
}

Products MultiplyAddsOf(const Graph& graph, const Node& node) {
  const OpFacts* facts = FindFacts(node.op_type, node.domain);
  if (facts == nullptr || facts->multiply_adds == nullptr) return {};
  // Two operands and a result: verified graphs have them, files under inspection may not.
  const auto valid = [](absl::Span<const ValueId> ids, size_t i) {
    return i < ids.size() && ids[i].valid();
  };
  if (!valid(node.outputs, 0)) return {};
  for (size_t i = 0; i < 2; ++i)
    if (!valid(node.inputs, i)) return {};
  return facts->multiply_adds(graph, node);
}

}  // namespace onward
