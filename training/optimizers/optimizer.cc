#include "training/optimizers/optimizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/status.h"
#include "graph/builder/expr.h"
#include "graph/builder/formula.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/state.h"
#include "nn/row_norm.h"

namespace onward {
namespace {

// Defaults and what was asked for, together; every name of the entry is there.
absl::StatusOr<OptimizerOptions> Complete(const OptimizerEntry& entry,
                                          const OptimizerOptions& options) {
  OptimizerOptions complete;
  std::map<std::string_view, const OptimizerSetting*> known;
  for (const auto* list : {&entry.settings, &entry.choices}) {
    for (const OptimizerSetting& setting : *list) {
      known[setting.name] = &setting;
      complete[std::string(setting.name)] = setting.default_value;
    }
  }
  for (const auto& [given, value] : options) {
    // PyTorch's name.
    const std::string name = given == "decoupled_weight_decay" ? "decoupled" : given;
    const auto it = known.find(name);
    if (it == known.end()) {
      const auto names = absl::StrJoin(known, ", ", [](std::string* out, const auto& each) {
        out->append(std::string(each.first));
      });
      return absl::InvalidArgumentError(absl::StrCat(
          "optimizer ", std::string(entry.name), " has no option '", name, "'; it has ", names));
    }
    if (!(value >= it->second->least && value <= it->second->most)) {
      // The largest number below 1 is written as the bound that it is.
      const double most =
          it->second->most < 1 && it->second->most > 1 - 1e-15 ? 1 : it->second->most;
      return absl::InvalidArgumentError(absl::StrCat(
          "optimizer ", std::string(entry.name), ": ", name, " = ", value, " is not in [",
          it->second->least, ", ", most, most > it->second->most ? ")" : "]"));
    }
    complete[name] = value;
  }
  if (complete.contains("nesterov") && options.contains("nesterov") && complete["nesterov"] != 0 &&
      (complete["momentum"] <= 0 || (complete.contains("dampening") && complete["dampening"] != 0)))
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer ", std::string(entry.name),
                     ": nesterov needs a momentum above 0 and no dampening"));
  return complete;
}

class Writer {
 public:
  Writer(Model& model, const OptimizerEntry& entry, bool portable)
      : model_(model), entry_(entry), portable_(portable), sink_(model.graph, "optimizer/") {}

  absl::Status AddStepNumber() {
    Tensor one(DType::kInt64, Dims());
    one.mutable_data<int64_t>()[0] = 1;
    step_ = AddState(model_.graph, "optimizer/step", std::move(one));
    return Update(step_, sink_.Value(step_) + 1.0);
  }

  absl::StatusOr<GroupSettings> AddGroup(const ParameterGroup& group,
                                         const OptimizerOptions& options) {
    GroupSettings added;
    Tensor values(DType::kFloat64, {static_cast<int64_t>(entry_.settings.size())});
    for (size_t i = 0; i < entry_.settings.size(); ++i) {
      added.settings.emplace_back(entry_.settings[i].name);
      added.values.push_back(options.at(added.settings.back()));
      values.mutable_data<double>()[i] = added.values.back();
    }
    added.input = model_.graph.UniqueName(
        absl::StrCat("optimizer/", group.name, group.name.empty() ? "" : "/", "settings"));
    const ValueId settings = AddState(model_.graph, added.input, std::move(values));
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      ONWARD_RETURN_IF_ERROR(
          AddParameter(group.parameters[i], group.gradients[i], settings, options));
    }
    return added;
  }

 private:
  absl::Status Update(ValueId state, const Expr& next) {
    ONWARD_RETURN_IF_ERROR(sink_.status());
    AddUpdate(model_, state, next.id());
    return absl::OkStatus();
  }

  absl::Status AddParameter(ValueId parameter, ValueId gradient, ValueId settings,
                            const OptimizerOptions& options) {
    const std::string name = model_.graph.value(parameter).name;
    const Type type = model_.graph.type(parameter);
    if (entry_.name == std::string_view("Muon") && type.shape && type.shape->size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer: Muon takes matrices alone, the parameter '", name, "' is ",
                       type.ToString(), "; freeze it or choose another optimizer"));
    }
    const ValueId input = ConstantToState(model_.graph, parameter);
    const Expr bounded = nn::BoundedTable(sink_, input);
    std::vector<Expr> inputs = {bounded.valid() ? bounded : sink_.Value(input),
                                sink_.Value(gradient), sink_.Value(settings), sink_.Value(step_)};
    std::vector<ValueId> kept = {input};
    for (OptimizerState& state : entry_.states(options, type)) {
      kept.push_back(state.name.empty() ? ValueId()
                                        : AddState(model_.graph,
                                                   model_.graph.UniqueName(absl::StrCat(
                                                       "optimizer/", name, "/", state.name)),
                                                   std::move(state.initial)));
      inputs.push_back(kept.back().valid() ? sink_.Value(kept.back()) : Expr());
    }
    while (!inputs.back().valid()) {
      inputs.pop_back();
      kept.pop_back();
    }
    Attributes attributes;
    for (const char* each : {"decoupled", "maximize", "nesterov"}) {
      const auto it = options.find(each);
      if (it != options.end()) attributes.Set(each, Attribute(static_cast<int64_t>(it->second)));
    }
    std::vector<bool> wanted;
    for (const ValueId id : kept) wanted.push_back(id.valid());
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> next, Write(inputs, wanted, attributes));
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].valid()) ONWARD_RETURN_IF_ERROR(Update(kept[i], next[i]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Expr>> Write(const std::vector<Expr>& inputs,
                                          const std::vector<bool>& wanted, Attributes attributes) {
    if (!portable_) {
      std::vector<Expr> next =
          sink_.OpsWanted(entry_.op, inputs, wanted, std::move(attributes), kOnwardDomain);
      ONWARD_RETURN_IF_ERROR(sink_.status());
      return next;
    }
    Node node;
    node.schema = FindSchema(std::string(entry_.op), kOnwardDomain);
    node.domain = kOnwardDomain;
    node.op_type = std::string(entry_.op);
    node.attributes = std::move(attributes);
    for (const Expr& input : inputs) node.inputs.push_back(input.id());
    for (const bool each : wanted) node.outputs.push_back(each ? ValueId{0} : ValueId());
    return WriteFormula(sink_, node);
  }

  Model& model_;
  const OptimizerEntry& entry_;
  bool portable_;
  GraphSink sink_;
  ValueId step_;
};

absl::Status CheckGroup(const Graph& graph, const ParameterGroup& group) {
  if (group.parameters.size() != group.gradients.size())
    return absl::InvalidArgumentError(absl::StrCat(group.parameters.size(), " parameters and ",
                                                   group.gradients.size(), " gradients"));
  for (const ValueId id : group.parameters) {
    const ValueData& value = graph.value(id);
    const bool is_float =
        value.type.is_tensor() && DispatchDType(FloatTypes(), value.type.dtype, [](auto) {});
    if (!is_float || !value.type.static_dims() || !value.constant) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", value.name, "' is ", value.type.ToString(), value.constant ? "" : " without a value",
          "; an optimizer trains float initializers of known dims"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<GroupSettings>> AddOptimizer(Model& model, const OptimizerConfig& config,
                                                        absl::Span<const ParameterGroup> groups) {
  const auto& entries = Optimizers();
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& each) { return each.name == config.name; });
  if (entry == entries.end()) {
    const auto names = absl::StrJoin(entries, ", ", [](std::string* out, const auto& each) {
      out->append(std::string(each.name));
    });
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no optimizer '", config.name, "'; there are ", names, ", and LBFGS in configs"));
  }
  std::vector<OptimizerOptions> options;
  for (const ParameterGroup& group : groups) {
    ONWARD_RETURN_IF_ERROR(CheckGroup(model.graph, group));
    OptimizerOptions merged = group.options;
    merged.insert(config.options.begin(), config.options.end());
    ONWARD_ASSIGN_OR_RETURN(merged, Complete(*entry, merged));
    options.push_back(std::move(merged));
  }
  Writer writer(model, *entry, config.portable);
  ONWARD_RETURN_IF_ERROR(writer.AddStepNumber());
  std::vector<GroupSettings> added;
  for (size_t i = 0; i < groups.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(GroupSettings settings, writer.AddGroup(groups[i], options[i]));
    added.push_back(std::move(settings));
  }
  return added;
}

}  // namespace onward
