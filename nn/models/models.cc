#include "onward/models.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nn/models/entries.h"
#include "onward/status.h"

namespace onward {
namespace {

const ModelOption kDouble = {"double", 0, 0, 1};

template <typename Rows>
std::string Names(const Rows& rows) {
  return absl::StrJoin(
      rows, ", ", [](std::string* out, const auto& row) { out->append(std::string(row.name)); });
}

absl::StatusOr<ModelOptions> Complete(const ModelEntry& entry,
                                      const std::map<std::string, double>& given) {
  std::vector<ModelOption> known = entry.options;
  known.push_back(kDouble);
  const std::string model = absl::StrCat("model ", std::string(entry.name));
  std::map<std::string, double> values;
  for (const ModelOption& option : known) values[std::string(option.name)] = option.default_value;
  for (const auto& [name, value] : given) {
    const auto option = std::find_if(
        known.begin(), known.end(), [&name = name](const auto& each) { return each.name == name; });
    if (option == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(model, " has no option '", name, "'; it has ", Names(known)));
    }
    if (!(value >= option->least && value <= option->most) ||
        (option->whole && value != std::floor(value))) {
      return absl::InvalidArgumentError(absl::StrCat(model, ": ", name, " = ", value, " is not a ",
                                                     option->whole ? "whole " : "", "number in [",
                                                     option->least, ", ", option->most, "]"));
    }
    values[name] = value;
  }
  return ModelOptions(std::move(values));
}

}  // namespace

const std::vector<ModelEntry>& Models() {
  static const auto* const models = new std::vector<ModelEntry>{
      nn::MlpEntry(),      nn::MnistCnnEntry(), nn::CifarResNetEntry(),
      nn::ResNet18Entry(), nn::ResNet50Entry(), nn::BertEntry(),
      nn::GptEntry(),      nn::LstmLmEntry(),   nn::UnetEntry(),
  };
  return *models;
}

absl::StatusOr<Model> BuildModel(std::string_view name,
                                 const std::map<std::string, double>& options, uint64_t seed) {
  const std::vector<ModelEntry>& models = Models();
  const auto entry = std::find_if(models.begin(), models.end(),
                                  [&](const ModelEntry& each) { return each.name == name; });
  if (entry == models.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no model '", std::string(name), "'; there are ", Names(models)));
  }
  ONWARD_ASSIGN_OR_RETURN(const ModelOptions complete, Complete(*entry, options));
  GraphBuilder builder{std::string(name)};
  nn::ModuleOptions module_options;
  module_options.dtype = complete.on("double") ? DType::kFloat64 : DType::kFloat32;
  module_options.seed = seed;
  nn::Module root(builder, module_options);
  entry->build(builder, root, complete);
  absl::StatusOr<Model> model = builder.Build();
  if (!model.ok()) return Annotate(model.status(), absl::StrCat("model ", std::string(name), ":"));
  model->producer_name = "onward";
  return model;
}

}  // namespace onward
