// Sequences of tensors: SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert,
// SequenceErase, SequenceLength. Elements share their memory with the sequences they came from.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/at_run.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

absl::StatusOr<const SequenceData*> Sequence(const RunContext& context, int i) {
  const Value* object = context.input_slot(i).object;
  if (object == nullptr || !object->is_sequence())
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " is not a sequence"));
  return &object->sequence();
}
// The position that input i gives, in [0, count); `otherwise` without that input.
absl::StatusOr<int64_t> Position(const RunContext& context, int i, size_t size, int64_t count,
                                 int64_t otherwise) {
  if (!context.has_input(i)) return otherwise;
  const TensorView& view = context.input(i);
  if (view.num_elements() != 1)
    return absl::InvalidArgumentError("the position must have one element");
  const int64_t given = IndexAt(view, 0);
  const int64_t position = given < 0 ? given + static_cast<int64_t>(size) : given;
  if (position < 0 || position >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("position ", given, " is out of range for a sequence of ", size));
  }
  return position;
}

class SequenceConstruct : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    SequenceData sequence;
    for (int i = 0; i < context.num_inputs(); ++i)
      sequence.push_back(Value(CopyOf(context.input(i))));
    return context.SetOutput(0, Value(std::move(sequence)));
  }
};

class SequenceEmpty : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    return context.SetOutput(0, Value(SequenceData()));
  }
};

class SequenceAt : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const SequenceData* sequence, Sequence(context, 0));
    const auto size = static_cast<int64_t>(sequence->size());
    ONWARD_ASSIGN_OR_RETURN(const int64_t position,
                            Position(context, 1, sequence->size(), size, 0));
    return context.SetOutput(0, (*sequence)[static_cast<size_t>(position)]);
  }
};

class SequenceInsert : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const SequenceData* sequence, Sequence(context, 0));
    const auto size = static_cast<int64_t>(sequence->size());
    ONWARD_ASSIGN_OR_RETURN(const int64_t position,
                            Position(context, 2, sequence->size(), size + 1, size));
    if (!sequence->empty() && sequence->front().is_tensor() &&
        sequence->front().tensor().dtype() != context.input(1).dtype) {
      return absl::InvalidArgumentError("the tensor has another dtype than the sequence's");
    }
    SequenceData result = *sequence;
    result.insert(result.begin() + position, Value(CopyOf(context.input(1))));
    return context.SetOutput(0, Value(std::move(result)));
  }
};

class SequenceErase : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const SequenceData* sequence, Sequence(context, 0));
    const auto size = static_cast<int64_t>(sequence->size());
    if (size == 0) return absl::InvalidArgumentError("the sequence is empty");
    ONWARD_ASSIGN_OR_RETURN(const int64_t position,
                            Position(context, 1, sequence->size(), size, size - 1));
    SequenceData result = *sequence;
    result.erase(result.begin() + position);
    return context.SetOutput(0, Value(std::move(result)));
  }
};

class SequenceLength : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const SequenceData* sequence, Sequence(context, 0));
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, DType::kInt64, {}));
    *out.as<int64_t>() = static_cast<int64_t>(sequence->size());
    return absl::OkStatus();
  }
};

constexpr KernelEntry kKernels[] = {
    {"", "SequenceConstruct", "sequence_construct_reference", MakeAtRun<SequenceConstruct>},
    {"", "SequenceEmpty", "sequence_empty_reference", MakeAtRun<SequenceEmpty>},
    {"", "SequenceAt", "sequence_at_reference", MakeAtRun<SequenceAt>},
    {"", "SequenceInsert", "sequence_insert_reference", MakeAtRun<SequenceInsert>},
    {"", "SequenceErase", "sequence_erase_reference", MakeAtRun<SequenceErase>},
    {"", "SequenceLength", "sequence_length_reference", MakeAtRun<SequenceLength>},
};

}  // namespace

KernelList ReferenceSequence() { return kKernels; }

}  // namespace onward::kernels::cpu
