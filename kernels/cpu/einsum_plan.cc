#include "kernels/cpu/einsum_plan.h"

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels::cpu {
namespace {

// An operand or intermediate while the steps are planned.
struct Factor {
  EinsumOperand walk;
  int source = 0;  // input index; -1: scratch at `at`
  int64_t at = 0;
};

class Planner {
 public:
  Planner(BindContext& context, const EinsumTerms& terms) : context_(context), terms_(terms) {}

  absl::Status Plan() {
    std::vector<Factor> factors;
    for (size_t i = 0; i < terms_.operands.size(); ++i)
      factors.push_back({terms_.operands[i], static_cast<int>(i), 0});
    if (factors.size() > 1) {
      for (size_t i = 0; i < factors.size(); ++i) ONWARD_RETURN_IF_ERROR(DropUnread(factors, i));
    }
    Factor result = factors[0];
    for (size_t i = 1; i < factors.size(); ++i) {
      const bool last = i + 1 == factors.size();
      ONWARD_ASSIGN_OR_RETURN(result, Multiply(result, factors[i], Wanted(factors, i + 1), last));
    }
    ONWARD_ASSIGN_OR_RETURN(result, Sum(result, terms_.output_labels, true));
    return absl::OkStatus();
  }

  const std::vector<EinsumStep>& steps() const { return steps_; }
  int64_t scratch() const { return scratch_; }

 private:
  static bool Contains(const EinsumLabels& labels, EinsumLabel label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }

  // The labels that the output or operands from `first` on read.
  EinsumLabels Wanted(const std::vector<Factor>& factors, size_t first) const {
    EinsumLabels wanted = terms_.output_labels;
    for (size_t i = first; i < factors.size(); ++i)
      wanted.insert(wanted.end(), factors[i].walk.labels.begin(), factors[i].walk.labels.end());
    return wanted;
  }

  absl::Status DropUnread(std::vector<Factor>& factors, size_t i) {
    EinsumLabels others = terms_.output_labels;
    for (size_t j = 0; j < factors.size(); ++j) {
      if (j == i) continue;
      const EinsumLabels& labels = factors[j].walk.labels;
      others.insert(others.end(), labels.begin(), labels.end());
    }
    EinsumLabels kept;
    for (EinsumLabel label : factors[i].walk.labels) {
      if (Contains(others, label)) kept.push_back(label);
    }
    if (kept.size() == factors[i].walk.labels.size()) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(factors[i], Sum(factors[i], kept, false));
    return absl::OkStatus();
  }

  static int64_t SizeOf(const EinsumOperand& walk, EinsumLabel label) {
    const auto at = std::find(walk.labels.begin(), walk.labels.end(), label);
    return at == walk.labels.end() ? 1 : walk.sizes[static_cast<size_t>(at - walk.labels.begin())];
  }
  static int64_t StrideOf(const EinsumOperand& walk, EinsumLabel label) {
    const auto at = std::find(walk.labels.begin(), walk.labels.end(), label);
    return at == walk.labels.end() ? 0
                                   : walk.strides[static_cast<size_t>(at - walk.labels.begin())];
  }

  // EinsumOffsets of `walk` over all indices of `labels`, whose sizes `sizes` has.
  absl::StatusOr<EinsumOffsets> OffsetsOf(const EinsumOperand& walk, const EinsumLabels& labels,
                                          const Dims& sizes) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(sizes));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kInt64, sizes).status());
    int64_t* offsets = context_.NewArray<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t axis = labels.size(); axis-- > 0;) {
        offsets[i] += rest % sizes[axis] * StrideOf(walk, labels[axis]);
        rest /= sizes[axis];
      }
    }
    return EinsumOffsets(offsets, static_cast<size_t>(count));
  }

  // A dense intermediate over `labels`.
  absl::StatusOr<Factor> NewBuffer(const EinsumLabels& labels, const Dims& sizes) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(sizes));
    Factor factor;
    factor.walk = {labels, sizes, Strides(sizes)};
    factor.source = -1;
    factor.at = scratch_;
    const auto end = CheckedAdd(scratch_, count);
    if (!end || *end > (int64_t{1} << 56))
      return absl::InvalidArgumentError("the intermediate results are too large");
    scratch_ = *end;
    return factor;
  }

  absl::StatusOr<Factor> Sum(const Factor& from, const EinsumLabels& kept, bool to_output) {
    EinsumLabels summed;
    Dims kept_sizes, summed_sizes;
    for (EinsumLabel label : kept) kept_sizes.push_back(SizeOf(from.walk, label));
    for (EinsumLabel label : from.walk.labels) {
      if (Contains(kept, label)) continue;
      summed.push_back(label);
      summed_sizes.push_back(SizeOf(from.walk, label));
    }
    EinsumStep step;
    ONWARD_ASSIGN_OR_RETURN(step.sum.kept, OffsetsOf(from.walk, kept, kept_sizes));
    ONWARD_ASSIGN_OR_RETURN(step.sum.summed, OffsetsOf(from.walk, summed, summed_sizes));
    step.left = from.source;
    step.left_at = from.at;
    Factor result;
    if (to_output) {
      step.to = -1;
    } else {
      ONWARD_ASSIGN_OR_RETURN(result, NewBuffer(kept, kept_sizes));
      step.to = result.at;
    }
    steps_.push_back(step);
    return result;
  }

  absl::StatusOr<Factor> Multiply(const Factor& left, const Factor& right,
                                  const EinsumLabels& wanted, bool last) {
    EinsumLabels batch, m, n, k;
    for (EinsumLabel label : left.walk.labels) {
      const bool shared = Contains(right.walk.labels, label);
      (shared ? (Contains(wanted, label) ? batch : k) : m).push_back(label);
    }
    for (EinsumLabel label : right.walk.labels) {
      if (!Contains(left.walk.labels, label)) n.push_back(label);
    }
    const auto sizes = [&](const EinsumLabels& labels) {
      Dims result;
      for (EinsumLabel label : labels)
        result.push_back(SizeOf(Contains(left.walk.labels, label) ? left.walk : right.walk, label));
      return result;
    };
    EinsumStep step;
    step.product = true;
    EinsumProduct& p = step.multiply;
    ONWARD_ASSIGN_OR_RETURN(p.left_batch, OffsetsOf(left.walk, batch, sizes(batch)));
    ONWARD_ASSIGN_OR_RETURN(p.right_batch, OffsetsOf(right.walk, batch, sizes(batch)));
    ONWARD_ASSIGN_OR_RETURN(p.left_m, OffsetsOf(left.walk, m, sizes(m)));
    ONWARD_ASSIGN_OR_RETURN(p.right_n, OffsetsOf(right.walk, n, sizes(n)));
    ONWARD_ASSIGN_OR_RETURN(p.left_k, OffsetsOf(left.walk, k, sizes(k)));
    ONWARD_ASSIGN_OR_RETURN(p.right_k, OffsetsOf(right.walk, k, sizes(k)));
    step.left = left.source, step.left_at = left.at;
    step.right = right.source, step.right_at = right.at;
    EinsumLabels labels = batch;
    labels.insert(labels.end(), m.begin(), m.end());
    labels.insert(labels.end(), n.begin(), n.end());
    ONWARD_ASSIGN_OR_RETURN(Factor result, NewBuffer(labels, sizes(labels)));
    step.to = result.at;
    if (last && labels.size() == terms_.output_labels.size() &&
        std::all_of(labels.begin(), labels.end(),
                    [&](EinsumLabel label) { return Contains(terms_.output_labels, label); })) {
      const EinsumOperand out = {terms_.output_labels, terms_.output, Strides(terms_.output)};
      ONWARD_ASSIGN_OR_RETURN(p.out_batch, OffsetsOf(out, batch, sizes(batch)));
      ONWARD_ASSIGN_OR_RETURN(p.out_m, OffsetsOf(out, m, sizes(m)));
      ONWARD_ASSIGN_OR_RETURN(p.out_n, OffsetsOf(out, n, sizes(n)));
    }
    steps_.push_back(step);
    return result;
  }

  BindContext& context_;
  const EinsumTerms& terms_;
  std::vector<EinsumStep> steps_;
  int64_t scratch_ = 0;
};

}  // namespace

absl::StatusOr<EinsumPlan> PlanEinsum(BindContext& context, const EinsumTerms& terms) {
  Planner planner(context, terms);
  ONWARD_RETURN_IF_ERROR(planner.Plan());
  return EinsumPlan{context.Keep<EinsumStep>(absl::Span<const EinsumStep>(planner.steps())),
                    planner.scratch()};
}

}  // namespace onward::kernels::cpu
