#include "training/step/batch_inputs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "training/rewrite/training_names.h"

namespace onward::training {

absl::StatusOr<Session::Inputs> InputsOf(const std::vector<ValueInfo>& inputs, const Batch& batch,
                                         const DataConfig& data) {
  Session::Inputs given;
  for (const ValueInfo& input : inputs) {
    const std::string name = UserName(input.name);
    const auto named = data.inputs().find(name);
    const std::string& field = named == data.inputs().end() ? name : named->second;
    const auto it = batch.find(field);
    if (it != batch.end()) {
      given[input.name] = it->second;
      continue;
    }
    if (input.optional) continue;
    std::string fields;
    for (const auto& [each, tensor] : batch)
      absl::StrAppend(&fields, fields.empty() ? "" : ", ", each);
    return absl::InvalidArgumentError(absl::StrCat(
        "data.inputs: nothing feeds the model's input '", name, "' (", input.type.ToString(),
        "): the data has no field '", field, "'; it has ", fields.empty() ? "none" : fields));
  }
  return given;
}

}  // namespace onward::training
