#include "training/optimizers/optimizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/builder/formula_schema.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/state.h"
#include "nn/row_norm.h"
#include "onward/expr.h"
#include "onward/status.h"
#include "training/rewrite/names.h"

namespace onward::training {
namespace {

// Every option of the entry, switches too.
std::vector<OptimizerSetting> AllOptions(const OptimizerEntry& entry) {
  std::vector<OptimizerSetting> all = entry.settings;
  all.insert(all.end(), entry.choices.begin(), entry.choices.end());
  for (const OptimizerSwitch& each : entry.switches)
    all.push_back({each.name, each.default_value ? 1.0 : 0.0, 0, 1});
  return all;
}

// Defaults and what was asked for, together.
OptimizerOptions Complete(const OptimizerEntry& entry, const OptimizerOptions& options) {
  OptimizerOptions complete = options;
  for (const OptimizerSetting& each : AllOptions(entry))
    complete.emplace(std::string(each.name), each.default_value);
  return complete;
}

OptionProblem UnknownOption(const std::string& name, const std::vector<OptimizerSetting>& all) {
  std::vector<std::string> names;
  for (const OptimizerSetting& each : all) names.emplace_back(each.name);
  std::sort(names.begin(), names.end());
  return {name, absl::StrCat("is not one of its options, which are ", absl::StrJoin(names, ", "))};
}

OptionProblem CheckRange(const OptimizerSetting& setting, double value) {
  if (value >= setting.least && value <= setting.most) return {};
  // The largest number below 1 is written as the bound that it is.
  const double most = setting.most < 1 && setting.most > 1 - 1e-15 ? 1 : setting.most;
  return {std::string(setting.name), absl::StrCat("= ", value, " is not in [", setting.least, ", ",
                                                  most, most > setting.most ? ")" : "]")};
}

class Writer {
 public:
  Writer(Model& model, const OptimizerEntry& entry, bool portable)
      : model_(model), entry_(entry), portable_(portable), sink_(model.graph, kOptimizerPrefix) {}

  absl::Status AddStepNumber() {
    Tensor one(DType::kInt64, Dims());
    one.mutable_data<int64_t>()[0] = 1;
    step_ = AddState(model_.graph, kStepNumber, std::move(one));
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
        absl::StrCat(kOptimizerPrefix, group.name, group.name.empty() ? "" : "/", "settings"));
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
    if (entry_.matrices_alone && type.shape && type.shape->size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optimizer: ", std::string(entry_.name), " takes only matrices, but the parameter '",
          name, "' is ", type.ToString(), "; freeze it or choose another optimizer"));
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
                                                       kOptimizerPrefix, name, "/", state.name)),
                                                   std::move(state.initial)));
      inputs.push_back(kept.back().valid() ? sink_.Value(kept.back()) : Expr());
    }
    while (!inputs.back().valid()) {
      inputs.pop_back();
      kept.pop_back();
    }
    Attributes attributes;
    for (const OptimizerSwitch& each : entry_.switches)
      attributes.Set(std::string(each.attribute),
                     Attribute(static_cast<int64_t>(options.at(std::string(each.name)))));
    for (const std::string_view each : entry_.fixed_switches)
      attributes.Set(std::string(each), Attribute(int64_t{1}));
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
          sink_.OpsWanted(entry_.op_type(), inputs, wanted, std::move(attributes), kOnwardDomain);
      ONWARD_RETURN_IF_ERROR(sink_.status());
      return next;
    }
    Node node;
    node.schema = FindSchema(entry_.op_type(), kOnwardDomain);
    node.domain = kOnwardDomain;
    node.op_type = entry_.op_type();
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

OptionProblem CheckOptions(const OptimizerEntry& entry, const OptimizerOptions& options) {
  const std::vector<OptimizerSetting> all = AllOptions(entry);
  for (const auto& [name, value] : options) {
    const auto setting = std::find_if(
        all.begin(), all.end(), [&, name = name](const auto& each) { return each.name == name; });
    if (setting == all.end()) return UnknownOption(name, all);
    OptionProblem problem = CheckRange(*setting, value);
    if (!problem.option.empty()) return problem;
  }
  const OptimizerOptions complete = Complete(entry, options);
  const auto value_of = [&](const char* name) {
    const auto it = complete.find(name);
    return it == complete.end() ? 0 : it->second;
  };
  if (options.contains("nesterov") && value_of("nesterov") != 0 &&
      (value_of("momentum") <= 0 || value_of("dampening") != 0))
    return {"nesterov", "needs a momentum above 0 and no dampening"};
  return {};
}

absl::StatusOr<std::vector<GroupSettings>> AddOptimizer(Model& model, const OptimizerConfig& config,
                                                        absl::Span<const ParameterGroup> groups) {
  const OptimizerEntry* entry = FindOptimizer(config.name);
  if (entry == nullptr) {
    const auto names = absl::StrJoin(Optimizers(), ", ", [](std::string* out, const auto& each) {
      out->append(std::string(each.name));
    });
    return absl::InvalidArgumentError(
        absl::StrCat("there is no optimizer '", config.name, "'; there are ", names));
  }
  std::vector<OptimizerOptions> options;
  for (const ParameterGroup& group : groups) {
    ONWARD_RETURN_IF_ERROR(CheckGroup(model.graph, group));
    OptimizerOptions merged = group.options;
    merged.insert(config.options.begin(), config.options.end());
    const OptionProblem problem = CheckOptions(*entry, merged);
    if (!problem.option.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer ", config.name, ": ", problem.option, " ", problem.reason));
    }
    options.push_back(Complete(*entry, merged));
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

}  // namespace onward::training
