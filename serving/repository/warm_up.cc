#include "serving/repository/warm_up.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"
#include "serving/repository/model_file.h"

namespace onward::serving {
namespace {

using Types = Concat<NumericTypes, TypeList<bool, std::string>>;

// Floats are drawn from [0, 1), integers from {0, 1}: they are indices of anything.
template <typename T>
void Fill(absl::Span<T> elements, std::mt19937& random) {
  for (T& element : elements) {
    if constexpr (std::is_same_v<T, std::string>) {
      element = std::string(1, static_cast<char>('a' + random() % 26));
    } else if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(random() % 2);
    } else {
      element = static_cast<T>(static_cast<float>(random() >> 8) / 16777216.0f);
    }
  }
}

absl::StatusOr<Tensor> DataOf(const config::WarmUp::Input& input, const std::string& directory,
                              int64_t batch, std::mt19937& random) {
  const std::string& type = config::DataType_Name(input.data_type());
  const std::string name = type == "TYPE_STRING" ? "BYTES" : type.substr(sizeof("TYPE_") - 1);
  const std::optional<DType> dtype = DTypeOfDatatype(name);
  if (!dtype) return absl::InvalidArgumentError("data_type is missing");
  if (input.input_data_type_case() == config::WarmUp::Input::kInputDataFile) {
    const Dims dims(input.dims().begin(), input.dims().end());
    ONWARD_ASSIGN_OR_RETURN(
        const Tensor row,
        ReadModelTensor(directory, absl::StrCat("warmup/", input.input_data_file()),
                        "input_data_file", *dtype, dims));
    return batch > 0 ? RepeatRow(row, batch) : row;
  }
  Dims dims;
  if (batch > 0) dims.push_back(batch);
  dims.insert(dims.end(), input.dims().begin(), input.dims().end());
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(*dtype, dims));
  DispatchDType(Types(), *dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const data = tensor.mutable_data<T>();
    const absl::Span<T> elements(data, static_cast<size_t>(tensor.num_elements()));
    if (input.random_data()) return Fill(elements, random);
    std::fill(elements.begin(), elements.end(), T());
  });
  return tensor;
}

absl::Status RunOne(const config::ModelConfig& config, const config::WarmUp& warm_up,
                    const std::string& directory, Session& session) {
  std::mt19937 random(0);
  const int64_t batch =
      config.max_batch_size() > 0 ? std::max<int64_t>(1, warm_up.batch_size()) : 0;
  if (batch > std::max(0, config.max_batch_size()))
    return absl::InvalidArgumentError(absl::StrCat("batch_size: expected at most max_batch_size, ",
                                                   config.max_batch_size(), ", got ", batch));
  Session::Inputs inputs;
  for (const auto& [name, input] : warm_up.inputs()) {
    absl::StatusOr<Tensor> data = DataOf(input, directory, batch, random);
    if (!data.ok()) return Annotate(data.status(), absl::StrCat("input '", name, "':"));
    inputs.emplace(name, *std::move(data));
  }
  for (uint32_t i = 0; i < std::max<uint32_t>(1, warm_up.count()); ++i)
    ONWARD_RETURN_IF_ERROR(session.Run(inputs).status());
  return absl::OkStatus();
}

}  // namespace

absl::Status RunWarmUp(const config::ModelConfig& config, const std::string& directory,
                       Session& session) {
  for (const config::WarmUp& warm_up : config.model_warmup()) {
    const absl::Status status = RunOne(config, warm_up, directory, session);
    if (!status.ok()) return Annotate(status, absl::StrCat("model_warmup '", warm_up.name(), "':"));
  }
  return absl::OkStatus();
}

}  // namespace onward::serving
