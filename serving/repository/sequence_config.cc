#include "serving/repository/sequence_config.h"

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/session.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"
#include "serving/repository/model_file.h"

namespace onward::serving {
namespace {

using Control = config::SequenceBatching::Control;

constexpr size_t kMostSequences = 1000;  // where the configuration has no number

absl::Status Wrong(const std::string& field, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the model's configuration: sequence_batching: ", field, ": ", what));
}

absl::StatusOr<ValueInfo> Find(const std::vector<ValueInfo>& values, const std::string& name,
                               const std::string& field) {
  std::vector<std::string> names;
  for (const ValueInfo& value : values) {
    names.push_back(value.name);
    if (value.name != name) continue;
    if (value.type.is_tensor()) return value;
    return Wrong(field, absl::StrCat("expected a tensor, '", name, "' is ", value.type.ToString()));
  }
  return Wrong(field, absl::StrCat("expected one of the model's: '", absl::StrJoin(names, "', '"),
                                   "', got '", name, "'"));
}

absl::Status CheckDataType(const std::string& field, config::DataType given, DType expected) {
  if (given == config::TYPE_INVALID) return absl::OkStatus();
  const std::string name(DatatypeName(expected));
  const std::string type = name == "BYTES" ? "TYPE_STRING" : "TYPE_" + name;
  if (config::DataType_Name(given) == type) return absl::OkStatus();
  return Wrong(absl::StrCat(field, ": data_type"),
               absl::StrCat("expected ", type, ", got ", config::DataType_Name(given)));
}

// The dims with those of the batch, where the configuration leaves it out.
absl::StatusOr<std::vector<int64_t>> BeginningOf(const config::SequenceBatching::State& state,
                                                 const Type& type, bool batched,
                                                 const std::string& field) {
  const bool initial = !state.initial_state().empty() && !state.initial_state(0).dims().empty();
  const auto& given = initial ? state.initial_state(0).dims() : state.dims();
  if (given.empty()) return std::vector<int64_t>(type.shape ? type.shape->size() : 0, int64_t{-1});
  std::vector<int64_t> dims;
  if (batched) dims.push_back(-1);
  dims.insert(dims.end(), given.begin(), given.end());
  bool fits = !type.shape || type.shape->size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const bool same =
        !type.shape || !(*type.shape)[i].known() || (*type.shape)[i].value() == dims[i];
    fits = dims[i] >= -1 && (dims[i] == -1 || same);
  }
  if (fits) return dims;
  return Wrong(absl::StrCat(field, ": dims"),
               absl::StrCat("got [", absl::StrJoin(given, ","), "], but the model's input is ",
                            type.ToString(), batched ? ", whose first dimension is left out" : ""));
}

absl::StatusOr<SequenceState> ReadState(const config::SequenceBatching::State& state,
                                        const std::string& directory,
                                        const std::vector<ValueInfo>& inputs,
                                        const std::vector<ValueInfo>& outputs, bool batched) {
  const std::string field = absl::StrCat("state '", state.input_name(), "'");
  SequenceState read;
  ONWARD_ASSIGN_OR_RETURN(read.input,
                          Find(inputs, state.input_name(), absl::StrCat(field, ": input_name")));
  ONWARD_ASSIGN_OR_RETURN(const ValueInfo output,
                          Find(outputs, state.output_name(), absl::StrCat(field, ": output_name")));
  read.output = output.name;
  const DType dtype = read.input.type.dtype;
  if (output.type.dtype != dtype)
    return Wrong(field, absl::StrCat("expected an output of ", read.input.type.ToString(), ", '",
                                     output.name, "' is ", output.type.ToString()));
  ONWARD_RETURN_IF_ERROR(CheckDataType(field, state.data_type(), dtype));
  if (state.initial_state_size() > 1)
    return Wrong(absl::StrCat(field, ": initial_state"),
                 absl::StrCat("expected one, got ", state.initial_state_size()));
  for (const auto& initial : state.initial_state()) {
    ONWARD_RETURN_IF_ERROR(
        CheckDataType(absl::StrCat(field, ": initial_state"), initial.data_type(), dtype));
  }
  ONWARD_ASSIGN_OR_RETURN(read.dims, BeginningOf(state, read.input.type, batched, field));
  const std::string file =
      state.initial_state().empty() ? std::string() : state.initial_state(0).data_file();
  if (file.empty()) return read;
  const std::string where =
      absl::StrCat("the model's configuration: sequence_batching: ", field, ": data_file");
  const DimsView row = DimsView(read.dims).subspan(batched ? 1 : 0);
  if (std::any_of(row.begin(), row.end(), [](int64_t dim) { return dim < 0; }))
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": dims must say how large the state is, got [", absl::StrJoin(row, ","), "]"));
  ONWARD_ASSIGN_OR_RETURN(
      read.beginning,
      ReadModelTensor(directory, absl::StrCat("initial_state/", file), where, dtype, row));
  return read;
}

// The two numbers that stand for false and true, as scalars of the input's type.
absl::StatusOr<std::array<Tensor, 2>> FalseAndTrue(const Control& control, DType dtype,
                                                   const std::string& field) {
  const int given = control.int32_false_true_size() + control.fp32_false_true_size() +
                    control.bool_false_true_size();
  const auto read = [&](const auto& list, DType expected) -> absl::StatusOr<std::array<Tensor, 2>> {
    if (list.size() != 2 || given != 2 || dtype != expected)
      return Wrong(field, absl::StrCat("expected two values, for false and true, of the input's ",
                                       "type ", std::string(DatatypeName(dtype))));
    using T = std::decay_t<decltype(list.Get(0))>;
    return std::array<Tensor, 2>{Tensor::Scalar<T>(list.Get(0)), Tensor::Scalar<T>(list.Get(1))};
  };
  if (control.int32_false_true_size() > 0) return read(control.int32_false_true(), DType::kInt32);
  if (control.fp32_false_true_size() > 0) return read(control.fp32_false_true(), DType::kFloat32);
  return read(control.bool_false_true(), DType::kBool);
}

absl::StatusOr<SequenceControl> ReadControl(const config::SequenceBatching::ControlInput& input,
                                            const std::vector<ValueInfo>& inputs) {
  const std::string field = absl::StrCat("control_input '", input.name(), "'");
  if (input.control_size() != 1)
    return Wrong(absl::StrCat(field, ": control"),
                 absl::StrCat("expected one, got ", input.control_size()));
  const Control& control = input.control(0);
  SequenceControl read;
  ONWARD_ASSIGN_OR_RETURN(read.input, Find(inputs, input.name(), absl::StrCat(field, ": name")));
  const DType dtype = read.input.type.dtype;
  ONWARD_RETURN_IF_ERROR(CheckDataType(field, control.data_type(), dtype));
  if (control.kind() == Control::CONTROL_SEQUENCE_CORRID) {
    read.kind = SequenceControl::Kind::kId;
    if (dtype == DType::kUint64 || dtype == DType::kInt64 || dtype == DType::kUint32 ||
        dtype == DType::kInt32 || dtype == DType::kString)
      return read;
    return Wrong(field, absl::StrCat("expected an input of UINT64, INT64, UINT32, INT32 or BYTES, ",
                                     "it is ", read.input.type.ToString()));
  }
  read.kind = control.kind() == Control::CONTROL_SEQUENCE_START ? SequenceControl::Kind::kStart
              : control.kind() == Control::CONTROL_SEQUENCE_END ? SequenceControl::Kind::kEnd
                                                                : SequenceControl::Kind::kReady;
  ONWARD_ASSIGN_OR_RETURN(read.values, FalseAndTrue(control, dtype, field));
  return read;
}

absl::Status CheckNamedOnce(const SequenceConfig& config) {
  std::set<std::string> inputs, outputs;
  for (const SequenceState& state : config.states) {
    if (!inputs.insert(state.input.name).second)
      return Wrong("state", absl::StrCat("input_name '", state.input.name, "' is there twice"));
    if (!outputs.insert(state.output).second)
      return Wrong("state", absl::StrCat("output_name '", state.output, "' is there twice"));
  }
  for (const SequenceControl& control : config.controls)
    if (!inputs.insert(control.input.name).second)
      return Wrong("control_input", absl::StrCat("'", control.input.name, "' is there twice"));
  return absl::OkStatus();
}

}  // namespace

bool SequenceConfig::Keeps(const std::string& output) const {
  return std::any_of(states.begin(), states.end(),
                     [&](const SequenceState& state) { return state.output == output; });
}

bool SequenceConfig::Gives(const std::string& input) const {
  const auto is_it = [&](const auto& each) { return each.input.name == input; };
  return std::any_of(states.begin(), states.end(), is_it) ||
         std::any_of(controls.begin(), controls.end(), is_it);
}

absl::StatusOr<SequenceConfig> ReadSequenceConfig(const config::ModelConfig& config,
                                                  const std::string& directory,
                                                  const std::vector<ValueInfo>& inputs,
                                                  const std::vector<ValueInfo>& outputs) {
  const config::SequenceBatching& batching = config.sequence_batching();
  SequenceConfig read;
  const uint64_t idle = batching.max_sequence_idle_microseconds();
  if (idle > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) * 1'000'000)
    return Wrong("max_sequence_idle_microseconds", absl::StrCat(idle, " is too long"));
  if (idle > 0) read.most_idle = std::chrono::microseconds(static_cast<int64_t>(idle));
  const int32_t most = batching.oldest().max_candidate_sequences();
  if (most < 0)
    return Wrong("max_candidate_sequences", absl::StrCat("expected 0 or more, got ", most));
  read.most_sequences = most > 0 ? static_cast<size_t>(most) : kMostSequences;
  for (const auto& state : batching.state()) {
    ONWARD_ASSIGN_OR_RETURN(SequenceState each, ReadState(state, directory, inputs, outputs,
                                                          config.max_batch_size() > 0));
    read.states.push_back(std::move(each));
  }
  for (const auto& input : batching.control_input()) {
    ONWARD_ASSIGN_OR_RETURN(SequenceControl each, ReadControl(input, inputs));
    read.controls.push_back(std::move(each));
  }
  ONWARD_RETURN_IF_ERROR(CheckNamedOnce(read));
  read.batched = config.max_batch_size() > 0;
  for (const ValueInfo& input : inputs)
    if (!read.Gives(input.name)) read.client_inputs.push_back(input);
  return read;
}

}  // namespace onward::serving
