// Einsum of any number of operands: each operand loses the labels that nothing else reads, then
// operands are multiplied from left to right as batched matrix products, and the result is
// permuted to the output.
#include "kernels/shapes/einsum.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::cpu {
namespace {

// Offsets of every index of some axes, row-major.
using Offsets = absl::Span<int64_t>;

// out[i] = sum over s of in[kept[i] + summed[s]].
struct SumStep {
  Offsets kept, summed;
};

// out[b, m, n] = sum over k of left[batch + m + k] * right[batch + n + k].
struct ProductStep {
  Offsets left_batch, left_m, left_k;
  Offsets right_batch, right_n, right_k;
};

struct Step {
  bool product = false;
  SumStep sum;
  ProductStep multiply;
  int left = 0;         // input index, or -1 - buffer
  int right = 0;        // the same, of a product
  int64_t to = 0;       // offset of the result in scratch, in elements; -1: the output
  int64_t left_at = 0;  // offset in scratch when `left` is a buffer
  int64_t right_at = 0;
};

struct EinsumState {
  absl::Span<Step> steps;
};

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
      ONWARD_ASSIGN_OR_RETURN(result, Multiply(result, factors[i], Wanted(factors, i + 1)));
    }
    ONWARD_ASSIGN_OR_RETURN(result, Sum(result, terms_.output_labels, true));
    return absl::OkStatus();
  }

  const std::vector<Step>& steps() const { return steps_; }
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

  // Offsets of `walk` over all indices of `labels`, whose sizes `sizes` has.
  absl::StatusOr<Offsets> OffsetsOf(const EinsumOperand& walk, const EinsumLabels& labels,
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
    return Offsets(offsets, static_cast<size_t>(count));
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
    Step step;
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
                                  const EinsumLabels& wanted) {
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
    Step step;
    step.product = true;
    ProductStep& p = step.multiply;
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
    steps_.push_back(step);
    return result;
  }

  BindContext& context_;
  const EinsumTerms& terms_;
  std::vector<Step> steps_;
  int64_t scratch_ = 0;
};

template <typename In, typename Out, typename Acc>
void RunSum(const RunContext& context, const SumStep& s, const In* from, Out* to) {
  const int64_t count = static_cast<int64_t>(s.kept.size());
  const int64_t grain =
      std::max<int64_t>(1, (int64_t{1} << 15) / (static_cast<int64_t>(s.summed.size()) + 1));
  context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const In* base = from + s.kept[static_cast<size_t>(i)];
      Acc sum = 0;
      for (int64_t offset : s.summed) sum += static_cast<Acc>(base[offset]);
      to[i] = static_cast<Out>(sum);
    }
  });
}

template <typename Left, typename Right, typename Acc>
void RunProduct(const RunContext& context, const ProductStep& s, const Left* left,
                const Right* right, Acc* to) {
  const int64_t m = static_cast<int64_t>(s.left_m.size()),
                n = static_cast<int64_t>(s.right_n.size());
  TiledProduct<Acc>(
      context, static_cast<int64_t>(s.left_batch.size()), m, n,
      static_cast<int64_t>(s.left_k.size()),
      [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* tile) {
        const Left* base = left + s.left_batch[static_cast<size_t>(batch)];
        for (int64_t i = 0; i < rows; ++i, tile += kTileDepth) {
          const Left* from = base + s.left_m[static_cast<size_t>(row + i)];
          for (int64_t q = 0; q < depth; ++q)
            tile[q] = static_cast<Acc>(from[s.left_k[static_cast<size_t>(p + q)]]);
        }
      },
      [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* tile) {
        const Right* base = right + s.right_batch[static_cast<size_t>(batch)];
        for (int64_t q = 0; q < depth; ++q, tile += kTileColumns) {
          const Right* from = base + s.right_k[static_cast<size_t>(p + q)];
          for (int64_t j = 0; j < columns; ++j)
            tile[j] = static_cast<Acc>(from[s.right_n[static_cast<size_t>(column + j)]]);
        }
      },
      [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
        std::copy_n(sums, columns, to + (batch * m + row) * n + column);
      });
}

template <typename T>
class Einsum : public Kernel {
  using Acc = Accumulator<T>;

 public:
  explicit Einsum(std::string equation) : equation_(std::move(equation)) {}

  absl::Status Bind(BindContext& context) const override {
    std::vector<DimsView> operands;
    for (int i = 0; i < context.num_inputs(); ++i) operands.push_back(context.input_dims(i));
    ONWARD_ASSIGN_OR_RETURN(const EinsumTerms terms, ParseEinsum(equation_, operands));
    context.SetOutput(0, terms.output);
    Planner planner(context, terms);
    ONWARD_RETURN_IF_ERROR(planner.Plan());
    context.NewState<EinsumState>()->steps =
        context.Keep<Step>(absl::Span<const Step>(planner.steps()));
    context.SetScratch(planner.scratch() * static_cast<int64_t>(sizeof(Acc)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    Acc* scratch = context.scratch<Acc>();
    for (const Step& step : context.state<EinsumState>().steps) {
      if (step.product) {
        WithSource(context, step.left, step.left_at, [&](const auto* left) {
          WithSource(context, step.right, step.right_at, [&](const auto* right) {
            RunProduct(context, step.multiply, left, right, scratch + step.to);
          });
        });
        continue;
      }
      WithSource(context, step.left, step.left_at, [&](const auto* from) {
        using In = std::decay_t<decltype(*from)>;
        if (step.to < 0) {
          RunSum<In, T, Acc>(context, step.sum, from, context.out<T>(0));
        } else {
          RunSum<In, Acc, Acc>(context, step.sum, from, scratch + step.to);
        }
      });
    }
    return absl::OkStatus();
  }

 private:
  template <typename F>
  static void WithSource(const RunContext& context, int source, int64_t at, const F& f) {
    if (source >= 0) return f(context.in<T>(source));
    f(static_cast<const Acc*>(context.scratch<Acc>() + at));
  }

  std::string equation_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeEinsum(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  DispatchDType(NumericTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Einsum<typename decltype(tag)::type>>(
        spec.attributes().String("equation"));
  });
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("dtype ", std::string(DTypeName(spec.input_dtype(0)))));
  }
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "Einsum", "einsum_reference", MakeEinsum},
};

}  // namespace

KernelList ReferenceEinsum() { return kKernels; }

}  // namespace onward::cpu
