#include "tests/support/kernel_runner.h"

#include <cmath>
#include <list>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/targets.h"
#include "kernels/make_kernel.h"
#include "onward/status.h"

namespace onward::testing {
namespace {

class Services : public RunServices {
 public:
  Services(std::vector<SlotValue>& slots, int first_output)
      : slots_(slots), first_output_(first_output) {}

  absl::StatusOr<TensorView> AllocateOutput(int output, DType dtype, DimsView dims) override {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
    ONWARD_RETURN_IF_ERROR(SetOutput(output, Value(std::move(tensor))));
    return slots_[static_cast<size_t>(first_output_ + output)].tensor;
  }
  absl::Status SetOutput(int output, Value value) override {
    values_.push_back(std::move(value));
    SlotValue& slot = slots_[static_cast<size_t>(first_output_ + output)];
    slot.present = true;
    if (values_.back().is_tensor()) {
      slot.tensor = values_.back().tensor().view();
    } else {
      slot.object = &values_.back();
    }
    return absl::OkStatus();
  }
  absl::StatusOr<void*> AllocateTemporary(int64_t bytes) override {
    temporaries_.emplace_back(DType::kUint8, Dims{bytes});
    return temporaries_.back().raw_mutable_data();
  }
  uint64_t run_index() const override { return 0; }
  Stream* stream() const override { return nullptr; }
  std::shared_ptr<void>& body_state(const Body*) override { return body_state_; }

 private:
  std::vector<SlotValue>& slots_;
  int first_output_;
  std::list<Value> values_;
  std::shared_ptr<void> body_state_;
  std::list<Tensor> temporaries_;
};

Type TypeOf(const Tensor& tensor, KnownDims known) {
  if (known == KnownDims::kAll) return Type::Tensor(tensor.dtype(), tensor.dims());
  return Type::Tensor(tensor.dtype(), SymbolicDims(static_cast<size_t>(tensor.rank())));
}

Graph OneNodeGraph(const cases::OpCase& c, uint64_t constants, KnownDims known) {
  Graph graph;
  Node node;
  node.op_type = c.op;
  node.domain = c.domain;
  node.name = c.name;
  node.schema = FindSchema(c.op, c.domain);
  node.attributes = c.attributes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& tensor = c.inputs[i];
    if (tensor.empty()) {
      node.inputs.push_back({});
    } else if (constants >> i & 1) {
      node.inputs.push_back(GraphEdit(graph).AddConstant(absl::StrCat("x", i), tensor));
    } else {
      node.inputs.push_back(GraphEdit(graph).AddInput(absl::StrCat("x", i), TypeOf(tensor, known)));
    }
  }
  for (size_t i = 0; i < c.expected.size(); ++i) {
    const Tensor& tensor = c.expected[i];
    node.outputs.push_back(
        tensor.empty() ? ValueId()
                       : GraphEdit(graph).AddValue(absl::StrCat("y", i), TypeOf(tensor, known)));
  }
  GraphEdit(graph).AddNode(std::move(node));
  return graph;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunKernel(const KernelEntry& entry, const cases::OpCase& c,
                                              int num_threads, uint64_t constants,
                                              const KernelOptions& options, KnownDims known) {
  const Graph graph = OneNodeGraph(c, constants, known);
  NodeSpec spec(graph, NodeId{0}, options);
  const absl::Status takes = kernels::TakesNode(entry, spec);
  absl::StatusOr<kernels::NamedKernel> made = kernels::MakeNamedKernel(entry, spec);
  if (made.ok() ? !takes.ok() : takes.ok() && absl::IsUnimplemented(made.status()))
    return absl::InternalError(absl::StrCat("asked, the maker says ", takes.ToString(),
                                            "; then it says ", made.status().ToString()));
  ONWARD_RETURN_IF_ERROR(made.status());
  const Kernel* kernel = made->kernel.get();
  ThreadPool pool(num_threads);
  const size_t num_inputs = c.inputs.size(), num_outputs = c.expected.size();
  std::vector<SlotValue> slots(num_inputs + num_outputs);
  std::vector<int32_t> inputs, outputs;
  for (size_t i = 0; i < num_inputs; ++i) {
    const bool omitted = c.inputs[i].empty();
    inputs.push_back(omitted ? -1 : static_cast<int32_t>(i));
    if (!omitted) slots[i] = {c.inputs[i].view(), nullptr, true};
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    outputs.push_back(c.expected[i].empty() ? -1 : static_cast<int32_t>(num_inputs + i));
  }
  std::vector<OutputPlan> plans(num_outputs);
  StateArena arena;
  BindContext bind(absl::MakeConstSpan(slots).first(num_inputs), absl::MakeSpan(plans), &arena,
                   pool.num_threads(), true);
  ONWARD_RETURN_IF_ERROR(BindKernel(*kernel, bind));
  if (bind.deferred())
    return absl::InternalError("the kernel deferred although every value is known");
  std::vector<Tensor> results(num_outputs);
  for (size_t i = 0; i < num_outputs; ++i) {
    if (outputs[i] < 0) continue;
    if (plans[i].kind == OutputPlan::Kind::kUnset)
      return absl::InternalError(absl::StrCat("Bind left output ", i, " unset"));
    if (plans[i].kind == OutputPlan::Kind::kAtRun) continue;
    ONWARD_ASSIGN_OR_RETURN(results[i], Tensor::Create(c.expected[i].dtype(), plans[i].dims));
    if (results[i].dtype() != DType::kString)
      std::memset(results[i].raw_mutable_data(), 0xcd, static_cast<size_t>(results[i].byte_size()));
    if (plans[i].has_value)
      std::memcpy(results[i].raw_mutable_data(), bind.output_value(static_cast<int>(i)),
                  static_cast<size_t>(results[i].byte_size()));
    slots[num_inputs + i] = {results[i].view(), nullptr, true};
  }
  Tensor scratch(DType::kUint8, Dims{bind.scratch()});
  Services services(slots, static_cast<int>(num_inputs));
  RunContext run(slots.data(), inputs, outputs, bind.state(), scratch.raw_mutable_data(), &pool,
                 &services);
  ONWARD_RETURN_IF_ERROR(kernel->Run(run));
  for (size_t i = 0; i < num_outputs; ++i) {
    if (outputs[i] < 0 || plans[i].kind != OutputPlan::Kind::kAtRun) continue;
    const SlotValue& slot = slots[num_inputs + i];
    if (slot.object != nullptr || !slot.present)
      return absl::InternalError(absl::StrCat("output ", i, " is not a tensor"));
    results[i] = CopyOf(slot.tensor);
  }
  return results;
}

std::vector<KernelOfTarget> KernelsPerTarget(const cases::OpCase& c) {
  std::vector<KernelOfTarget> all;
  for (const KernelEntry& entry : kernels::CpuKernels()) {
    if (entry.op != c.op || entry.domain != c.domain) continue;
    if (entry.targets == 0) all.push_back({entry, ~uint32_t{0}});
    for (int i = kernels::cpu::kNumTargets - 1; i >= 0; --i) {
      const uint32_t target = uint32_t{1} << i;
      if ((entry.targets & kernels::cpu::AllowedTargets() & target) != 0)
        all.push_back({entry, target});
    }
  }
  return all;
}

std::string Difference(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  if (actual.dtype() != expected.dtype()) {
    return absl::StrCat("dtype ", std::string(DTypeName(actual.dtype())), ", expected ",
                        std::string(DTypeName(expected.dtype())));
  }
  if (actual.dims() != expected.dims()) {
    return absl::StrCat("shape ", DimsString(actual.dims()), ", expected ",
                        DimsString(expected.dims()));
  }
  using Floats = Concat<FloatTypes, Float8Types>;
  std::string difference;
  const bool floating = DispatchDType(Floats(), expected.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < expected.num_elements() && difference.empty(); ++i) {
      const double a = static_cast<double>(actual.data<T>()[i]),
                   e = static_cast<double>(expected.data<T>()[i]);
      const bool same =
          a == e || (std::isnan(a) && std::isnan(e)) ||
          (std::isfinite(a) && std::isfinite(e) && std::fabs(a - e) <= atol + rtol * std::fabs(e));
      if (!same) difference = absl::StrCat("element ", i, " is ", a, ", expected ", e);
    }
  });
  if (floating) return difference;
  DispatchDType(ComplexTypes(), expected.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < expected.num_elements() && difference.empty(); ++i) {
      const T a = actual.data<T>()[i], e = expected.data<T>()[i];
      if (!(std::abs(a - e) <= atol + rtol * std::abs(e)))
        difference = absl::StrCat("element ", i, " differs");
    }
  });
  if (!difference.empty() || expected.dtype() == DType::kComplex64 ||
      expected.dtype() == DType::kComplex128)
    return difference;
  return SameBits(actual, expected) ? "" : "elements differ";
}

}  // namespace onward::testing
