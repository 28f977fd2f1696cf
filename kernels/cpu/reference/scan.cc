// Scan.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/control_flow.h"
#include "kernels/cpu/reference/loop_values.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Slots = absl::InlinedVector<SlotValue, 16>;

// One element per iteration of an input that is scanned along an axis.
class ScannedInput {
 public:
  ScannedInput(const Body& body, const BodyMemory& memory) : body_(&body), memory_(&memory) {}

  absl::Status Start(RunContext& context, const TensorView& whole, const StackAxis& axis) {
    whole_ = whole;
    reversed_ = axis.reversed;
    if (IsSubByte(whole.dtype))
      return absl::UnimplementedError(
          absl::StrCat("scanning ", std::string(DTypeName(whole.dtype))));
    ONWARD_ASSIGN_OR_RETURN(const int64_t at, NormalizeAxis(axis.axis, whole.rank()));
    length_ = whole.dim(at);
    outer_ = NumElements(whole.dims, 0, at);
    inner_ = NumElements(whole.dims, at + 1, whole.rank());
    dims_.assign(whole.dims.begin(), whole.dims.end());
    dims_.erase(dims_.begin() + at);
    element_ = {whole.dtype, whole.device, nullptr, dims_};
    if (IsView() || whole.num_elements() == 0) return absl::OkStatus();
    if (whole.dtype == DType::kString) {
      strings_ = Tensor(whole.dtype, dims_);
      element_.data = strings_.raw_mutable_data();
    } else {
      ONWARD_ASSIGN_OR_RETURN(element_.data,
                              memory_->Allocate(context, *body_, element_.byte_size()));
    }
    return absl::OkStatus();
  }
  int64_t length() const { return length_; }
  // Valid until the next call.
  absl::StatusOr<SlotValue> At(const RunContext& context, int64_t iteration) {
    const int64_t i = reversed_ ? length_ - 1 - iteration : iteration;
    const int64_t bytes = inner_ * ElementStride(whole_.dtype);
    char* const from = whole_.as<char>() + i * bytes;
    if (IsView()) {
      element_.data = from;
    } else if (whole_.dtype == DType::kString) {
      for (int64_t o = 0; o < outer_; ++o) {
        CopyRun(whole_.as<const std::string>() + (o * length_ + i) * inner_, inner_,
                element_.as<std::string>() + o * inner_);
      }
    } else if (element_.num_elements() > 0) {
      ONWARD_RETURN_IF_ERROR(
          memory_->Copy(context, {element_.data, from, outer_, bytes, bytes, length_ * bytes}));
    }
    return SlotValue{element_, nullptr, true};
  }

 private:
  bool IsView() const { return outer_ == 1 && memory_->takes_any_address(); }

  const Body* body_;
  const BodyMemory* memory_;
  TensorView whole_, element_;
  Dims dims_;
  Tensor strings_;
  bool reversed_ = false;
  int64_t length_ = 0, outer_ = 0, inner_ = 0;
};

class Scan : public Kernel {
 public:
  Scan(std::shared_ptr<const Body> body, int num_states, std::vector<StackAxis> inputs,
       std::vector<StackAxis> outputs, const BodyMemories& memories)
      : body_(std::move(body)),
        num_states_(num_states),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        memories_(memories) {}
  absl::Status Bind(BindContext& context) const override {
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutputAtRun(i);
    return absl::OkStatus();
  }
  bool pure() const override { return false; }

  absl::Status Run(RunContext& context) const override {
    std::vector<ScannedInput> scanned;
    scanned.reserve(inputs_.size());  // they are not moved: elements have views of their dims
    ONWARD_ASSIGN_OR_RETURN(const int64_t length, StartInputs(context, scanned));
    std::vector<CarriedValue> states;
    std::vector<StackedOutput> stacked;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const int output = num_states_ + static_cast<int>(i);
      stacked.emplace_back(*body_, MemoryOf(output), output, length, outputs_[i]);
    }
    Slots inputs;
    const int captures = static_cast<int>(body_->graph().captures().size());
    const int own = num_states_ + static_cast<int>(inputs_.size());
    for (int i = 0; i < own + captures; ++i)
      inputs.push_back(context.has_input(i) ? context.input_slot(i) : SlotValue());
    for (int i = 0; i < num_states_; ++i) {
      const SlotValue& initial = inputs[static_cast<size_t>(i)];
      states.emplace_back(*body_, MemoryOf(i));
      states.back().Start(initial);
      if (length == 0) ONWARD_RETURN_IF_ERROR(EmitOutput(context, MemoryOf(i), i, initial));
    }
    for (int64_t iteration = 0; iteration < length; ++iteration) {
      for (size_t i = 0; i < scanned.size(); ++i) {
        ONWARD_ASSIGN_OR_RETURN(inputs[states.size() + i], scanned[i].At(context, iteration));
      }
      ONWARD_ASSIGN_OR_RETURN(const auto results, body_->Run(context, inputs));
      for (size_t i = 0; i < stacked.size(); ++i)
        ONWARD_RETURN_IF_ERROR(stacked[i].Append(context, results[states.size() + i]));
      for (size_t i = 0; i < states.size(); ++i) {
        if (iteration + 1 == length) {
          const int output = static_cast<int>(i);
          ONWARD_RETURN_IF_ERROR(EmitOutput(context, MemoryOf(output), output, results[i]));
        } else {
          ONWARD_RETURN_IF_ERROR(states[i].Advance(context, results[i]));
          inputs[i] = states[i].current();
        }
      }
    }
    for (size_t i = 0; i < stacked.size(); ++i) {
      const Type& type = body_->graph().type(body_->graph().outputs()[states.size() + i]);
      ONWARD_RETURN_IF_ERROR(stacked[i].Finish(context, type));
    }
    return absl::OkStatus();
  }

 private:
  const BodyMemory& MemoryOf(int output) const { return memories_.of_result(*body_, output); }
  absl::StatusOr<int64_t> StartInputs(RunContext& context,
                                      std::vector<ScannedInput>& scanned) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const int input = num_states_ + static_cast<int>(i);
      scanned.emplace_back(*body_, memories_.of_input(*body_, input));
      ONWARD_RETURN_IF_ERROR(scanned[i].Start(context, context.input(input), inputs_[i]));
      if (scanned[i].length() != scanned[0].length()) {
        return absl::InvalidArgumentError(
            absl::StrCat("scan input ", i, " has ", scanned[i].length(),
                         " elements, the first has ", scanned[0].length()));
      }
    }
    return scanned[0].length();
  }
  std::shared_ptr<const Body> body_;
  int num_states_;
  std::vector<StackAxis> inputs_, outputs_;
  const BodyMemories& memories_;
};

absl::StatusOr<std::vector<StackAxis>> ReadAxes(const NodeSpec& spec, const char* axes_name,
                                                const char* directions_name, size_t count) {
  const std::vector<int64_t> axes = spec.attributes().Ints(axes_name);
  const std::vector<int64_t> directions = spec.attributes().Ints(directions_name);
  for (const auto& [list, name] : {std::pair(&axes, axes_name), {&directions, directions_name}}) {
    if (!list->empty() && list->size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has ", list->size(), " elements, not ", count));
    }
  }
  std::vector<StackAxis> result(count);
  for (size_t i = 0; i < count; ++i) {
    if (!axes.empty()) result[i].axis = axes[i];
    if (directions.empty()) continue;
    if (directions[i] != 0 && directions[i] != 1)
      return absl::InvalidArgumentError(absl::StrCat(directions_name, ": ", directions[i]));
    result[i].reversed = directions[i] == 1;
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScanOnHost(const NodeSpec& spec) {
  return MakeScan(spec, HostMemories());
}

constexpr KernelEntry kKernels[] = {
    {"", "Scan", "scan_reference", MakeScanOnHost},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeScan(const NodeSpec& spec,
                                                 const BodyMemories& memories) {
  auto body = spec.body("body");
  if (body == nullptr) return absl::UnimplementedError("a body that is not compiled");
  const int64_t scanned = spec.attributes().Int("num_scan_inputs", 0);
  const int64_t states = spec.num_inputs() - scanned;
  const auto outputs = static_cast<int64_t>(body->graph().outputs().size());
  const bool fits = scanned >= 1 && states >= 0 && outputs >= states &&
                    spec.num_outputs() <= outputs &&
                    static_cast<int64_t>(body->graph().inputs().size()) == spec.num_inputs();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_scan_inputs is ", scanned, " of ", spec.num_inputs(), " inputs; the body has ",
        body->graph().inputs().size(), " inputs and ", outputs, " outputs"));
  }
  ONWARD_ASSIGN_OR_RETURN(auto in, ReadAxes(spec, "scan_input_axes", "scan_input_directions",
                                            static_cast<size_t>(scanned)));
  ONWARD_ASSIGN_OR_RETURN(auto out, ReadAxes(spec, "scan_output_axes", "scan_output_directions",
                                             static_cast<size_t>(outputs - states)));
  return std::make_unique<Scan>(std::move(body), static_cast<int>(states), std::move(in),
                                std::move(out), memories);
}

KernelList ReferenceScan() { return kKernels; }

}  // namespace onward::kernels::cpu
