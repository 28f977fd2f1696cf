// The contract between kernels and executors.
//
// A kernel's life: `make` looks at the node (attributes, types, constants), decides the algorithm
// and packs weights, or returns Unimplemented with a reason and the next entry of the provider's
// list is tried. It may be asked before whether it takes the node (NodeSpec::only_asks). `Bind`
// runs once per set of input shapes: it computes output shapes, states scratch and keeps what it
// derived. `Run` only computes: no allocation, no attribute lookup, no choice of dtype. Kernels are
// immutable after `make`: Bind and Run may be called from many threads at once.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/batch_slice.h"
#include "onward/graph.h"
#include "onward/precision.h"
#include "onward/status.h"
#include "onward/tensor.h"
#include "onward/thread_pool.h"
#include "onward/value.h"

namespace onward {

class Communicator;  // onward/communicator.h
class RunContext;

struct KernelOptions {
  Precision precision = Precision::kDefault;
  bool deterministic = false;
  uint64_t seed = 0;
  int num_threads = 1;
  Communicator* communicator = nullptr;  // of AllReduce nodes; outlives the kernels
  // The instruction sets that CPU kernels may use, a bit each; the process may allow fewer.
  uint32_t cpu_targets = ~uint32_t{0};
};

// The value in one slot: a tensor by view, or a sequence, optional or map by object (`object`
// not null).
struct SlotValue {
  TensorView tensor;
  const Value* object = nullptr;
  bool present = false;  // false: an omitted input, or a value not known (at Bind)
};

// A compiled subgraph, run by a control-flow kernel.
class Body {
 public:
  virtual ~Body() = default;
  virtual const Graph& graph() const = 0;
  // Runs the body once. `inputs` are the body's inputs then its captures; the results stay valid
  // until the same body runs again in the same run of the model. Fails as its kernels fail.
  virtual absl::StatusOr<absl::Span<const SlotValue>> Run(
      RunContext& context, absl::Span<const SlotValue> inputs) const = 0;
};

// The node as its maker sees it.
class NodeSpec {
 public:
  NodeSpec(const Graph& graph, NodeId id, const KernelOptions& options)
      : graph_(graph), id_(id), options_(options) {}

  const Node& node() const { return graph_.node(id_); }
  const Attributes& attributes() const { return node().attributes; }
  const KernelOptions& options() const { return options_; }
  int node_index() const { return id_.index; }  // the key of the node's random stream
  // The instruction set that was chosen among KernelEntry::targets.
  int target() const { return target_; }
  void set_target(int target) { target_ = target; }
  // True where the caller wants to know whether the maker takes the node, not the kernel: a maker
  // with work left when it knows, such as packing weights, returns null instead. Those that make
  // the kernel nevertheless are right, too.
  bool only_asks() const { return only_asks_; }
  void set_only_asks(bool only_asks) { only_asks_ = only_asks; }
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  int num_outputs() const { return static_cast<int>(node().outputs.size()); }
  bool has_input(int i) const {
    return i < num_inputs() && node().inputs[static_cast<size_t>(i)].valid();
  }
  bool has_output(int i) const {
    return i < num_outputs() && node().outputs[static_cast<size_t>(i)].valid();
  }
  // kUndefined / an unknown type for an omitted one.
  DType input_dtype(int i) const { return input_type(i).dtype; }
  DType output_dtype(int i) const { return output_type(i).dtype; }
  const Type& input_type(int i) const;
  const Type& output_type(int i) const;
  // The data of a constant input, or null.
  const Tensor* constant(int i) const;
  // States that Run will not read constant input i (its packed form is in the kernel), so that its
  // memory can be given back.
  void ReleaseConstant(int i) const { released_ |= uint64_t{1} << i; }
  uint64_t released_constants() const { return released_; }
  // The compiled body of a graph attribute; null when the node has none of that name. Set by the
  // executor.
  std::shared_ptr<const Body> body(std::string_view attribute) const;
  void AddBody(std::string attribute, std::shared_ptr<const Body> body) {
    bodies_.emplace_back(std::move(attribute), std::move(body));
  }

 private:
  const Graph& graph_;
  NodeId id_;
  const KernelOptions& options_;
  std::vector<std::pair<std::string, std::shared_ptr<const Body>>> bodies_;
  mutable uint64_t released_ = 0;
  int target_ = 0;
  bool only_asks_ = false;
};

// Memory for what Bind derives; freed with the binding. It counts against the limit in force.
class StateArena {
 public:
  // Throws OutOfMemory (onward/memory_limit.h).
  void* Allocate(int64_t count, size_t size);
  void Reset() { used_ = 0, block_ = 0; }

 private:
  static constexpr size_t kBlock = 4096;
  std::vector<std::shared_ptr<void>> blocks_;
  std::vector<size_t> sizes_;
  size_t block_ = 0;
  size_t used_ = 0;
};

// The decision of Bind about one output.
struct OutputPlan {
  enum class Kind : uint8_t {
    kUnset,
    kPlanned,  // dims are known: the executor gives memory
    kAtRun,    // the kernel calls RunContext::AllocateOutput or SetOutput
  };
  Kind kind = Kind::kUnset;
  int8_t alias = -1;  // input whose memory the output may share unchanged (Reshape)
  uint32_t in_place =
      0;  // inputs that the output may overwrite when nothing reads them later (bit per input)
  Dims dims;
  bool has_value = false;  // the kernel wrote the output's value already at Bind (Shape)
};

class BindContext {
 public:
  BindContext(absl::Span<const SlotValue> inputs, absl::Span<OutputPlan> outputs, StateArena* arena,
              int num_workers, bool has_data)
      : inputs_(inputs),
        outputs_(outputs),
        arena_(arena),
        num_workers_(num_workers),
        has_data_(has_data) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const {
    return i < num_inputs() && inputs_[static_cast<size_t>(i)].present;
  }
  bool has_output(int i) const { return i < num_outputs(); }
  DType input_dtype(int i) const { return inputs_[static_cast<size_t>(i)].tensor.dtype; }
  DimsView input_dims(int i) const { return inputs_[static_cast<size_t>(i)].tensor.dims; }
  // The input's data if it is known already: a constant, or a small value computed while binding.
  // Null otherwise.
  const TensorView* input_value(int i) const {
    const SlotValue& slot = inputs_[static_cast<size_t>(i)];
    return has_input(i) && (slot.tensor.data != nullptr || (has_data_ && slot.object == nullptr))
               ? &slot.tensor
               : nullptr;
  }
  int num_workers() const { return num_workers_; }

  // Bind must settle every output by one of these.
  void SetOutput(int i, DimsView dims) {
    OutputPlan& plan = outputs_[static_cast<size_t>(i)];
    plan.kind = OutputPlan::Kind::kPlanned;
    plan.dims.assign(dims.begin(), dims.end());
  }
  void SetOutputAtRun(int i) { outputs_[static_cast<size_t>(i)].kind = OutputPlan::Kind::kAtRun; }
  // Says that an input's value is needed and not known yet: the executor binds this node again when
  // it has data. Use as `return context.Defer();`.
  absl::Status Defer() {
    deferred_ = true;
    return absl::OkStatus();
  }
  bool deferred() const { return deferred_; }
  // The output may share the input's memory unchanged. Run copies when it was not done (input data
  // != output data).
  void AliasOutput(int output, int input) {
    outputs_[static_cast<size_t>(output)].alias = static_cast<int8_t>(input);
  }
  // The output may overwrite the input's memory: equal bytes, and Run reads each element before it
  // writes its place.
  void AllowInPlace(int output, int input) {
    outputs_[static_cast<size_t>(output)].in_place |= uint32_t{1} << input;
  }
  // Sets output i (of int64) to a value known from shapes alone and returns where to write it.
  int64_t* SetOutputValue(int i, DimsView dims);
  const void* output_value(int i) const { return values_[i]; }
  // Bytes of memory that Run may write freely, aligned to kTensorAlignment.
  void SetScratch(int64_t bytes) { scratch_ = bytes; }
  int64_t scratch() const { return scratch_; }

  // State that Run finds again with RunContext::state. Value-initialised.
  template <typename T>
  T* NewState() {
    T* state = NewArray<T>(1);
    state_ = state;
    return state;
  }
  template <typename T>
  T* NewArray(int64_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    T* array = static_cast<T*>(arena_->Allocate(count, sizeof(T)));
    for (int64_t i = 0; i < count; ++i) new (array + i) T();
    return array;
  }
  // A copy of `values` that lives as long as the binding.
  template <typename T>
  absl::Span<T> Keep(absl::Span<const T> values) {
    T* array = NewArray<T>(static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) array[i] = values[i];
    return {array, values.size()};
  }
  void* state() const { return state_; }

 private:
  absl::Span<const SlotValue> inputs_;
  absl::Span<OutputPlan> outputs_;
  StateArena* arena_;
  int num_workers_;
  bool has_data_;  // binding at run time: every tensor input has data, empty ones included
  bool deferred_ = false;
  int64_t scratch_ = 0;
  void* state_ = nullptr;
  void* values_[4] = {};
};

// The first index of a run that a kernel on a device found to be out of range. The kernel computes
// on without it; the run fails at its end, and names the node. Memory that host and device see.
struct DeviceFault {
  int32_t step = 0;                           // that found it, from 1 on; 0: none
  int64_t position = 0, index = 0, size = 0;  // as BadIndex has them (kernels/bind/indices.h)
};

// Where the step that runs notes it.
struct DeviceFaultSite {
  DeviceFault* fault = nullptr;
  int32_t step = 0;
};

// Services of the executor for a kernel while it runs; kept out of the hot path.
class RunServices {
 public:
  virtual ~RunServices() = default;
  virtual absl::StatusOr<TensorView> AllocateOutput(int output, DType dtype, DimsView dims) = 0;
  virtual absl::Status SetOutput(int output, Value value) = 0;
  // Memory valid until the kernel's Run returns.
  virtual absl::StatusOr<void*> AllocateTemporary(int64_t bytes) = 0;
  virtual uint64_t run_index() const = 0;  // counts runs of the session: the step of random streams
  virtual BatchSlice batch_slice() const { return {}; }
  virtual Stream* stream() const = 0;  // the provider's stream, null on CPU
  virtual DeviceFaultSite device_fault() const { return {}; }
  // The state that a control-flow body keeps between its runs in this run state; empty at first.
  virtual std::shared_ptr<void>& body_state(const Body* body) = 0;
};

class RunContext {
 public:
  RunContext(const SlotValue* slots, absl::Span<const int32_t> inputs,
             absl::Span<const int32_t> outputs, void* state, void* scratch, ThreadPool* pool,
             RunServices* services)
      : slots_(slots),
        inputs_(inputs),
        outputs_(outputs),
        state_(state),
        scratch_(scratch),
        pool_(pool),
        services_(services) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[static_cast<size_t>(i)] >= 0; }
  bool has_output(int i) const {
    return i < num_outputs() && outputs_[static_cast<size_t>(i)] >= 0;
  }
  const TensorView& input(int i) const { return slots_[inputs_[static_cast<size_t>(i)]].tensor; }
  const TensorView& output(int i) const { return slots_[outputs_[static_cast<size_t>(i)]].tensor; }
  const SlotValue& input_slot(int i) const { return slots_[inputs_[static_cast<size_t>(i)]]; }
  template <typename T>
  const T* in(int i) const {
    return input(i).as<const T>();
  }
  template <typename T>
  T* out(int i) const {
    return output(i).as<T>();
  }
  template <typename T>
  const T& state() const {
    return *static_cast<const T*>(state_);
  }
  void* raw_state() const { return state_; }  // null when Bind made none
  template <typename T>
  T* scratch() const {
    return static_cast<T*>(scratch_);
  }

  // Calls body(begin, end) over [0, count) in chunks of `grain`; see ThreadPool.
  void ParallelFor(int64_t count, int64_t grain,
                   absl::FunctionRef<void(int64_t, int64_t)> body) const {
    if (count <= 0) return;
    if (count <= grain || pool_ == nullptr) return body(0, count);
    pool_->ParallelFor(count, grain, [&](int, int64_t begin, int64_t end) { body(begin, end); });
  }
  void ParallelForWorkers(int64_t count, int64_t grain,
                          absl::FunctionRef<void(int, int64_t, int64_t)> body) const {
    if (count <= 0) return;
    if (count <= grain || pool_ == nullptr) return body(0, 0, count);
    pool_->ParallelFor(count, grain, body);
  }
  ThreadPool* pool() const { return pool_; }

  // For outputs that Bind left to Run.
  absl::StatusOr<TensorView> AllocateOutput(int i, DType dtype, DimsView dims) {
    return services_->AllocateOutput(i, dtype, dims);
  }
  absl::Status SetOutput(int i, Value value) { return services_->SetOutput(i, std::move(value)); }
  absl::StatusOr<void*> AllocateTemporary(int64_t bytes) {
    return services_->AllocateTemporary(bytes);
  }
  RunServices* services() const { return services_; }

 private:
  const SlotValue* slots_;
  absl::Span<const int32_t> inputs_;
  absl::Span<const int32_t> outputs_;
  void* state_;
  void* scratch_;
  ThreadPool* pool_;
  RunServices* services_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual absl::Status Bind(BindContext& context) const = 0;
  virtual absl::Status Run(RunContext& context) const = 0;
  // Inputs that must lie in host memory although the kernel runs on a device (bit per input).
  virtual uint64_t host_inputs() const { return 0; }
  virtual uint64_t host_outputs() const { return 0; }
  // Returns whether Run copies from or to host memory, on a device: such a step is not recorded.
  virtual bool copies_host_memory() const { return false; }
  // Returns whether small results may be computed while binding: false for random, stateful and
  // control-flow kernels.
  virtual bool pure() const { return true; }
};

// kernel.Bind; ResourceExhausted where the state does not fit into memory.
absl::Status BindKernel(const Kernel& kernel, BindContext& context);

using MakeKernel = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec& spec);

// One row of a provider's list: fastest first, the portable reference last.
struct KernelEntry {
  std::string_view domain;
  std::string_view op;
  std::string_view name;  // "softmax_reference", "gemm"
  MakeKernel make;
  // The instruction sets that a CPU kernel's loops are compiled for, a bit each; 0: it has no such
  // loops. The chosen one is shown behind the name: "gemm_avx512".
  uint32_t targets = 0;
};

}  // namespace onward
