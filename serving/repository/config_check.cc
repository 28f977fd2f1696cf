#include "serving/repository/config_check.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/session.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

absl::Status Differs(const std::string& field, const std::string& expected,
                     const std::string& got) {
  return absl::InvalidArgumentError(
      absl::StrCat("the model's configuration: ", field, ": expected ", expected, ", got ", got));
}

absl::Status NotServed(const std::string& what) {
  return absl::UnimplementedError(absl::StrCat("the model's configuration: ", what));
}

config::DataType DataTypeOf(DType dtype) {
  const std::string name(DatatypeName(dtype));
  config::DataType type = config::TYPE_INVALID;
  config::DataType_Parse(name == "BYTES" ? "TYPE_STRING" : "TYPE_" + name, &type);
  return type;
}

// Without the batch dimension; -1 for what varies.
std::vector<int64_t> DimsOf(const Type& type, bool batched) {
  std::vector<int64_t> dims;
  if (!type.shape) return {-1};
  for (size_t i = batched ? 1 : 0; i < type.shape->size(); ++i)
    dims.push_back((*type.shape)[i].known() ? (*type.shape)[i].value() : -1);
  return dims;
}

std::string Text(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

const ValueInfo* Find(const std::vector<ValueInfo>& values, const std::string& name) {
  for (const ValueInfo& value : values)
    if (value.name == name) return &value;
  return nullptr;
}

// For inputs and outputs, which are messages of two types.
template <typename Tensor>
absl::Status CheckTensor(const std::string& field, const std::vector<ValueInfo>& values,
                         bool batched, const Tensor& tensor) {
  const ValueInfo* const value = Find(values, tensor.name());
  if (value == nullptr) {
    std::vector<std::string> names;
    for (const ValueInfo& each : values) names.push_back(each.name);
    return Differs(absl::StrCat(field, " name"),
                   absl::StrCat("one of the model's: '", absl::StrJoin(names, "', '"), "'"),
                   absl::StrCat("'", tensor.name(), "'"));
  }
  const std::string where = absl::StrCat(field, " '", tensor.name(), "': ");
  const config::DataType type = DataTypeOf(value->type.dtype);
  if (tensor.data_type() != config::TYPE_INVALID && tensor.data_type() != type)
    return Differs(where + "data_type", config::DataType_Name(type),
                   config::DataType_Name(tensor.data_type()));
  if (tensor.has_reshape()) return NotServed(where + "reshape is not supported");
  if (tensor.dims_size() == 0 || !value->type.shape) return absl::OkStatus();
  const std::vector<int64_t> dims = DimsOf(value->type, batched);
  const absl::Span<const int64_t> given(tensor.dims().data(),
                                        static_cast<size_t>(tensor.dims_size()));
  bool same = dims.size() == given.size();
  for (size_t i = 0; same && i < dims.size(); ++i)
    same = given[i] >= -1 && (dims[i] == given[i] || dims[i] == -1 || given[i] == -1);
  return same ? absl::OkStatus() : Differs(where + "dims", Text(dims), Text(given));
}

absl::Status CheckBatch(const std::vector<ValueInfo>& values, const char* what, int32_t most) {
  for (const ValueInfo& value : values) {
    if (!value.type.shape) continue;
    const SymbolicDims& dims = *value.type.shape;
    if (!dims.empty() && !dims[0].known()) continue;
    const std::string why = dims.empty() ? "has no dimensions"
                                         : absl::StrCat("has a first dimension of ",
                                                        dims[0].value(), ", which is fixed");
    return Differs("max_batch_size", absl::StrCat("0, since ", what, " '", value.name, "' ", why),
                   absl::StrCat(most));
  }
  return absl::OkStatus();
}

template <typename Tensors>
void CompleteTensors(const std::vector<ValueInfo>& values, bool batched, Tensors& tensors) {
  for (const ValueInfo& value : values) {
    auto found = tensors.begin();
    while (found != tensors.end() && found->name() != value.name) ++found;
    auto& tensor = found == tensors.end() ? *tensors.Add() : *found;
    tensor.set_name(value.name);
    tensor.set_data_type(DataTypeOf(value.type.dtype));
    if (tensor.dims_size() > 0) continue;
    for (const int64_t dim : DimsOf(value.type, batched)) tensor.add_dims(dim);
  }
}

absl::Status CheckKind(const std::string& name, const config::ModelConfig& config) {
  if (!config.name().empty() && config.name() != name)
    return Differs("name", absl::StrCat("'", name, "', as the model's directory"),
                   absl::StrCat("'", config.name(), "'"));
  const std::string& platform = config.platform();
  const bool is_ensemble = config.has_ensemble_scheduling();
  if (is_ensemble && !platform.empty() && platform != "ensemble")
    return Differs("platform", "ensemble, since there is ensemble_scheduling", platform);
  if (platform == "ensemble" && !is_ensemble)
    return Differs("ensemble_scheduling", "steps, since the platform is ensemble", "none");
  if (!is_ensemble && !platform.empty() && platform != "onnxruntime_onnx" &&
      platform != "onnx_onnxv1")
    return NotServed(
        absl::StrCat("platform: expected onnxruntime_onnx or ensemble, got ", platform));
  const std::string& backend = config.backend();
  if (!backend.empty() && backend != "onnxruntime" && backend != "onward")
    return NotServed(absl::StrCat("backend: expected onnxruntime or onward, got ", backend));
  if (config.model_transaction_policy().decoupled())
    return NotServed("model_transaction_policy: decoupled models are not supported");
  if (config.max_batch_size() < 0)
    return Differs("max_batch_size", "0 or more", absl::StrCat(config.max_batch_size()));
  return absl::OkStatus();
}

absl::Status CheckOptional(const std::vector<ValueInfo>& inputs,
                           const config::ModelConfig& config) {
  for (const config::Input& input : config.input()) {
    const ValueInfo* const value = Find(inputs, input.name());
    if (input.optional() && !value->optional)
      return Differs(absl::StrCat("input '", input.name(), "': optional"),
                     "false, since the model has no default for it", "true");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CompleteConfig(const std::string& name, const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs, config::ModelConfig& config) {
  ONWARD_RETURN_IF_ERROR(CheckKind(name, config));
  const bool batched = config.max_batch_size() > 0;
  if (batched) {
    ONWARD_RETURN_IF_ERROR(CheckBatch(inputs, "input", config.max_batch_size()));
    ONWARD_RETURN_IF_ERROR(CheckBatch(outputs, "output", config.max_batch_size()));
  }
  for (const config::Input& input : config.input())
    ONWARD_RETURN_IF_ERROR(CheckTensor("input", inputs, batched, input));
  for (const config::Output& output : config.output())
    ONWARD_RETURN_IF_ERROR(CheckTensor("output", outputs, batched, output));
  ONWARD_RETURN_IF_ERROR(CheckOptional(inputs, config));
  config.set_name(name);
  if (config.platform().empty())
    config.set_platform(config.has_ensemble_scheduling() ? "ensemble" : "onnx_onnxv1");
  if (config.backend().empty() && !config.has_ensemble_scheduling()) config.set_backend("onward");
  CompleteTensors(inputs, batched, *config.mutable_input());
  CompleteTensors(outputs, batched, *config.mutable_output());
  for (config::Input& input : *config.mutable_input())
    input.set_optional(Find(inputs, input.name())->optional);
  if (config.version_policy().policy_choice_case() == config::VersionPolicy::POLICY_CHOICE_NOT_SET)
    config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  if (config.instance_group().empty()) {
    config::InstanceGroup& group = *config.add_instance_group();
    group.set_name(name);
    group.set_kind(config::InstanceGroup::KIND_CPU);
  }
  for (config::InstanceGroup& group : *config.mutable_instance_group())
    if (group.count() == 0) group.set_count(1);
  return absl::OkStatus();
}

}  // namespace onward::serving
