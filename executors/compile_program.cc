#include "executors/compile_program.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executors/body.h"
#include "executors/plan/choose_kernel.h"
#include "executors/plan/place.h"
#include "executors/provider.h"
#include "graph/infer/check.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

struct ConstantOnDevice {
  std::shared_ptr<void> memory;
  int64_t bytes = 0;
  Tensor host;  // keeps the address from becoming another's
};

// The constants of the model and all bodies, by the address of the host's data: bodies share
// constants with each other and with the model.
using ConstantsOnDevice = std::map<const void*, ConstantOnDevice>;

class Compiler {
 public:
  Compiler(const SessionOptions& options, const KernelOptions& kernel_options,
           ConstantsOnDevice& constants)
      : options_(options), kernel_options_(kernel_options), constants_(constants) {}

  absl::StatusOr<std::shared_ptr<const Program>> Compile(Graph graph) {
    auto program = std::make_shared<Program>();
    program->providers = {&CpuProvider()};
    if (options_.provider != "cpu") {
      ONWARD_ASSIGN_OR_RETURN(const ExecutionProvider* provider,
                              FindProvider(options_.provider, options_.plan_only));
      program->providers.push_back(provider);
      Communicator* const ranks = kernel_options_.communicator;
      if (ranks != nullptr && ranks->device() == provider->device()) program->communicator = ranks;
    }
    program->is_runnable = !options_.plan_only;
    GraphEdit(graph).Compact();
    program->graph = std::move(graph);
    ONWARD_RETURN_IF_ERROR(MakeSteps(*program));
    MakeSlots(*program);
    if (!options_.plan_only) ONWARD_RETURN_IF_ERROR(MoveConstants(*program));
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  absl::Status MakeSteps(Program& program) {
    ONWARD_ASSIGN_OR_RETURN(std::vector<NodeId> order, program.graph.TopologicalOrder());
    // Between other steps, what is sent to the device would end a stretch of recorded work.
    std::stable_partition(order.begin(), order.end(),
                          [&](NodeId id) { return CopiesInput(program.graph, id); });
    CountReads(program);
    std::vector<std::string> problems;
    for (NodeId id : order) {
      const absl::Status status = MakeStep(program, id);
      if (absl::IsUnimplemented(status)) {
        problems.push_back(std::string(status.message()));
      } else if (!status.ok()) {
        return Annotate(status, program.graph.Describe(id));
      }
    }
    if (problems.empty()) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(problems.size(), " node(s) cannot run on ",
                                                 options_.provider, ":\n  ",
                                                 absl::StrJoin(problems, "\n  ")));
  }

  absl::Status MakeStep(Program& program, NodeId id) {
    Node& node = GraphEdit(program.graph).node(id);
    Step step;
    step.node = id;
    for (size_t device = 1; device < program.providers.size(); ++device) {
      if (program.providers[device]->name() == node.provider)
        step.device = static_cast<uint8_t>(device);
    }
    if (node.schema != nullptr) {
      ONWARD_RETURN_IF_ERROR(CheckInputsAreKnown(program.graph, id));
    }
    NodeSpec spec(program.graph, id, kernel_options_);
    std::vector<NodeExplanation> of_bodies;
    for (Subgraph& subgraph : node.subgraphs) {
      Compiler inner(options_, kernel_options_, constants_);
      ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Program> body,
                              inner.Compile(std::move(*subgraph.graph)));
      *subgraph.graph = body->graph;
      for (NodeExplanation each : body->explanations) {
        each.node =
            absl::StrCat(program.graph.Describe(id), " ", subgraph.attribute, ": ", each.node);
        of_bodies.push_back(std::move(each));
      }
      spec.AddBody(subgraph.attribute, MakeBody(std::move(body)));
    }
    ONWARD_ASSIGN_OR_RETURN(KernelChoice choice, ChooseKernel(*program.providers[step.device], spec,
                                                              options_.reference_kernels));
    if (choice.kernel == nullptr) {
      return absl::UnimplementedError(absl::StrCat(program.graph.Describe(id), " ",
                                                   choice.refusals.empty()
                                                       ? "no kernel for this op"
                                                       : absl::StrJoin(choice.refusals, "; ")));
    }
    step.kernel = std::move(choice.kernel);
    step.kernel_name = std::move(choice.name);
    if (options_.plan_only && step.device == 0) AddDeviceRefusals(program, spec, choice.refusals);
    program.explanations.push_back({program.graph.Describe(id),
                                    std::string(program.providers[step.device]->name()),
                                    step.kernel_name, std::move(choice.refusals), node.origin});
    std::move(of_bodies.begin(), of_bodies.end(), std::back_inserter(program.explanations));
    AddOperands(program, node, step);
    program.steps.push_back(std::move(step));
    for (size_t i = 0; i < node.inputs.size() && i < 64; ++i) {
      if (spec.released_constants() >> i & 1) ReleaseConstant(program.graph, node.inputs[i]);
    }
    return absl::OkStatus();
  }

  static bool CopiesInput(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    return node.Is("Copy", kOnwardDomain) && !graph.value(node.inputs[0]).producer.valid();
  }

  // Why a node that the host runs is not the device's.
  static void AddDeviceRefusals(const Program& program, NodeSpec& spec,
                                std::vector<std::string>& refusals) {
    for (size_t i = 1; i < program.providers.size(); ++i) {
      const std::string device(program.providers[i]->name());
      const absl::StatusOr<KernelChoice> choice = ChooseKernel(*program.providers[i], spec, false);
      if (!spec.node().subgraphs.empty()) {
        refusals.push_back(absl::StrCat(device, ": its bodies have no node for the device"));
      } else if (!choice.ok() || choice->kernel != nullptr) {
        refusals.push_back(absl::StrCat(device, ": the host computes dims"));
      } else if (choice->refusals.empty()) {
        refusals.push_back(absl::StrCat(device, ": no kernel for this op"));
      } else {
        refusals.insert(refusals.end(), choice->refusals.begin(), choice->refusals.end());
      }
    }
  }

  // Counts the reads of constants, by value index.
  void CountReads(const Program& program) {
    const Graph& graph = program.graph;
    unpacked_reads_.assign(static_cast<size_t>(graph.num_values()), 0);
    const auto count = [&](ValueId id) {
      if (id.valid()) ++unpacked_reads_[static_cast<size_t>(id.index)];
    };
    for (NodeId id : graph.node_ids()) {
      for (ValueId input : graph.node(id).inputs) count(input);
      for (const Subgraph& subgraph : graph.node(id).subgraphs) {
        for (ValueId capture : subgraph.captures) count(capture);
      }
    }
    for (ValueId output : graph.outputs()) count(output);
  }

  // One reader holds a packed form. After the last one the data goes, so that a model is never in
  // memory twice; dtype and dims stay known.
  void ReleaseConstant(Graph& graph, ValueId id) {
    if (--unpacked_reads_[static_cast<size_t>(id.index)] > 0 || graph.is_input(id)) return;
    std::optional<Tensor>& constant = GraphEdit(graph).constant(id);
    const Dims dims(constant->dims().begin(), constant->dims().end());
    constant = Tensor::Wrap(constant->dtype(), dims, nullptr, nullptr);
  }

  static void AddOperands(Program& program, const Node& node, Step& step) {
    step.operands = static_cast<int32_t>(program.operands.size());
    for (ValueId id : node.inputs) program.operands.push_back(id.index);
    for (const Subgraph& subgraph : node.subgraphs) {
      for (ValueId id : subgraph.captures) program.operands.push_back(id.index);
    }
    step.num_inputs = static_cast<int32_t>(program.operands.size()) - step.operands;
    for (ValueId id : node.outputs) program.operands.push_back(id.index);
    step.num_outputs = static_cast<int32_t>(node.outputs.size());
  }

  void MakeSlots(Program& program) {
    const Graph& graph = program.graph;
    program.slots.resize(static_cast<size_t>(graph.num_values()));
    for (size_t i = 0; i < program.slots.size(); ++i) {
      const ValueId id{static_cast<int32_t>(i)};
      Slot& slot = program.slots[i];
      const Type& type = graph.type(id);
      slot.dtype = type.dtype;
      slot.arena = type.is_tensor() && type.dtype != DType::kString;
      slot.is_constant = graph.is_constant(id) && !graph.is_input(id);
      if (graph.is_constant(id)) slot.constant = *graph.constant(id);
    }
    const auto num_steps = static_cast<int32_t>(program.steps.size());
    for (int32_t s = 0; s < num_steps; ++s) {
      const Step& step = program.steps[static_cast<size_t>(s)];
      for (int32_t slot : program.step_inputs(step)) {
        if (slot < 0) continue;
        program.slots[static_cast<size_t>(slot)].last = s;
      }
      for (const int32_t& slot : program.step_outputs(step)) {
        if (slot < 0) continue;
        program.slots[static_cast<size_t>(slot)].first = s;
        program.slots[static_cast<size_t>(slot)].last = s;
        const size_t output = static_cast<size_t>(&slot - program.step_outputs(step).data());
        const bool on_host = output < 64 && (step.kernel->host_outputs() >> output & 1);
        program.slots[static_cast<size_t>(slot)].device = on_host ? 0 : step.device;
      }
    }
    for (const auto& ids : {graph.inputs(), graph.captures()}) {
      for (const ValueId id : ids) {
        program.inputs.push_back(id.index);
        if (graph.value(id).metadata.contains(kDeviceKey))
          program.slots[static_cast<size_t>(id.index)].device = 1;
      }
    }
    for (ValueId id : graph.outputs()) {
      program.outputs.push_back(id.index);
      Slot& slot = program.slots[static_cast<size_t>(id.index)];
      slot.is_output = true;
      slot.last = num_steps;
    }
  }

  // Gives steps of a device their constants in its memory, each copied once.
  absl::Status MoveConstants(Program& program) {
    std::map<std::pair<int32_t, uint8_t>, int32_t> moved;
    for (const Step& step : program.steps) {
      for (int32_t i = 0; i < step.num_inputs && step.device > 0; ++i) {
        int32_t& operand = program.operands[static_cast<size_t>(step.operands + i)];
        if (operand < 0 || (i < 64 && (step.kernel->host_inputs() >> i & 1))) continue;
        const Slot& source = program.slots[static_cast<size_t>(operand)];
        if (!source.is_constant || source.constant.raw_data() == nullptr) continue;
        auto [it, inserted] =
            moved.try_emplace({operand, step.device}, static_cast<int32_t>(program.slots.size()));
        if (inserted) {
          ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> memory,
                                  OnDevice(source.constant, *program.providers[step.device]));
          Slot slot = source;
          slot.device = step.device;
          void* data = memory.get();
          slot.constant = Tensor::Wrap(source.dtype, source.constant.dims(), data,
                                       std::move(memory), program.providers[step.device]->device());
          program.slots.push_back(std::move(slot));
        }
        operand = it->second;
      }
    }
    // Copies from pageable memory may still be under way, and streams of runs do not wait for them.
    for (const ExecutionProvider* provider : program.providers)
      ONWARD_RETURN_IF_ERROR(provider->Synchronize(nullptr));
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<void>> OnDevice(const Tensor& constant,
                                                 const ExecutionProvider& provider) {
    const int64_t bytes = constant.byte_size();
    ConstantOnDevice& known = constants_[constant.raw_data()];
    if (known.memory != nullptr && known.bytes == bytes) return known.memory;
    ONWARD_ASSIGN_OR_RETURN(known.memory, AllocateOn(provider, bytes));
    known.bytes = bytes;
    known.host = constant;
    ONWARD_RETURN_IF_ERROR(provider.Copy(known.memory.get(), constant.raw_data(), bytes,
                                         CopyKind::kToDevice, nullptr));
    return known.memory;
  }

  const SessionOptions& options_;
  const KernelOptions& kernel_options_;
  ConstantsOnDevice& constants_;
  std::vector<int> unpacked_reads_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> CompileProgram(Graph graph,
                                                              const SessionOptions& options,
                                                              const KernelOptions& kernel_options) {
  ConstantsOnDevice constants;
  return Compiler(options, kernel_options, constants).Compile(std::move(graph));
}

}  // namespace onward::executors
