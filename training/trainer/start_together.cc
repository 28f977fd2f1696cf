#include "training/trainer/start_together.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"

namespace onward::training {
namespace {

// Leaves out the fields that may differ: how a rank computes, and where it writes.
std::string TextOf(TrainConfig config) {
  config.clear_threads();
  config.clear_max_memory();
  config.clear_output_dir();
  config.clear_provider();
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

// The tensors that a graph's run adds up, in their order.
std::string AllReducesOf(const Graph& graph) {
  std::string text;
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return text;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    if (node.Is("AllReduce", kOnwardDomain))
      absl::StrAppend(&text, node.name, " ", graph.type(node.outputs[0]).ToString(), "\n");
  }
  return text;
}

}  // namespace

absl::Status StartTogether(Communicator& communicator, const TrainConfig& config, size_t phases,
                           const std::vector<std::pair<std::string, std::string>>& more,
                           TrainingSession& session) {
  std::string state;
  for (const std::string& name : session.state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor value, session.State(name));
    absl::StrAppend(&state, name, " ", std::string(DTypeName(value.dtype())),
                    DimsString(value.dims()), "\n");
  }
  std::string sums;
  for (size_t phase = 0; phase < phases; ++phase)
    absl::StrAppend(&sums, AllReducesOf(session.session(phase).graph()), "\n");
  ONWARD_RETURN_IF_ERROR(Agree(communicator, "the configuration", TextOf(config)));
  for (const auto& [what, value] : more) ONWARD_RETURN_IF_ERROR(Agree(communicator, what, value));
  ONWARD_RETURN_IF_ERROR(Agree(communicator, "the model", state));
  ONWARD_RETURN_IF_ERROR(Agree(communicator, "the list of gradients", sums));
  for (const std::string& name : session.state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor value, session.State(name));
    Tensor own = value.Clone();
    ONWARD_RETURN_IF_ERROR(communicator.Broadcast(own.view(), 0));
    ONWARD_RETURN_IF_ERROR(session.Set(name, std::move(own)));
  }
  return absl::OkStatus();
}

}  // namespace onward::training
