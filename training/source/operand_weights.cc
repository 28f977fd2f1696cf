#include "training/source/operand_weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"
#include "onward/dtype.h"
#include "training/source/torch_export.h"
#include "training/source/torch_operands.h"

namespace onward::training {
namespace {

// The readers of an initializer, by the parameter that they read: "" is a number of the source.
struct Readers {
  std::map<std::string, std::vector<TorchOperand>> of;
  bool certain = true;
};

class Separator {
 public:
  Separator(Graph& graph, std::vector<std::string>& initializers)
      : graph_(graph), exported_(graph), initializers_(initializers) {}

  bool speaks() const { return exported_.speaks(); }

  std::vector<SeparatedWeight> Run(absl::Span<const std::string> shared,
                                   std::set<std::string>& settled) {
    const std::map<ValueId, Readers> all = Collect();
    std::vector<SeparatedWeight> separated;
    for (const std::string& name : std::vector<std::string>(initializers_)) {
      const auto found = all.find(graph_.FindValue(name));
      if (found == all.end() || MatchesAny(name, shared)) continue;
      const ValueId weight = found->first;
      const TorchInitializer about = exported_.Find(graph_, weight);
      const bool known = about.kind == TorchKind::kParameter || about.kind == TorchKind::kFolded ||
                         about.kind == TorchKind::kBuffer;
      if (!known) continue;
      if (found->second.certain) settled.insert(name);
      for (const auto& [target, readers] : found->second.of) {
        if (target.empty()) {
          SplitNumber(weight, about, found->second, readers);
        } else if (IsMerged(weight, about, target)) {
          const std::string own = Split(weight, about, target, readers);
          if (exported_.IsParameter(target)) separated.push_back({own, name});
        }
      }
    }
    return separated;
  }

 private:
  std::map<ValueId, Readers> Collect() {
    std::map<ValueId, Readers> all;
    const TorchOperands operands = FindTorchOperands(graph_, exported_);
    std::map<ValueId, size_t> counted;
    for (const TorchOperand& operand : operands.certain) {
      const ValueId value = graph_.node(operand.node).inputs[static_cast<size_t>(operand.input)];
      if (!graph_.is_constant(value) || graph_.is_input(value)) continue;
      // An operand without parameter's name is one that the exporter put another for.
      const std::string target = exported_.Target(operand.name);
      if (!operand.name.empty() && target.empty()) continue;
      all[value].of[target].push_back(operand);
      ++counted[value];
    }
    for (auto& [value, readers] : all) {
      size_t inputs = 0;
      for (const NodeId user : graph_.users(value)) {
        const Node& node = graph_.node(user);
        inputs += static_cast<size_t>(std::count(node.inputs.begin(), node.inputs.end(), value));
        if (!node.subgraphs.empty()) ++inputs;
      }
      readers.certain = inputs == counted[value] && !graph_.is_output(value);
    }
    return all;
  }

  // Returns whether the parameter or buffer is another one than those that the weight stands for,
  // and has no initializer in the file.
  bool IsMerged(ValueId weight, const TorchInitializer& about, const std::string& target) const {
    return target != graph_.value(weight).name &&
           std::find(about.parameters.begin(), about.parameters.end(), target) ==
               about.parameters.end() &&
           !graph_.is_constant(graph_.FindValue(target));
  }

  void Move(const std::vector<TorchOperand>& readers, ValueId to) {
    for (const TorchOperand& reader : readers)
      GraphEdit(graph_).SetInput(reader.node, reader.input, to);
  }

  std::string Split(ValueId weight, const TorchInitializer& about, const std::string& target,
                    const std::vector<TorchOperand>& readers) {
    const bool folded = about.kind == TorchKind::kFolded;
    const std::string name = graph_.UniqueName(folded ? graph_.value(weight).name : target);
    const ValueId own = GraphEdit(graph_).AddConstant(name, *graph_.constant(weight));
    Metadata& metadata = GraphEdit(graph_).metadata(own);
    if (folded) {
      metadata[kTorchFoldedKey] = absl::StrCat("['", target, "']");
    } else {
      metadata[kTorchKindKey] = exported_.IsParameter(target) ? "PARAMETER" : "BUFFER";
      metadata[kTorchPlaceholderKey] = readers[0].name;
    }
    initializers_.push_back(name);
    Move(readers, own);
    return name;
  }

  // A number is told from the parameter only where the parameter itself is read elsewhere.
  void SplitNumber(ValueId weight, const TorchInitializer& about, const Readers& all,
                   const std::vector<TorchOperand>& readers) {
    const std::string name = graph_.value(weight).name;
    if (about.kind != TorchKind::kParameter || all.of.size() < 2) return;
    const ValueId own = GraphEdit(graph_).AddConstant(
        graph_.UniqueName(absl::StrCat(name, "/number")), *graph_.constant(weight));
    GraphEdit(graph_).metadata(own)[kTorchKindKey] = "CONSTANT_TENSOR";
    Move(readers, own);
  }

  Graph& graph_;
  const TorchExport exported_;
  std::vector<std::string>& initializers_;
};

}  // namespace

std::vector<SeparatedWeight> SeparateByOperands(Graph& graph,
                                                std::vector<std::string>& initializers,
                                                absl::Span<const std::string> shared,
                                                std::set<std::string>& settled) {
  Separator separator(graph, initializers);
  return separator.speaks() ? separator.Run(shared, settled) : std::vector<SeparatedWeight>();
}

}  // namespace onward::training
