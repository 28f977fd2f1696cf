// Einsum in float32 with its products on the tiles of one instruction set. Operands whose axes have
// no strides that the tiles take are copied first.
#include <algorithm>
#include <optional>

#include "kernels/cpu/einsum_plan.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// The step between offsets that lie evenly; 1 for fewer than two.
std::optional<int64_t> StrideOf(const EinsumOffsets& offsets) {
  if (offsets.size() < 2) return 1;
  const int64_t stride = offsets[1] - offsets[0];
  for (size_t i = 2; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] != stride) return std::nullopt;
  }
  return stride;
}

// One operand of a product: read as it lies, or copied to rows x columns per batch.
struct Operand {
  bool copied = false;
  int64_t at = 0;  // of the copy, in scratch
  int64_t row_stride = 0, column_stride = 1;
};

struct FloatProduct {
  GemmPlan plan;
  Operand left, right;
  int64_t out_row = 0;  // stride of the output's rows; 0: the product goes to scratch
};

struct EinsumState {
  EinsumPlan plan;
  absl::Span<FloatProduct> products;  // one per step
  bool direct = false;                // the last product writes to the output
  int64_t gemm_offset = 0;            // in scratch: each worker's part
};

int64_t Count(const EinsumOffsets& offsets) { return static_cast<int64_t>(offsets.size()); }

Operand PlanOperand(const EinsumOffsets& batch, const EinsumOffsets& rows,
                    const EinsumOffsets& columns, int64_t* scratch) {
  const std::optional<int64_t> row = StrideOf(rows), column = StrideOf(columns);
  const bool fits = row && column && *row > 0 && *column > 0;
  if (fits && *column == 1) return {false, 0, *row, 1};
  if (fits && *row == 1) return {false, 0, 1, *column};
  const int64_t at = *scratch;
  *scratch += Count(batch) * Count(rows) * Count(columns);
  return {true, at, Count(columns), 1};
}

FloatProduct PlanProduct(const GemmTileKernels& tiles, const EinsumProduct& p, int64_t* scratch) {
  FloatProduct product;
  const int64_t m = Count(p.left_m), n = Count(p.right_n), k = Count(p.left_k);
  product.left = PlanOperand(p.left_batch, p.left_m, p.left_k, scratch);
  product.right = PlanOperand(p.right_batch, p.right_k, p.right_n, scratch);
  const ColumnsLayout layout =
      product.right.column_stride == 1 ? ColumnsLayout::kRows : ColumnsLayout::kTransposed;
  product.plan = PlanGemm(tiles, layout, m, n, k, Count(p.left_batch), false);
  const std::optional<int64_t> row = StrideOf(p.out_m), column = StrideOf(p.out_n);
  if (p.out_batch.size() == p.left_batch.size() && Count(p.out_m) == m && Count(p.out_n) == n &&
      row && column && *row > 0 && *column == 1) {
    product.out_row = *row;
  }
  return product;
}

void CopyOperand(const RunContext& context, const EinsumOffsets& batch, const EinsumOffsets& rows,
                 const EinsumOffsets& columns, const float* from, float* to) {
  const int64_t width = Count(columns), height = Count(rows);
  context.ParallelFor(Count(batch) * height,
                      std::max<int64_t>(1, CopyGrain<float>() / std::max<int64_t>(1, width)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const float* row = from + batch[static_cast<size_t>(i / height)] +
                                             rows[static_cast<size_t>(i % height)];
                          for (int64_t j = 0; j < width; ++j)
                            to[i * width + j] = row[columns[static_cast<size_t>(j)]];
                        }
                      });
}

class Einsum : public Kernel {
 public:
  Einsum(const GemmTileKernels& tiles, std::string equation)
      : tiles_(tiles), equation_(std::move(equation)) {}

  absl::Status Bind(BindContext& context) const override {
    std::vector<DimsView> operands;
    for (int i = 0; i < context.num_inputs(); ++i) operands.push_back(context.input_dims(i));
    ONWARD_ASSIGN_OR_RETURN(const EinsumTerms terms, ParseEinsum(equation_, operands));
    context.SetOutput(0, terms.output);
    auto* state = context.NewState<EinsumState>();
    ONWARD_ASSIGN_OR_RETURN(state->plan, PlanEinsum(context, terms));
    const auto count = static_cast<int64_t>(state->plan.steps.size());
    auto* products = context.NewArray<FloatProduct>(count);
    int64_t scratch = state->plan.scratch, gemm = 0;
    for (int64_t i = 0; i < count; ++i) {
      const EinsumStep& step = state->plan.steps[static_cast<size_t>(i)];
      if (!step.product) continue;
      products[i] = PlanProduct(tiles_, step.multiply, &scratch);
      gemm = std::max(gemm, products[i].plan.scratch);
      if (i + 2 == count) state->direct = products[i].out_row != 0;
    }
    state->products = {products, static_cast<size_t>(count)};
    state->gemm_offset = scratch;
    context.SetScratch((scratch + gemm * context.num_workers()) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<EinsumState>();
    float* scratch = context.scratch<float>();
    const auto source = [&](int index, int64_t at) -> const float* {
      return index >= 0 ? context.in<float>(index) : scratch + at;
    };
    const size_t count = state.plan.steps.size() - (state.direct ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      const EinsumStep& step = state.plan.steps[i];
      float* to = step.to < 0 ? context.out<float>(0) : scratch + step.to;
      const float* left = source(step.left, step.left_at);
      if (step.product) {
        const bool direct = state.direct && i + 1 == count;
        Multiply(context, step.multiply, state.products[i], left, source(step.right, step.right_at),
                 direct, direct ? context.out<float>(0) : to);
      } else {
        RunEinsumSum<float, float, float>(context, step.sum, left, to);
      }
    }
    return absl::OkStatus();
  }

 private:
  void Multiply(RunContext& context, const EinsumProduct& p, const FloatProduct& product,
                const float* left, const float* right, bool direct, float* to) const {
    const auto& state = context.state<EinsumState>();
    float* scratch = context.scratch<float>();
    const GemmPlan& plan = product.plan;
    if (product.left.copied)
      CopyOperand(context, p.left_batch, p.left_m, p.left_k, left, scratch + product.left.at);
    if (product.right.copied)
      CopyOperand(context, p.right_batch, p.right_k, p.right_n, right, scratch + product.right.at);
    GemmArguments args;
    args.a_row = product.left.row_stride;
    args.a_k = product.left.column_stride;
    args.b_stride = plan.layout == ColumnsLayout::kRows ? product.right.row_stride
                                                        : product.right.column_stride;
    args.c_row = direct ? product.out_row : plan.n;
    const int64_t per_batch = plan.chunks_per_batch();
    context.ParallelForWorkers(
        plan.chunks(), plan.grain, [&](int worker, int64_t begin, int64_t end) {
          for (int64_t chunk = begin; chunk < end; ++chunk) {
            const int64_t batch = chunk / per_batch;
            const auto b = static_cast<size_t>(batch);
            GemmArguments one = args;
            one.a = product.left.copied ? scratch + product.left.at + batch * plan.m * plan.k
                                        : left + p.left_batch[b];
            one.b = product.right.copied ? scratch + product.right.at + batch * plan.k * plan.n
                                         : right + p.right_batch[b];
            one.c = to + (direct ? p.out_batch[b] : batch * plan.m * plan.n);
            RunGemmChunk(tiles_, plan, one, chunk % per_batch,
                         scratch + state.gemm_offset + worker * plan.scratch);
          }
        });
  }

  const GemmTileKernels& tiles_;
  std::string equation_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeEinsum(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<Einsum>(kGemmTilesPerTarget.For(TargetOf(spec))(),
                                  spec.attributes().String("equation"));
}

constexpr KernelEntry kKernels[] = {
    {"", "Einsum", "einsum", MakeEinsum, kVectorTargets},
};

}  // namespace

KernelList EinsumKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
