#include "training/source/torch_export.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/rewrite/match.h"
#include "training/source/generated_name.h"

namespace onward::training {
namespace {

constexpr char kSignatureKey[] = "pkg.torch.export.ExportedProgram.graph_signature";

// Ops of torch.export's graph that move elements and do no arithmetic on them.
const std::set<std::string_view>& MovingOps() {
  static const auto* ops = new std::set<std::string_view>{
      "_to_copy",  "_unsafe_view", "alias",           "cat",     "clone",    "contiguous",
      "detach",    "flatten",      "lift_fresh_copy", "movedim", "mT",       "numpy_T",
      "permute",   "reshape",      "squeeze",         "stack",   "swapaxes", "t",
      "transpose", "unflatten",    "unsqueeze",       "view"};
  return *ops;
}

std::string ValueOf(const Metadata& metadata, const char* key) {
  const auto it = metadata.find(key);
  return it == metadata.end() ? "" : it->second;
}

TorchKind KindOf(std::string_view text) {
  if (text == "PARAMETER") return TorchKind::kParameter;
  if (text == "BUFFER") return TorchKind::kBuffer;
  if (text == "CONSTANT_TENSOR" || text == "CUSTOM_OBJ") return TorchKind::kConstant;
  return TorchKind::kUnsaid;
}

// "['fc.weight', 'val_4']"
std::vector<std::string> QuotedParts(const std::string& text) {
  const std::vector<std::string> pieces = absl::StrSplit(text, '\'');
  std::vector<std::string> parts;
  for (size_t i = 1; i < pieces.size(); i += 2) parts.push_back(pieces[i]);
  return parts;
}

// Returns whether recurrences alone read it, as weights or biases: their gates are in another order
// in ONNX, and what they were put together of includes the sizes of states.
bool IsOfRecurrence(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (!node.Is("LSTM") && !node.Is("GRU") && !node.Is("RNN")) return false;
    return InputOf(node, 1) == id || InputOf(node, 2) == id || InputOf(node, 3) == id;
  });
}

// Returns whether it is the scale of an attention, which its sizes decide.
bool IsScaleOfAttention(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return graph.constant(id)->num_elements() == 1 && !users.empty() &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) {
           const Node& node = graph.node(user);
           return (node.Is("Mul") || node.Is("Div")) &&
                  absl::StrContains(ValueOf(node.metadata, "pkg.torch.onnx.fx_node"),
                                    "aten.scaled_dot_product_attention");
         });
}

}  // namespace

std::string_view WithoutNumber(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) --end;
  return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

TorchExport::TorchExport(const Graph& graph) {
  // "p_fc_weight: PARAMETER target='fc.weight'", a line for each input of torch.export's graph.
  std::vector<std::string> inputs;
  for (const auto& line : absl::StrSplit(ValueOf(graph.metadata, kSignatureKey), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (parts.size() < 2) continue;
    const std::string kind = parts[1].substr(0, parts[1].find(' '));
    const std::vector<std::string> target = QuotedParts(parts[1]);
    if (kind == "USER_INPUT") inputs.push_back(parts[0]);
    if (target.empty() || KindOf(kind) == TorchKind::kUnsaid) continue;
    targets_[parts[0]] = target[0];
    kinds_[target[0]] = KindOf(kind);
    speaks_ = true;
  }
  for (size_t i = 0; inputs.size() == graph.inputs().size() && i < inputs.size(); ++i)
    inputs_[inputs[i]] = graph.value(graph.inputs()[i]).name;
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    const TorchKind kind = KindOf(ValueOf(value.metadata, kTorchKindKey));
    if (!value.constant || kind == TorchKind::kUnsaid) continue;
    speaks_ = true;
    kinds_[value.name] = kind;
    const std::string placeholder = ValueOf(value.metadata, kTorchPlaceholderKey);
    if (!placeholder.empty()) targets_.try_emplace(placeholder, value.name);
  }
}

TorchInitializer TorchExport::Find(const Graph& graph, ValueId initializer) const {
  const ValueData& value = graph.value(initializer);
  TorchInitializer found;
  found.kind = KindOf(ValueOf(value.metadata, kTorchKindKey));
  const std::string folded = ValueOf(value.metadata, kTorchFoldedKey);
  if (found.kind != TorchKind::kUnsaid || !speaks_) return found;
  if (folded.empty()) {
    const auto known = kinds_.find(value.name);
    if (known != kinds_.end()) {
      found.kind = known->second;
    } else if (IsGeneratedName(value.name)) {
      found.kind = TorchKind::kConstant;
    }
    return found;
  }
  found.mentions_detach = WithoutNumber(value.name) == "detach";
  const auto moves = [](std::string_view name) {
    return name.starts_with("val_") || MovingOps().contains(WithoutNumber(name));
  };
  found.moved = moves(value.name);
  for (std::string& part : QuotedParts(folded)) {
    if (IsParameter(part)) {
      found.parameters.push_back(std::move(part));
    } else if (!kinds_.contains(part)) {
      found.mentions_detach |= WithoutNumber(part) == "detach";
      found.moved &= moves(part);
    }
  }
  found.moved |= IsOfRecurrence(graph, initializer);
  if (IsScaleOfAttention(graph, initializer)) found.parameters.clear();
  found.kind = found.parameters.empty() ? TorchKind::kConstant : TorchKind::kFolded;
  found.detached = found.kind == TorchKind::kFolded && found.moved && found.mentions_detach;
  return found;
}

std::string TorchExport::ValueName(std::string_view placeholder) const {
  const auto it = inputs_.find(placeholder);
  return it == inputs_.end() ? Target(placeholder) : it->second;
}

std::string TorchExport::Target(std::string_view placeholder) const {
  const auto it = targets_.find(placeholder);
  return it == targets_.end() ? "" : it->second;
}

std::vector<std::string> TorchExport::parameters() const {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds_)
    if (kind == TorchKind::kParameter) names.push_back(name);
  return names;
}

bool TorchExport::IsParameter(std::string_view name) const {
  const auto it = kinds_.find(name);
  return it != kinds_.end() && it->second == TorchKind::kParameter;
}

}  // namespace onward::training
