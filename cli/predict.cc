// onward predict: the outputs of a model for every example of a data set.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/data_notes.h"
#include "cli/summary.h"
#include "cli/write_outputs.h"
#include "onward/dataset.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/config/set_field.h"
#include "training/data/loader.h"
#include "training/step/batch_inputs.h"

namespace onward::cli {
namespace {

struct PredictFlags {
  std::string model, data, data_dir = ".", output_dir;
  int batch_size = 32;
};

absl::StatusOr<DataConfig> DataOf(const PredictFlags& options) {
  TrainConfig config;
  ONWARD_RETURN_IF_ERROR(Annotate(
      training::SetField(config, "data", absl::StrCat("{", options.data, "}")), "--data:"));
  config.mutable_data()->set_drop_last(false);
  return config.data();
}

// The rows of every batch, one output.
class Rows {
 public:
  explicit Rows(std::string name) : name_(std::move(name)) {}

  // InvalidArgument: not a tensor with a row for each example, or of other dims than before.
  absl::Status Add(const Value& value, int64_t examples) {
    if (!value.is_tensor() || IsSubByte(value.tensor().dtype()))
      return absl::InvalidArgumentError(
          absl::StrCat("output '", name_,
                       "' is not a tensor of whole bytes, so that its rows cannot be joined"));
    const Tensor& tensor = value.tensor();
    if (tensor.rank() == 0 || tensor.dims()[0] != examples)
      return absl::InvalidArgumentError(absl::StrCat("output '", name_, "' is ",
                                                     DimsString(tensor.dims()), " for ", examples,
                                                     " examples: it has no row for each of them"));
    if (!parts_.empty() && parts_[0].dims().subspan(1) != tensor.dims().subspan(1))
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", name_, "' is ", DimsString(tensor.dims()), " for one batch and ",
          DimsString(parts_[0].dims()),
          " for another: data that all have one size (pad_to_max_length of tokens), or "
          "--batch-size for one batch of all, give rows of one size"));
    parts_.push_back(tensor.Clone());
    rows_ += examples;
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Joined() const {
    Dims dims(parts_[0].dims().begin(), parts_[0].dims().end());
    dims[0] = rows_;
    ONWARD_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(parts_[0].dtype(), dims));
    char* to = static_cast<char*>(joined.raw_mutable_data());
    for (const Tensor& part : parts_) {
      CopyElements(part.view(), {joined.dtype(), Device(), to, part.dims()});
      to += joined.dtype() == DType::kString
                ? part.num_elements() * static_cast<int64_t>(sizeof(std::string))
                : ByteSize(joined.dtype(), part.num_elements());
    }
    return joined;
  }

 private:
  std::string name_;
  std::vector<Tensor> parts_;
  int64_t rows_ = 0;
};

absl::StatusOr<Session::Outputs> PredictAll(Session& session, training::Loader& loader,
                                            const DataConfig& data) {
  std::map<std::string, Rows> rows;
  for (const ValueInfo& output : session.outputs()) rows.emplace(output.name, Rows(output.name));
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const training::Batch batch, loader.Next());
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs,
                            training::InputsOf(session.inputs(), batch, data));
    ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session.Run(inputs));
    const int64_t examples = batch.begin()->second.dims()[0];
    for (const auto& [name, value] : outputs)
      ONWARD_RETURN_IF_ERROR(rows.at(name).Add(value, examples));
  }
  Session::Outputs joined;
  for (const auto& [name, each] : rows) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, each.Joined());
    joined.emplace(name, std::move(tensor));
  }
  return joined;
}

absl::Status Predict(const PredictFlags& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Load(options.model, common.session()));
  ONWARD_ASSIGN_OR_RETURN(DataConfig data, DataOf(options));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                          ApplyNotes(session->metadata(), data));
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> examples,
                          OpenDataset(data, options.data_dir));
  ONWARD_ASSIGN_OR_RETURN(training::LoaderOptions loading,
                          training::OptionsOf(data, *examples, /*training=*/false));
  loading.batch_size =
      std::min<int64_t>(options.batch_size, std::max<int64_t>(1, examples->size()));
  loading.seed = common.seed.value_or(0);
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<training::Loader> loader,
                          training::Loader::Create(examples, loading));
  ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, PredictAll(*session, *loader, data));
  ONWARD_RETURN_IF_ERROR(WriteOutputs(outputs, options.output_dir));
  nlohmann::json document = {{"examples", examples->size() - loader->broken_examples()},
                             {"outputs", nlohmann::json::array()}};
  for (const ValueInfo& info : session->outputs()) {
    ValueSummary summary = Summarize(info.name, outputs.at(info.name));
    document["outputs"].push_back(summary.json);
    if (!common.json) std::printf("%s\n", summary.text.c_str());
  }
  if (!classes.empty()) document["classes"] = classes;
  if (common.json) std::printf("%s\n", document.dump(2).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddPredict(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<PredictFlags>();
  Command command = NewCommand(
      line, common, "predict", "The outputs of a model for every example of a data set",
      "onward predict model.onnx --data 'images { directory: \"new\" }' --output-dir out");
  command.Option("model", options->model, "ONNX file", {.required = true});
  command.Option("--data", options->data, "onward.DataConfig in text format", {.required = true});
  command.Option("--data-dir", options->data_dir,
                 "relative paths of data are below it (default: the current directory)");
  command.Option("--output-dir", options->output_dir,
                 "where every output goes as NAME.npy, a row for each example in the data's order",
                 {.required = true});
  command.Option("--batch-size", options->batch_size, "examples at a time", {.positive = true});
  command.Do([=, &common] { return Predict(*options, common); });
}

}  // namespace onward::cli
