// Einsum of any number of operands, step by step as planned.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/einsum_plan.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

template <typename Left, typename Right, typename Acc>
void RunProduct(const RunContext& context, const EinsumProduct& s, const Left* left,
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
    auto* plan = context.NewState<EinsumPlan>();
    ONWARD_ASSIGN_OR_RETURN(*plan, PlanEinsum(context, terms));
    context.SetScratch(plan->scratch * static_cast<int64_t>(sizeof(Acc)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    Acc* scratch = context.scratch<Acc>();
    for (const EinsumStep& step : context.state<EinsumPlan>().steps) {
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
          RunEinsumSum<In, T, Acc>(context, step.sum, from, context.out<T>(0));
        } else {
          RunEinsumSum<In, Acc, Acc>(context, step.sum, from, scratch + step.to);
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

}  // namespace onward::kernels::cpu
