// cuDNN's graph API on the emulated device: objects with attributes, engines that a heuristic
// names, plans, and runs of them. What the library leaves undefined is refused here.
#include <algorithm>

#include "tests/emulated_cuda/cudnn_graph.h"
#include "tests/emulated_cuda/cudnn_handle.h"

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int64_t kWorkspace = int64_t{1} << 20;  // of every plan
// What engines say of themselves: the fastest adds up in any order, the next in tensor cores.
constexpr int kEngines = 3;

GraphObject::Pointer& ObjectOf(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<GraphObject::Pointer*>(descriptor);
}

size_t WidthOfAttribute(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;
  }
}

const std::vector<GraphObject::Pointer>& OperationsOf(const GraphObject& graph) {
  return graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).objects;
}

// What cuDNN has no engines for.
bool IsRefused(const GraphObject& graph) {
  bool convolves = false, in_double = false;
  for (const GraphObject::Pointer& operation : OperationsOf(graph)) {
    convolves = convolves || IsConvolution(*operation);
    for (const auto& [name, attribute] : operation->attributes)
      for (const GraphObject::Pointer& object : attribute.objects)
        if (object->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
          in_double = in_double || TypeOf(*object) == CUDNN_DATA_DOUBLE;
  }
  return in_double && (!convolves || OperationsOf(graph).size() > 1);
}

void SetObject(GraphObject& parent, cudnnBackendAttributeName_t name, GraphObject::Pointer object) {
  parent.attributes[name] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {std::move(object)}};
}

// The engine of a configuration, with its number.
void DescribeEngine(const GraphObject::Pointer& graph, int64_t number, GraphObject& config) {
  auto engine = std::make_shared<GraphObject>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->finalized = true;
  SetObject(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  GraphObject::Attribute index = {CUDNN_TYPE_INT64, 1, std::vector<char>(sizeof(number)), {}};
  std::memcpy(index.bytes.data(), &number, sizeof(number));
  engine->attributes[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] = index;
  SetObject(config, CUDNN_ATTR_ENGINECFG_ENGINE, std::move(engine));
  config.finalized = true;
}

cudnnStatus_t GetEngines(const GraphObject& heuristics, int64_t most, int64_t* count,
                         void* results) {
  const GraphObject::Pointer graph =
      heuristics.attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).objects.front();
  const bool fallback =
      heuristics.Get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) != CUDNN_HEUR_MODE_A;
  *count = fallback || IsRefused(*graph) ? 0 : kEngines;
  if (results == nullptr) return CUDNN_STATUS_SUCCESS;
  ++GetState().counters.heuristics;
  *count = std::min(*count, most);
  const auto* configs = static_cast<const cudnnBackendDescriptor_t*>(results);
  for (int64_t i = 0; i < *count; ++i) DescribeEngine(graph, i, *ObjectOf(configs[i]));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetNotes(const GraphObject& engine, int64_t most, int64_t* count, void* results) {
  const auto number = engine.Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  *count = number < 2 ? 1 : 0;
  if (*count > most || results == nullptr) return CUDNN_STATUS_SUCCESS;
  if (*count == 1) {
    *static_cast<cudnnBackendNumericalNote_t*>(results) =
        number == 0 ? CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC : CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  }
  return CUDNN_STATUS_SUCCESS;
}

// The tensors of a graph that have memory or a value of the caller's.
std::map<int64_t, const GraphObject*> OutsideOf(const GraphObject& graph) {
  std::map<int64_t, const GraphObject*> tensors;
  for (const GraphObject::Pointer& operation : OperationsOf(graph)) {
    for (const auto& [name, attribute] : operation->attributes) {
      for (const GraphObject::Pointer& object : attribute.objects) {
        if (object->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
            !object->Get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL))
          tensors[object->Get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)] = object.get();
      }
    }
  }
  return tensors;
}

bool IsAligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % 16 == 0; }

// The run of a graph whose memory is checked.
struct GraphRun {
  GraphObject::Pointer config;
  std::map<int64_t, const void*> memory;
  std::map<int64_t, double> values;  // copied at the call, as the library does
  void* workspace = nullptr;

  void operator()() const {
    std::memset(workspace, 0xFF, kWorkspace);
    const GraphObject& graph =
        config->Object(CUDNN_ATTR_ENGINECFG_ENGINE).Object(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    std::map<int64_t, const void*> places = memory;
    std::map<int64_t, float> floats;
    std::map<int64_t, int32_t> integers;
    for (const auto& [id, tensor] : OutsideOf(graph)) {
      if (!tensor->Get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) continue;
      const double value = values.at(id);
      places[id] = TypeOf(*tensor) == CUDNN_DATA_INT32
                       ? static_cast<const void*>(&(integers[id] = static_cast<int32_t>(value)))
                       : &(floats[id] = static_cast<float>(value));
    }
    GraphTensors tensors(std::move(places));
    for (const GraphObject::Pointer& operation : OperationsOf(graph))
      RunOperation(*operation, tensors);
  }
};

bool TakeMemory(const GraphObject& graph, const GraphObject& pack, GraphRun& run) {
  const std::vector<int64_t> ids = pack.Ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const std::vector<int64_t> addresses = pack.Ints(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (ids.size() != addresses.size()) return false;
  std::map<int64_t, const void*> given;
  for (size_t i = 0; i < ids.size(); ++i)
    given[ids[i]] = reinterpret_cast<const void*>(addresses[i]);
  for (const auto& [id, tensor] : OutsideOf(graph)) {
    if (given.count(id) == 0) return false;
    const void* place = given[id];
    if (tensor->Get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
      run.values[id] = TypeOf(*tensor) == CUDNN_DATA_INT32
                           ? static_cast<double>(*static_cast<const int32_t*>(place))
                           : static_cast<double>(*static_cast<const float*>(place));
    } else if (!IsAligned(place) || !IsAllocated(place, SpanOf(*tensor))) {
      return false;
    } else {
      run.memory[id] = place;
    }
  }
  run.workspace = pack.Get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  return IsAligned(run.workspace) && IsAllocated(run.workspace, kWorkspace);
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  ENTER("cudnnBackendCreateDescriptor");
  ++GetState().counters.descriptors;
  auto* object = new GraphObject::Pointer(std::make_shared<GraphObject>());
  (*object)->type = type;
  *descriptor = object;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<GraphObject::Pointer*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  GraphObject& object = *ObjectOf(descriptor);
  if (object.finalized || count < 1 || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  GraphObject::Attribute attribute = {type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      attribute.objects.push_back(
          ObjectOf(static_cast<const cudnnBackendDescriptor_t*>(values)[i]));
      if (!attribute.objects.back()->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
  } else {
    const auto* bytes = static_cast<const char*>(values);
    attribute.bytes.assign(bytes, bytes + static_cast<size_t>(count) * WidthOfAttribute(type));
  }
  object.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  ENTER("cudnnBackendFinalize");
  GraphObject& object = *ObjectOf(descriptor);
  if (object.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    for (const GraphObject::Pointer& operation : OperationsOf(object))
      if (!OperationFits(*operation)) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  object.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t* count,
                                       void* results) {
  const GraphObject& object = *ObjectOf(descriptor);
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return GetEngines(object, most, count, results);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return GetNotes(object, most, count, results);
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      ObjectOf(*static_cast<cudnnBackendDescriptor_t*>(results)) =
          object.attributes.at(name).objects.front();
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t*>(results) = kWorkspace;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  ENTER("cudnnBackendExecute");
  GraphRun run;
  run.config = ObjectOf(plan)->attributes.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).objects[0];
  const GraphObject& graph =
      run.config->Object(CUDNN_ATTR_ENGINECFG_ENGINE).Object(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (!ObjectOf(plan)->finalized || !TakeMemory(graph, *ObjectOf(pack), run))
    return CUDNN_STATUS_BAD_PARAM;
  if (run.config->Object(CUDNN_ATTR_ENGINECFG_ENGINE)
          .Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 0)
    Fault("a plan of cuDNN whose sums have any order");
  Counters& counters = GetState().counters;
  ++(IsConvolution(*OperationsOf(graph).front()) ? counters.convolutions : counters.attentions);
  return StatusOf(Enqueue(handle->stream, "cudnnBackendExecute", run));
}

}  // extern "C"
