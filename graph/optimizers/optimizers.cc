#include "graph/optimizers/optimizers.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace optimizers {

Expr StepCall::gradient() const {
  const Expr given = call_.input(1);
  return Is("maximize") ? -given : given;
}

Expr StepCall::setting(std::string_view name) const {
  for (const OptimizerEntry& entry : Optimizers()) {
    if (entry.op.formula != formula_) continue;
    for (size_t i = 0; i < entry.settings.size(); ++i) {
      if (entry.settings[i].name != name) continue;
      return expr::Gather(call_.input(2),
                          call_.sink().Scalar(static_cast<double>(i), DType::kInt64));
    }
  }
  call_.Fail(absl::StrCat("its entry has no setting ", std::string(name)));
  return call_.sink().Scalar(0, DType::kFloat64);
}

std::vector<OptimizerSetting> AdamSettings(double lr, double eps, double weight_decay) {
  return {Number("lr", lr), Decay("beta1", 0.9), Decay("beta2", 0.999), Number("eps", eps),
          Number("weight_decay", weight_decay)};
}

Tensor Filled(DType dtype, DimsView dims, double value) {
  Tensor tensor(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) {
      std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), value);
    } else {
      std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), T(static_cast<float>(value)));
    }
  });
  return tensor;
}

OptimizerState Zeros(const char* name, const Type& parameter) {
  return {name, Filled(parameter.dtype, *parameter.static_dims(), 0)};
}

OptimizerState ZerosFor(const char* option, const char* name, const OptimizerOptions& options,
                        const Type& parameter) {
  return options.at(option) != 0 ? Zeros(name, parameter) : OptimizerState();
}

std::vector<OptimizerState> MomentsStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("moment", parameter), Zeros("second_moment", parameter)};
}

namespace {

std::vector<FormulaOp> StepOps() {
  std::vector<FormulaOp> ops;
  std::set<std::string> names;
  for (const OptimizerEntry& entry : Optimizers())
    if (names.insert(entry.op_type()).second) ops.push_back(entry.op);
  return ops;
}

}  // namespace
}  // namespace optimizers

const std::vector<OptimizerEntry>& Optimizers() {
  using namespace optimizers;  // NOLINT: the families
  static const auto* entries = [] {
    auto* all = new std::vector<OptimizerEntry>;
    for (const auto family : {AdafactorEntries, AdagradEntries, AdamEntries, LambEntries,
                              LionEntries, MuonEntries, RMSpropEntries, SgdEntries}) {
      for (OptimizerEntry& entry : family()) all->push_back(std::move(entry));
    }
    std::sort(all->begin(), all->end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
  }();
  return *entries;
}

const OptimizerEntry* FindOptimizer(std::string_view name) {
  const auto& entries = Optimizers();
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& each) { return each.name == name; });
  return entry == entries.end() ? nullptr : &*entry;
}

std::vector<onnx::OpSchema> OptimizerSchemas() {
  return FormulaSchemas(kOnwardDomain, {optimizers::StepOps});
}

}  // namespace onward
