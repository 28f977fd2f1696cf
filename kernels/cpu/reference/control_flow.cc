#include "kernels/cpu/reference/control_flow.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/captures.h"
#include "kernels/cpu/reference/loop_values.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;
using Slots = absl::InlinedVector<SlotValue, 16>;

int NumCaptures(const Body& body) { return static_cast<int>(body.graph().captures().size()); }

class ControlFlow : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutputAtRun(i);
    return absl::OkStatus();
  }
  bool pure() const override { return false; }
};

// The only element of a condition.
absl::StatusOr<bool> Condition(const TensorView& view) {
  if (view.num_elements() != 1 || view.dtype != DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition has shape ", DimsString(view.dims), ", not one element"));
  }
  return *view.as<bool>();
}

class If : public ControlFlow {
 public:
  struct Branch {
    std::shared_ptr<const Body> body;
    CaptureRange captures;
  };

  If(Branch then_branch, Branch else_branch, const BodyMemories& memories)
      : then_(std::move(then_branch)), else_(std::move(else_branch)), memories_(memories) {}
  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const bool condition, Condition(context.input(0)));
    const Branch& branch = condition ? then_ : else_;
    Slots inputs;
    for (int i = 0; i < branch.captures.count; ++i)
      inputs.push_back(InputOrAbsent(context, branch.captures.first + i));
    ONWARD_ASSIGN_OR_RETURN(const auto results, branch.body->Run(context, inputs));
    for (int i = 0; i < static_cast<int>(results.size()); ++i) {
      ONWARD_RETURN_IF_ERROR(EmitOutput(context, memories_.of_result(*branch.body, i), i,
                                        results[static_cast<size_t>(i)]));
    }
    return absl::OkStatus();
  }

 private:
  Branch then_, else_;
  const BodyMemories& memories_;
};

// The body takes the iteration's number, the condition, the carried values; gives the condition,
// the carried values and one element per stacked output.
class Loop : public ControlFlow {
 public:
  Loop(std::shared_ptr<const Body> body, int num_carried, int num_stacked,
       const BodyMemories& memories)
      : body_(std::move(body)),
        num_carried_(num_carried),
        num_stacked_(num_stacked),
        memories_(memories) {}

  absl::Status Run(RunContext& context) const override {
    int64_t trips = -1;  // unlimited
    if (context.has_input(0)) {
      if (context.input(0).num_elements() != 1)
        return absl::InvalidArgumentError("the trip count must have one element");
      trips = std::max<int64_t>(0, *context.in<int64_t>(0));
    }
    const bool conditional = context.has_input(1);
    bool condition = true;
    if (conditional) {
      ONWARD_ASSIGN_OR_RETURN(condition, Condition(context.input(1)));
    }
    std::vector<CarriedValue> carried;
    std::vector<StackedOutput> stacked;
    int64_t iteration = 0;
    Slots inputs = FirstInputs(context, &iteration, &condition);
    for (int i = 0; i < num_carried_; ++i) {
      carried.emplace_back(*body_, MemoryOf(i));
      carried.back().Start(inputs[static_cast<size_t>(2 + i)]);
    }
    for (int i = num_carried_; i < num_carried_ + num_stacked_; ++i)
      stacked.emplace_back(*body_, MemoryOf(i), i, trips);
    bool last = trips == 0 || !condition;
    for (int i = 0; last && i < num_carried_; ++i)
      ONWARD_RETURN_IF_ERROR(
          EmitOutput(context, MemoryOf(i), i, inputs[static_cast<size_t>(2 + i)]));
    for (; !last; ++iteration) {
      ONWARD_ASSIGN_OR_RETURN(const auto results, body_->Run(context, inputs));
      ONWARD_ASSIGN_OR_RETURN(const bool more, Condition(results[0].tensor));
      for (int i = 0; i < num_stacked_; ++i) {
        ONWARD_RETURN_IF_ERROR(stacked[static_cast<size_t>(i)].Append(
            context, results[static_cast<size_t>(1 + num_carried_ + i)]));
      }
      // Without a condition input the body's condition has no meaning.
      last = (conditional && !more) || iteration + 1 == trips;
      for (int i = 0; i < num_carried_; ++i) {
        const SlotValue& result = results[static_cast<size_t>(1 + i)];
        if (last) {
          ONWARD_RETURN_IF_ERROR(EmitOutput(context, MemoryOf(i), i, result));
          continue;
        }
        CarriedValue& value = carried[static_cast<size_t>(i)];
        ONWARD_RETURN_IF_ERROR(value.Advance(context, result));
        inputs[static_cast<size_t>(2 + i)] = value.current();
      }
    }
    for (int i = 0; i < num_stacked_; ++i) {
      const ValueId value = body_->graph().outputs()[static_cast<size_t>(1 + num_carried_ + i)];
      ONWARD_RETURN_IF_ERROR(
          stacked[static_cast<size_t>(i)].Finish(context, body_->graph().type(value)));
    }
    return absl::OkStatus();
  }

 private:
  // The memory of the body's result for an output of the node.
  const BodyMemory& MemoryOf(int output) const { return memories_.of_result(*body_, 1 + output); }
  Slots FirstInputs(const RunContext& context, int64_t* iteration, bool* condition) const {
    Slots inputs;
    inputs.push_back({{DType::kInt64, Device(), iteration, {}}, nullptr, true});
    inputs.push_back({{DType::kBool, Device(), condition, {}}, nullptr, true});
    const int count = num_carried_ + NumCaptures(*body_);
    for (int i = 0; i < count; ++i) inputs.push_back(InputOrAbsent(context, 2 + i));
    return inputs;
  }
  std::shared_ptr<const Body> body_;
  int num_carried_, num_stacked_;
  const BodyMemories& memories_;
};

Made MakeIfOnHost(const NodeSpec& spec) { return MakeIf(spec, HostMemories()); }
Made MakeLoopOnHost(const NodeSpec& spec) { return MakeLoop(spec, HostMemories()); }

constexpr KernelEntry kKernels[] = {
    {"", "If", "if_reference", MakeIfOnHost},
    {"", "Loop", "loop_reference", MakeLoopOnHost},
};

}  // namespace

Made MakeIf(const NodeSpec& spec, const BodyMemories& memories) {
  auto then_body = spec.body("then_branch"), else_body = spec.body("else_branch");
  if (then_body == nullptr || else_body == nullptr)
    return absl::UnimplementedError("a branch that is not compiled");
  for (const auto& body : {then_body, else_body}) {
    if (static_cast<int>(body->graph().outputs().size()) != spec.num_outputs())
      return absl::InvalidArgumentError("a branch has another number of outputs than the node");
  }
  return std::make_unique<If>(If::Branch{std::move(then_body), CapturesOf(spec, "then_branch")},
                              If::Branch{std::move(else_body), CapturesOf(spec, "else_branch")},
                              memories);
}

Made MakeLoop(const NodeSpec& spec, const BodyMemories& memories) {
  auto body = spec.body("body");
  if (body == nullptr) return absl::UnimplementedError("a body that is not compiled");
  const int carried = std::max(0, spec.num_inputs() - 2);
  const int stacked = static_cast<int>(body->graph().outputs().size()) - 1 - carried;
  const bool fits = stacked >= 0 && spec.num_outputs() <= carried + stacked &&
                    static_cast<int>(body->graph().inputs().size()) == 2 + carried;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("the body has ", body->graph().inputs().size(),
                                                   " inputs and ", body->graph().outputs().size(),
                                                   " outputs for ", carried, " carried values and ",
                                                   spec.num_outputs(), " outputs of the node"));
  }
  return std::make_unique<Loop>(std::move(body), carried, stacked, memories);
}

KernelList ReferenceControlFlow() { return kKernels; }

}  // namespace onward::kernels::cpu
