// A model that is served: its session and what the protocol says of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "serving/instances.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"
#include "serving/repository/instance_places.h"
#include "serving/repository/queue_config.h"
#include "serving/scheduling/sequences.h"
#include "serving/statistics/model_statistics.h"

namespace onward::serving {

class TextModel;
namespace config {
class ModelConfig;
}  // namespace config

// Facts that a repository knows about a model besides its session.
struct ServedModelFacts {
  int64_t version = 1;
  std::string directory = {};  // in which the files that the configuration names lie
  std::shared_ptr<const config::ModelConfig> config = nullptr;  // null: what the model says
  std::map<std::string, std::vector<std::string>> labels = {};  // of classes, by output
  std::shared_ptr<ModelStatistics> statistics = nullptr;        // null: its own
  std::shared_ptr<TextModel> text = nullptr;                    // null: it has no tokenizer
  // Rows have the same bits in any company: those that do not influence each other run one by one.
  bool deterministic = false;
  std::vector<InstancePlace> places = {};             // of the sessions; empty: one, of the cpu
  std::vector<std::shared_ptr<Session>> others = {};  // those behind the first place
};

// Thread-safe once made.
class ServedModel {
 public:
  // InvalidArgument: a name that no path can have. Unimplemented: an input or output that cannot
  // cross the protocol (a sequence, a map, complex numbers, ...). Others: a configuration that the
  // model contradicts (see CompleteConfig).
  static absl::StatusOr<std::shared_ptr<ServedModel>> Create(std::string name,
                                                             std::shared_ptr<Session> session,
                                                             ServedModelFacts facts = {});

  const std::string& name() const { return name_; }
  // Those of clients: what sequences carry is not among them.
  const std::vector<ValueInfo>& inputs() const { return interface_.inputs; }
  const std::vector<ValueInfo>& outputs() const { return interface_.outputs; }
  const std::string& version() const { return version_; }
  int64_t version_number() const { return facts_.version; }
  // Complete: what the configuration leaves out is the model's.
  const config::ModelConfig& config() const { return *facts_.config; }
  // Stands for the sessions of all devices.
  Session& session() const { return instances_.first(); }
  const Instances& instances() const { return instances_; }
  TextModel* text() const { return facts_.text.get(); }
  ModelStatistics& statistics() const { return *facts_.statistics; }
  const std::shared_ptr<ModelStatistics>& shared_statistics() const { return facts_.statistics; }
  // The names of the classes that the output scores, by index; null: nothing names them.
  const std::vector<std::string>* labels(const std::string& output) const;
  // Rows of the batch that the inputs are: the first dimension, where the model has one that
  // varies for all inputs and outputs alike; else 1.
  int64_t RowsOf(const Session::Inputs& inputs) const;
  // {"name":..., "versions":["1"], "platform":"onnx_onnxv1", "inputs":[...], "outputs":[...]}; dims
  // that vary are -1.
  std::string MetadataJson(const std::vector<std::string>& versions) const;
  // InvalidArgument: it asks for an output that the model does not have, or is of no sequence
  // where the model has them.
  absl::Status CheckRequest(const InferRequest& request) const;
  const QueueConfig& queue() const { return interface_.queue; }
  Sequences* sequences() const { return interface_.sequences.get(); }  // null: it has none
  // All outputs; of a deterministic model, row by row. Errors as Session::Run.
  absl::StatusOr<Session::Outputs> Run(const Session::Inputs& inputs,
                                       const RunOptions& options) const;
  // The outputs that a checked request asks for, in the form that it asks for.
  absl::StatusOr<InferReply> Reply(const InferRequest& request,
                                   const Session::Outputs& values) const;
  // The most rows of requests that run together; 0: each request runs alone.
  int64_t most_batch_rows() const { return most_batch_rows_; }
  // Returns whether a run is faster with all cores than in one thread.
  bool gains_by_threads() const { return gains_by_threads_; }
  // Dims that vary can be so large for the model to run; see LeastExampleSize.
  int64_t example_size() const { return example_size_; }
  // A shell command that asks for a text, or for an inference with zeros. `curl`: the program and
  // how it connects.
  std::string CurlLine(const std::string& curl, const std::string& url) const;

 private:
  struct Interface {
    std::vector<ValueInfo> inputs, outputs;
    QueueConfig queue;
    std::shared_ptr<Sequences> sequences;
  };

  ServedModel(std::string name, std::vector<DeviceSession> sessions, ServedModelFacts facts,
              Interface interface);

  static absl::StatusOr<Interface> InterfaceOf(const Session& session,
                                               const config::ModelConfig& config,
                                               const std::string& directory);

  // nullopt: an output does not have the row that the inputs are.
  absl::StatusOr<std::optional<Session::Outputs>> RunRows(const Session::Inputs& inputs,
                                                          int64_t rows,
                                                          const RunOptions& options) const;
  // The output, or the best classes of it, as was asked for.
  absl::StatusOr<Tensor> Wanted(const Tensor& tensor, const RequestedOutput& output) const;

  const std::string name_, version_;
  const Instances instances_;
  const ServedModelFacts facts_;
  const Interface interface_;
  const bool has_rows_;  // see RowsOf
  const int64_t most_batch_rows_;
  const int64_t example_size_;
  const bool gains_by_threads_;
  const bool rows_apart_;  // a run has one row
};

}  // namespace onward::serving
