// A model that is served: its session and what the protocol says of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {

inline constexpr char kOnlyVersion[] = "1";

// Thread-safe once made.
class ServedModel {
 public:
  // InvalidArgument: a name that no path can have. Unimplemented: an input or output that cannot
  // cross the protocol (a sequence, a map, complex numbers, ...).
  static absl::StatusOr<std::shared_ptr<ServedModel>> Create(std::string name,
                                                             std::unique_ptr<Session> session);

  const std::string& name() const { return name_; }
  const std::vector<ValueInfo>& inputs() const { return session_->inputs(); }
  // {"name":..., "versions":["1"], "platform":"onnx_onnxv1", "inputs":[...], "outputs":[...]}; dims
  // that vary are -1.
  std::string MetadataJson() const;
  // InvalidArgument: it asks for an output that the model does not have.
  absl::Status CheckOutputs(const InferRequest& request) const;
  // All outputs. Errors as Session::Run.
  absl::StatusOr<Session::Outputs> Run(const Session::Inputs& inputs,
                                       const RunOptions& options) const;
  // The outputs that a checked request asks for, in the form that it asks for.
  absl::StatusOr<InferReply> Reply(const InferRequest& request,
                                   const Session::Outputs& outputs) const;
  // The most rows of requests that run together; 0: each request runs alone.
  int64_t most_batch_rows() const { return most_batch_rows_; }
  // Whether a run is faster with all cores than in one thread.
  bool gains_by_threads() const { return gains_by_threads_; }
  // A shell command that asks for an inference with zeros, 1 for dims that vary. `curl`: the
  // program and how it connects.
  std::string CurlLine(const std::string& curl, const std::string& url) const;

 private:
  ServedModel(std::string name, std::unique_ptr<Session> session)
      : name_(std::move(name)), session_(std::move(session)) {}

  // The output, or the best classes of it, as was asked for.
  absl::StatusOr<Tensor> Wanted(const Tensor& tensor, const RequestedOutput& output) const;

  const std::string name_;
  const std::unique_ptr<Session> session_;
  std::map<std::string, std::vector<std::string>> labels_;  // of classes, by output
  int64_t most_batch_rows_ = 0;
  bool gains_by_threads_ = true;
};

}  // namespace onward::serving
