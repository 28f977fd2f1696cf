#include "kernels/cuda/cudnn_plan.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/cudnn_operations.h"
#include "kernels/cuda/status.h"

namespace onward::kernels::cuda {
namespace {

// The device that a plan is for: the handle's, or a described one.
struct PlanDevice {
  cudnnHandle_t handle = nullptr;
  BackendDescriptor described;
};

absl::StatusOr<PlanDevice> DeviceOf(const std::string* json) {
  PlanDevice device;
  if (json == nullptr) {
    ONWARD_RETURN_IF_ERROR(GetCudnn(nullptr, &device.handle));
    return device;
  }
  device.described = BackendDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.described.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                       absl::Span<const char>(json->data(), json->size() + 1));
  ONWARD_RETURN_IF_ERROR(device.described.Finalize());
  return device;
}

absl::StatusOr<BackendDescriptor> OperationGraph(const GraphDescriptors& descriptors,
                                                 const PlanDevice& device) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const BackendDescriptor& operation : descriptors.operations)
    operations.push_back(operation.get());
  BackendDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (device.handle != nullptr)
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, device.handle);
  graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            absl::Span<const cudnnBackendDescriptor_t>(operations));
  ONWARD_RETURN_IF_ERROR(graph.Finalize());
  return graph;
}

// The engines that cuDNN would take, the best first.
absl::StatusOr<std::vector<BackendDescriptor>> EnginesFor(const BackendDescriptor& graph,
                                                          cudnnBackendHeurMode_t mode,
                                                          const PlanDevice& device) {
  std::vector<BackendDescriptor> engines;
  BackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (device.described.get() != nullptr)
    heuristics.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device.described);
  ONWARD_RETURN_IF_ERROR(heuristics.Finalize());
  int64_t count = 0;
  ONWARD_RETURN_IF_ERROR(
      LibraryStatus(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr)));
  std::vector<cudnnBackendDescriptor_t> found;
  for (int64_t i = 0; i < count; ++i) {
    engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    found.push_back(engines.back().get());
  }
  int64_t written = 0;
  ONWARD_RETURN_IF_ERROR(LibraryStatus(
      cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &written, found.data())));
  engines.resize(static_cast<size_t>(written));
  return engines;
}

// Returns whether the engine sums in one order, and with the bits that are asked for.
absl::StatusOr<bool> IsWanted(const BackendDescriptor& config, const PlanDemands& demands) {
  BackendDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnBackendGetAttribute(
      config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw)));
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnBackendGetAttribute(
      engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes)));
  for (int64_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
    const bool loses_bits = notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                            notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    if (loses_bits && !demands.tensor_cores) return false;
  }
  return true;
}

struct Planned {
  BackendDescriptor engine, plan;
  int64_t workspace = 0;
};

absl::StatusOr<Planned> PlanOf(BackendDescriptor engine, const PlanDevice& device) {
  Planned result;
  result.engine = std::move(engine);
  result.plan = BackendDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (device.handle != nullptr)
    result.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, device.handle);
  result.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, result.engine);
  ONWARD_RETURN_IF_ERROR(result.plan.Finalize());
  int64_t count = 0;
  ONWARD_RETURN_IF_ERROR(LibraryStatus(
      cudnnBackendGetAttribute(result.plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CUDNN_TYPE_INT64, 1, &count, &result.workspace)));
  return result;
}

absl::StatusOr<Planned> ChoosePlan(const BackendDescriptor& graph, const PlanDemands& demands,
                                   const PlanDevice& device) {
  absl::StatusOr<Planned> best = absl::UnimplementedError("no engine takes the graph");
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    absl::StatusOr<std::vector<BackendDescriptor>> engines = EnginesFor(graph, mode, device);
    if (!engines.ok()) {
      if (!best.ok()) best = absl::UnimplementedError(engines.status().message());
      continue;
    }
    for (BackendDescriptor& engine : *engines) {
      ONWARD_ASSIGN_OR_RETURN(const bool wanted, IsWanted(engine, demands));
      if (!wanted) continue;
      absl::StatusOr<Planned> planned = PlanOf(std::move(engine), device);
      if (!planned.ok()) {
        if (!best.ok()) best = absl::UnimplementedError(planned.status().message());
        continue;
      }
      if (planned->workspace <= demands.most_workspace) return planned;
      if (!best.ok() || planned->workspace < best->workspace) best = std::move(planned);
    }
    if (best.ok()) break;
  }
  return best;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlan::Make(const CudnnGraph& graph,
                                                           const PlanDemands& demands,
                                                           const std::string* device) {
  ONWARD_ASSIGN_OR_RETURN(const PlanDevice plan_device, DeviceOf(device));
  ONWARD_ASSIGN_OR_RETURN(const GraphDescriptors descriptors, DescribeGraph(graph));
  ONWARD_ASSIGN_OR_RETURN(const BackendDescriptor operations,
                          OperationGraph(descriptors, plan_device));
  ONWARD_ASSIGN_OR_RETURN(Planned planned, ChoosePlan(operations, demands, plan_device));
  auto plan = std::make_unique<CudnnPlan>();
  plan->engine_ = std::move(planned.engine);
  plan->plan_ = std::move(planned.plan);
  plan->workspace_ = planned.workspace;
  for (const int tensor : graph.memory()) plan->ids_.push_back(GraphTensorId(tensor));
  for (size_t i = 0; i < graph.tensors().size(); ++i) {
    const GraphTensor& tensor = graph.tensors()[i];
    if (tensor.place != GraphTensor::Place::kValue) continue;
    Value value = {};
    if (tensor.type == CUDNN_DATA_INT32) {
      const auto number = static_cast<int32_t>(tensor.value);
      std::memcpy(value.bytes, &number, sizeof(number));
    } else {
      const auto number = static_cast<float>(tensor.value);
      std::memcpy(value.bytes, &number, sizeof(number));
    }
    plan->ids_.push_back(GraphTensorId(static_cast<int>(i)));
    plan->values_.push_back(value);
  }
  return plan;
}

absl::Status CudnnPlan::Run(absl::Span<const void* const> memory, void* workspace,
                            cudaStream_t stream) const {
  cudnnHandle_t handle;
  ONWARD_RETURN_IF_ERROR(GetCudnn(stream, &handle));
  std::vector<const void*> addresses(memory.begin(), memory.end());
  for (const Value& value : values_) addresses.push_back(value.bytes);
  if (addresses.size() != ids_.size())
    return absl::InternalError("a graph of cuDNN got another number of tensors than it has");
  BackendDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, absl::Span<const int64_t>(ids_));
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           absl::Span<const void* const>(addresses));
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  ONWARD_RETURN_IF_ERROR(pack.Finalize());
  return LibraryStatus(cudnnBackendExecute(handle, plan_.get(), pack.get()));
}

absl::StatusOr<const CudnnPlan*> PlanGraph(const CudnnGraph& graph, const PlanDemands& demands) {
  struct Plans {
    std::mutex mutex;
    absl::flat_hash_map<std::string, std::unique_ptr<CudnnPlan>> made;
  };
  static Plans& plans = *new Plans;  // not freed: CUDA may end before the process does
  int device = 0;
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaGetDevice(&device)));
  const std::string key = absl::StrCat(device, ":", demands.tensor_cores ? 1 : 0, ":",
                                       demands.most_workspace, ":", graph.Text());
  const std::lock_guard<std::mutex> lock(plans.mutex);
  std::unique_ptr<CudnnPlan>& plan = plans.made[key];
  if (plan == nullptr) {
    absl::StatusOr<std::unique_ptr<CudnnPlan>> made = CudnnPlan::Make(graph, demands);
    if (!made.ok()) {
      plans.made.erase(key);
      return made.status();
    }
    plan = *std::move(made);
  }
  return plan.get();
}

}  // namespace onward::kernels::cuda
