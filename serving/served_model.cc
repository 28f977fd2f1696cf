#include "serving/served_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"
#include "serving/example_inputs.h"
#include "serving/http/framing.h"
#include "serving/protocol/classification.h"
#include "serving/protocol/datatype.h"
#include "serving/repository/config_check.h"
#include "serving/repository/config_text.h"
#include "serving/repository/labels.h"
#include "serving/scheduling/batch.h"
#include "serving/scheduling/thread_gain.h"
#include "serving/text/text_model.h"

namespace onward::serving {
namespace {

absl::Status CheckName(const std::string& name) {
  const bool blank = name.find_first_not_of(' ') == name.npos;
  if (!blank && CanBeSegment(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' cannot be the name of a model in a path: NAME=MODEL gives another"));
}

absl::Status CheckCrosses(const ValueInfo& value, const char* what) {
  if (value.type.is_tensor() && !DatatypeName(value.type.dtype).empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(what, " '", value.name, "' is ",
                                               value.type.ToString(),
                                               ", which cannot cross the inference protocol"));
}

nlohmann::json Described(const std::vector<ValueInfo>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const ValueInfo& value : values) {
    list.push_back({{"name", value.name},
                    {"datatype", std::string(DatatypeName(value.type.dtype))},
                    {"shape", ShapeOf(value.type, -1)}});
  }
  return list;
}

// Returns whether all inputs and outputs have a first dimension that varies, one for all.
bool HasRows(const Session& session) {
  const Dim* first = nullptr;
  for (const auto* values : {&session.inputs(), &session.outputs()}) {
    for (const ValueInfo& value : *values) {
      if (!value.type.shape || value.type.shape->empty()) return false;
      const Dim& dim = value.type.shape->front();
      if (dim.known() || (first != nullptr && dim != *first)) return false;
      first = &dim;
    }
  }
  return first != nullptr;
}

// `configured` 0: as many as is usual.
int64_t MostBatchRows(const Session& session, int64_t configured, bool deterministic) {
  // Rows of larger batches take as long or longer, as they leave the caches.
  constexpr int64_t kUsual = 32;
  if (deterministic || !session.RowsAreIndependent().ok()) return 0;
  return configured > 0 ? configured : kUsual;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ServedModel>> ServedModel::Create(std::string name,
                                                                 std::shared_ptr<Session> session,
                                                                 ServedModelFacts facts) {
  ONWARD_RETURN_IF_ERROR(CheckName(name));
  std::shared_ptr<config::ModelConfig> config = NewConfig();
  if (facts.config != nullptr) *config = *facts.config;
  ONWARD_ASSIGN_OR_RETURN(Interface interface, InterfaceOf(*session, *config, facts.directory));
  for (const ValueInfo& value : interface.inputs)
    ONWARD_RETURN_IF_ERROR(CheckCrosses(value, "input"));
  for (const ValueInfo& value : interface.outputs)
    ONWARD_RETURN_IF_ERROR(CheckCrosses(value, "output"));
  if (facts.places.empty()) {
    ONWARD_ASSIGN_OR_RETURN(facts.places, InstancePlacesOf(name, *config, "cpu", /*log=*/nullptr));
  }
  SetInstancePlaces(name, facts.places, *config);
  ONWARD_RETURN_IF_ERROR(CompleteConfig(name, interface.inputs, interface.outputs, *config));
  facts.config = std::move(config);
  if (facts.statistics == nullptr) facts.statistics = std::make_shared<ModelStatistics>();
  facts.labels.merge(LabelsInMetadata(session->metadata()));  // labels of files come first
  std::vector<DeviceSession> sessions = {{std::move(session), facts.places[0].runs}};
  for (std::shared_ptr<Session>& other : facts.others)
    sessions.push_back({std::move(other), facts.places[sessions.size()].runs});
  return std::shared_ptr<ServedModel>(new ServedModel(std::move(name), std::move(sessions),
                                                      std::move(facts), std::move(interface)));
}

absl::StatusOr<ServedModel::Interface> ServedModel::InterfaceOf(const Session& session,
                                                                const config::ModelConfig& config,
                                                                const std::string& directory) {
  Interface interface;
  interface.inputs = session.inputs();
  interface.outputs = session.outputs();
  ONWARD_ASSIGN_OR_RETURN(interface.queue, ReadQueueConfig(config));
  if (!config.has_sequence_batching()) return interface;
  ONWARD_ASSIGN_OR_RETURN(
      SequenceConfig read,
      ReadSequenceConfig(config, directory, interface.inputs, interface.outputs));
  interface.inputs = read.client_inputs;
  // A state that the configuration lists among its outputs is returned, too.
  std::erase_if(interface.outputs, [&](const ValueInfo& output) {
    const auto is_listed = [&](const config::Output& each) { return each.name() == output.name; };
    return read.Keeps(output.name) &&
           std::none_of(config.output().begin(), config.output().end(), is_listed);
  });
  interface.sequences = std::make_shared<Sequences>(std::move(read));
  return interface;
}

ServedModel::ServedModel(std::string name, std::vector<DeviceSession> sessions,
                         ServedModelFacts facts, Interface interface)
    : name_(std::move(name)),
      version_(absl::StrCat(facts.version)),
      instances_(std::move(sessions)),
      facts_(std::move(facts)),
      interface_(std::move(interface)),
      has_rows_(facts_.config->max_batch_size() > 0 || HasRows(session())),
      most_batch_rows_(
          MostBatchRows(session(), facts_.config->max_batch_size(), facts_.deterministic)),
      example_size_(LeastExampleSize(session())),
      gains_by_threads_(GainsByThreads(session(), example_size_)),
      rows_apart_(facts_.deterministic && session().RowsAreIndependent().ok()) {}

const std::vector<std::string>* ServedModel::labels(const std::string& output) const {
  const auto found = facts_.labels.find(output);
  return found == facts_.labels.end() ? nullptr : &found->second;
}

int64_t ServedModel::RowsOf(const Session::Inputs& inputs) const {
  if (!has_rows_ || inputs.empty()) return 1;
  const Value& first = inputs.begin()->second;
  return first.is_tensor() && first.tensor().rank() > 0 ? first.tensor().dims()[0] : 1;
}

std::string ServedModel::MetadataJson(const std::vector<std::string>& versions) const {
  const nlohmann::json document = {
      {"name", name_},
      {"versions", versions},
      {"platform", config().has_ensemble_scheduling() ? "ensemble" : "onnx_onnxv1"},
      {"inputs", Described(inputs())},
      {"outputs", Described(outputs())}};
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status ServedModel::CheckRequest(const InferRequest& request) const {
  if (sequences() != nullptr) ONWARD_RETURN_IF_ERROR(sequences()->Check(request));
  std::vector<std::string> names;
  for (const ValueInfo& output : outputs()) names.push_back(output.name);
  for (const RequestedOutput& output : request.outputs) {
    if (std::find(names.begin(), names.end(), output.name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "outputs: the model has no output '", output.name, "'", DidYouMean(output.name, names)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Session::Outputs> ServedModel::Run(const Session::Inputs& inputs,
                                                  const RunOptions& options) const {
  const int64_t rows = rows_apart_ ? serving::RowsOf(inputs) : 1;
  if (rows < 2) return instances_.Run(inputs, options);
  ONWARD_ASSIGN_OR_RETURN(auto outputs, RunRows(inputs, rows, options));
  return outputs ? *std::move(outputs) : instances_.Run(inputs, options);
}

absl::StatusOr<std::optional<Session::Outputs>> ServedModel::RunRows(
    const Session::Inputs& inputs, int64_t rows, const RunOptions& options) const {
  std::vector<Session::Outputs> each;
  for (int64_t row = 0; row < rows; ++row) {
    ONWARD_ASSIGN_OR_RETURN(Session::Outputs own,
                            instances_.Run(RowsFrom(inputs, row, 1), options));
    if (serving::RowsOf(own) != 1) return std::nullopt;
    each.push_back(std::move(own));
  }
  std::vector<const Session::Outputs*> parts;
  for (const Session::Outputs& own : each) parts.push_back(&own);
  return Join(parts);
}

absl::StatusOr<InferReply> ServedModel::Reply(const InferRequest& request,
                                              const Session::Outputs& values) const {
  std::vector<RequestedOutput> wanted = request.outputs;
  if (wanted.empty())
    for (const ValueInfo& output : outputs())
      wanted.push_back({output.name, request.binary_output});
  InferReply reply{name_, version_, request.id};
  for (const RequestedOutput& output : wanted) {
    const Value& value = values.at(output.name);
    if (!value.is_tensor())
      return absl::InternalError(absl::StrCat("output '", output.name, "' is not a tensor"));
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Wanted(value.tensor(), output));
    reply.outputs.push_back({output.name, std::move(tensor), output.binary});
  }
  return reply;
}

absl::StatusOr<Tensor> ServedModel::Wanted(const Tensor& tensor,
                                           const RequestedOutput& output) const {
  if (output.classes == 0) return tensor;
  const std::vector<std::string>* names = labels(output.name);
  absl::StatusOr<Tensor> best =
      BestClasses(tensor, output.classes, names == nullptr ? std::vector<std::string>() : *names);
  return best.ok() ? best : Annotate(best.status(), absl::StrCat("output '", output.name, "':"));
}

}  // namespace onward::serving
