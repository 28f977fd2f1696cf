#include "executors/evaluate.h"

#include <list>

#include "executors/plan/choose_kernel.h"
#include "executors/provider.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

class TensorServices : public RunServices {
 public:
  explicit TensorServices(std::vector<SlotValue>& slots, size_t first_output)
      : slots_(slots), first_output_(first_output), results_(slots.size() - first_output) {}

  absl::StatusOr<TensorView> AllocateOutput(int output, DType dtype, DimsView dims) override {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
    const auto index = static_cast<size_t>(output);
    results_[index] = std::move(tensor);
    slots_[first_output_ + index] = {results_[index].view(), nullptr, true};
    return slots_[first_output_ + index].tensor;
  }
  absl::Status SetOutput(int output, Value value) override {
    if (!value.is_tensor()) return absl::UnimplementedError("the result is not a tensor");
    const auto index = static_cast<size_t>(output);
    results_[index] = value.tensor();
    slots_[first_output_ + index] = {results_[index].view(), nullptr, true};
    return absl::OkStatus();
  }
  absl::StatusOr<void*> AllocateTemporary(int64_t bytes) override {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kUint8, {bytes}));
    temporaries_.push_back(std::move(tensor));
    return temporaries_.back().raw_mutable_data();
  }
  uint64_t run_index() const override { return 0; }
  Stream* stream() const override { return nullptr; }
  std::shared_ptr<void>& body_state(const Body*) override { return state_; }
  std::vector<Tensor>& results() { return results_; }

 private:
  std::vector<SlotValue>& slots_;
  size_t first_output_;
  std::vector<Tensor> results_;
  std::list<Tensor> temporaries_;
  std::shared_ptr<void> state_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> EvaluateOnCpu(const Graph& graph, NodeId id,
                                                  const KernelOptions& options) {
  const Node& node = graph.node(id);
  if (!node.subgraphs.empty()) return absl::UnimplementedError("control flow is not evaluated");
  NodeSpec spec(graph, id, options);
  ONWARD_ASSIGN_OR_RETURN(const KernelChoice choice, ChooseKernel(CpuProvider(), spec, false));
  if (choice.kernel == nullptr) return absl::UnimplementedError("no CPU kernel takes the node");
  if (!choice.kernel->pure())
    return absl::UnimplementedError("the node's result is not a function of its inputs");
  const size_t num_inputs = node.inputs.size();
  std::vector<SlotValue> slots(num_inputs + node.outputs.size());
  std::vector<int32_t> operands, results;
  for (size_t i = 0; i < num_inputs; ++i) {
    const Tensor* constant = node.inputs[i].valid() ? graph.constant(node.inputs[i]) : nullptr;
    operands.push_back(node.inputs[i].valid() ? static_cast<int32_t>(i) : -1);
    if (constant != nullptr) slots[i] = {constant->view(), nullptr, true};
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    results.push_back(node.outputs[i].valid() ? static_cast<int32_t>(num_inputs + i) : -1);
  }
  std::vector<OutputPlan> plans(node.outputs.size());
  StateArena arena;
  BindContext bind(absl::MakeConstSpan(slots).first(num_inputs), absl::MakeSpan(plans), &arena, 1,
                   true);
  ONWARD_RETURN_IF_ERROR(BindKernel(*choice.kernel, bind));
  TensorServices services(slots, num_inputs);
  for (size_t i = 0; i < plans.size(); ++i) {
    if (results[i] < 0 || plans[i].kind != OutputPlan::Kind::kPlanned) continue;
    ONWARD_ASSIGN_OR_RETURN(
        const TensorView view,
        services.AllocateOutput(static_cast<int>(i), graph.type(node.outputs[i]).dtype,
                                plans[i].dims));
    if (plans[i].has_value)
      std::memcpy(view.data, bind.output_value(static_cast<int>(i)),
                  static_cast<size_t>(view.byte_size()));
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor scratch, Tensor::Create(DType::kUint8, {bind.scratch()}));
  RunContext run(slots.data(), operands, results, bind.state(), scratch.raw_mutable_data(), nullptr,
                 &services);
  ONWARD_RETURN_IF_ERROR(choice.kernel->Run(run));
  return std::move(services.results());
}

}  // namespace onward::executors
