#include "onward/session.h"

#include <algorithm>
#include <utility>

#include "executors/check_inputs.h"
#include "executors/compiled_session.h"
#include "executors/create_session.h"
#include "executors/narrow_model.h"
#include "graph/base/machine_memory.h"
#include "graph/infer/independent_rows.h"
#include "kernels/cpu/targets.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward {
namespace {

// The position of the input that each output updates, or -1.
std::vector<int32_t> UpdatedInputs(const Model& model) {
  const auto position = [](const std::vector<ValueId>& ids, ValueId id) {
    return std::find(ids.begin(), ids.end(), id) - ids.begin();
  };
  const Graph& graph = model.graph;
  std::vector<int32_t> updated(graph.outputs().size(), -1);
  for (const UpdateBinding& update : model.updates) {
    const auto input = static_cast<size_t>(position(graph.inputs(), update.input));
    const auto output = static_cast<size_t>(position(graph.outputs(), update.output));
    if (input < graph.inputs().size() && output < updated.size())
      updated[output] = static_cast<int32_t>(input);
  }
  return updated;
}

}  // namespace

}  // namespace onward

namespace onward::executors {

std::shared_ptr<ThreadPool> PoolOf(const SessionOptions& options) {
  if (options.pool != nullptr) return options.pool;
  return std::make_shared<ThreadPool>(options.num_threads > 0 ? options.num_threads
                                                              : PhysicalCores());
}

std::shared_ptr<MemoryLimit> MemoryOf(const SessionOptions& options) {
  if (options.memory != nullptr) return options.memory;
  return std::make_shared<MemoryLimit>(options.max_memory > 0 ? options.max_memory
                                                              : MachineMemory());
}

absl::StatusOr<std::unique_ptr<Session>> CreateSession(Model model, const SessionOptions& given,
                                                       const CompileHooks& hooks) {
  SessionOptions options = given;
  if (options.precision == Precision::kDefault && options.provider == "cpu" &&
      MultipliesBf16Alone(model.graph))
    options.precision = Precision::kFast;
  KernelOptions kernel_options;
  kernel_options.precision = options.precision;
  kernel_options.deterministic = options.deterministic;
  kernel_options.seed = options.seed;
  if (options.reference_kernels)
    kernel_options.cpu_targets = kernels::cpu::MaskOf(kernels::cpu::Target::kBaseline);
  kernel_options.communicator = options.communicator.get();
  const std::shared_ptr<ThreadPool> pool = PoolOf(options);
  kernel_options.num_threads = pool->num_threads();
  std::shared_ptr<MemoryLimit> memory = MemoryOf(options);
  const MemoryScope scope(memory);
  try {
    std::vector<int32_t> updated_input = UpdatedInputs(model);
    absl::Status rows =
        options.check_rows
            ? CheckRowsAreIndependent(model.graph)
            : absl::FailedPreconditionError("SessionOptions::check_rows was not set");
    std::optional<Graph> source;
    if (hooks.import_again == nullptr) source = SourceWithoutNames(model.graph, options);
    ONWARD_ASSIGN_OR_RETURN(Compiled compiled,
                            CompileModel(std::move(model.graph), options, kernel_options, hooks));
    compiled.rows = std::move(rows);
    return std::make_unique<CompiledSession>(std::move(compiled), options, kernel_options, hooks,
                                             pool, std::move(memory), std::move(updated_input),
                                             std::move(model.metadata), std::move(source));
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

}  // namespace onward::executors

namespace onward {

absl::StatusOr<Session::Outputs> Session::Run(const Inputs& inputs, const RunOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> ordered,
                          executors::OrderInputs(this->inputs(), inputs));
  std::vector<Value> results(outputs().size());
  ONWARD_RETURN_IF_ERROR(Run(ordered, absl::MakeSpan(results), options));
  Outputs named;
  for (size_t i = 0; i < results.size(); ++i) named[outputs()[i].name] = std::move(results[i]);
  return named;
}

absl::StatusOr<int64_t> Session::PlannedBytes(const Inputs& inputs) {
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory planned, PlanMemory(inputs));
  return planned.arena;
}

}  // namespace onward
