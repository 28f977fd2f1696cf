// MatMul, Gemm and onward.FusedMatMul in float32 on the tiles of one instruction set; those of
// pairs round the operands to bfloat16. A constant second operand is packed once.
#include "kernels/bind/matmul.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_shared.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/vector_product.h"

namespace onward::kernels::cpu {
namespace {

// What Bind keeps.
struct Product {
  const GemmTileKernels* tiles = nullptr;
  GemmPlan plan;
  VectorPlan vector;
  bool packs_once = false;
  SharedPlan shared;   // where operands are packed once
  GemmArguments args;  // strides; pointers are filled in by Run
  absl::Span<const int64_t> batch;
  absl::Span<const int64_t> a_strides;
  absl::Span<const int64_t> b_strides;
};

// C of Gemm, by how it meets the result.
enum class Addend : uint8_t { kNone, kColumnBias, kRowBias, kResidual, kScalar };

// Few rows do not pay for rounding and packing the other operand.
constexpr int64_t kMinRowsOfPairs = 8;

// The second operand, packed where it is constant, and the tiles that multiply it.
class Columns {
 public:
  // `pairs_are_faster`: than float32, for many rows.
  Columns(const GemmTileKernels& tiles, bool pairs_are_faster)
      : tiles_(tiles), pairs_are_faster_(pairs_are_faster) {}

  const GemmTileKernels& tiles() const { return tiles_; }
  bool packed() const { return !packed_.empty(); }
  absl::Status Pack(const float* b, int64_t stride, bool transposed, int64_t k, int64_t n,
                    float alpha) {
    k_ = k, n_ = n;
    ONWARD_ASSIGN_OR_RETURN(packed_,
                            PackedMatrix::Pack(tiles_, b, stride, transposed, k, n, alpha));
    return absl::OkStatus();
  }

  // Sets the tiles of a product of so many rows and, where the operand is packed, its panels. Few
  // rows take the time of reading the weights, which are half as many bytes as pairs.
  absl::Status Choose(int64_t rows, Product& product) const {
    const bool is_few = rows < kMinRowsOfPairs;
    const bool pairs = packed() ? is_few || pairs_are_faster_ : !is_few && pairs_are_faster_;
    product.tiles = pairs ? &tiles_ : &kGemmTilesPerTarget.For(tiles_.target)();
    product.args.b = packed_.empty() ? nullptr : packed_.data();
    if (product.tiles->k_per_word == tiles_.k_per_word || packed_.empty()) return absl::OkStatus();
    const std::lock_guard lock(mutex_);
    if (widened_.empty()) {
      ONWARD_ASSIGN_OR_RETURN(widened_, PackedMatrix::Widen(*product.tiles, packed_, k_, n_));
    }
    product.args.b = widened_.data();
    return absl::OkStatus();
  }

 private:
  const GemmTileKernels& tiles_;
  bool pairs_are_faster_;
  PackedMatrix packed_;
  int64_t k_ = 0, n_ = 0;
  mutable std::mutex mutex_;      // of `widened_`
  mutable PackedMatrix widened_;  // made by the first product of many rows that needs it
};

// `product.args` has the strides of A.
void PlanProduct(ColumnsLayout layout, int64_t m, int64_t n, int64_t k, int64_t batches,
                 bool scaled, Product& product) {
  const bool a_transposed = product.args.a_row == 1 && product.args.a_k != 1;
  product.plan = PlanGemm(*product.tiles, layout, m, n, k, batches, scaled);
  if (batches == 1) product.vector = PlanVector(layout, product.args.a_k, m, n, k);
  product.packs_once = batches == 1 && PacksOnce(*product.tiles, layout, a_transposed, m, n, k);
  if (product.packs_once)
    product.shared = PlanShared(*product.tiles, layout, a_transposed, m, n, k);
}

// Floats.
int64_t ScratchOf(const Product& product, int num_workers) {
  if (product.vector.kind != VectorPlan::Kind::kNone) return product.vector.scratch;
  return product.packs_once ? product.shared.scratch : product.plan.scratch * num_workers;
}

void RunProduct(const Product& product, const GemmArguments& args, RunContext& context) {
  const GemmTileKernels& tiles = *product.tiles;
  const GemmPlan& plan = product.plan;
  float* scratch = context.scratch<float>();
  if (product.vector.kind != VectorPlan::Kind::kNone)
    return RunVector(tiles, product.vector, args, scratch, context);
  if (product.packs_once) return RunShared(tiles, product.shared, args, scratch, context);
  const int64_t per_batch = plan.chunks_per_batch();
  context.ParallelForWorkers(
      plan.chunks(), plan.grain, [&](int worker, int64_t begin, int64_t end) {
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          GemmArguments one = args;
          if (plan.batches > 1) {
            const int64_t index = chunk / per_batch;
            one.a += BatchOffset(product.batch, product.a_strides, index);
            one.b += BatchOffset(product.batch, product.b_strides, index);
            one.c += index * plan.m * plan.n;
            if (one.residual != nullptr) one.residual += index * plan.m * plan.n;
          }
          RunGemmChunk(tiles, plan, one, chunk % per_batch, scratch + worker * plan.scratch);
        }
      });
}

ColumnsLayout LayoutOf(const Columns& columns, bool trans_b) {
  if (columns.packed()) return ColumnsLayout::kPanels;
  return trans_b ? ColumnsLayout::kTransposed : ColumnsLayout::kRows;
}

class MatMul : public Kernel {
 public:
  MatMul(const FusedMatMulAttributes& attributes, const ActivationSpec& activation,
         std::unique_ptr<Columns> columns)
      : attributes_(attributes), activation_(activation), columns_(std::move(columns)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g, BindFusedMatMul(context, attributes_));
    Product* product = context.NewState<Product>();
    const bool scaled = !columns_->packed() && attributes_.alpha != 1.0f;
    ONWARD_RETURN_IF_ERROR(columns_->Choose(g.m, *product));
    product->args.alpha = scaled ? attributes_.alpha : 1.0f;
    product->args.a_row = attributes_.trans_a ? 1 : g.k;
    product->args.a_k = attributes_.trans_a ? g.m : 1;
    PlanProduct(LayoutOf(*columns_, attributes_.trans_b), g.m, g.n, g.k, g.num_batches(), scaled,
                *product);
    product->args.b_stride = attributes_.trans_b ? g.k : g.n;
    product->args.c_row = product->args.residual_row = g.n;
    product->args.activation = activation_;
    product->batch = context.Keep<int64_t>(g.batch);
    product->a_strides = context.Keep<int64_t>(g.a_strides);
    product->b_strides = context.Keep<int64_t>(g.b_strides);
    context.SetScratch(ScratchOf(*product, context.num_workers()) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const Product& product = context.state<Product>();
    GemmArguments args = product.args;
    args.a = context.in<float>(0);
    if (args.b == nullptr) args.b = context.in<float>(1);
    args.c = context.out<float>(0);
    if (context.has_input(2)) args.bias_of_column = context.in<float>(2);
    if (context.has_input(3)) args.residual = context.in<float>(3);
    RunProduct(product, args, context);
    return absl::OkStatus();
  }

 private:
  FusedMatMulAttributes attributes_;
  ActivationSpec activation_;
  std::unique_ptr<Columns> columns_;
};

// A constant matrix that every batch shares; a batched one is read as it lies.
bool IsMatrix(const Tensor* b) {
  return b != nullptr && b->rank() >= 1 && b->num_elements() > 0 &&
         NumElements(b->dims(), 0, std::max<int64_t>(0, b->rank() - 2)) == 1;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec,
                                                   std::unique_ptr<Columns> columns) {
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const FusedMatMulAttributes attributes = FusedMatMulAttributes::Parse(spec);
  if (spec.only_asks()) return nullptr;
  if (const Tensor* b = spec.constant(1); IsMatrix(b) && (b->rank() > 1 || !attributes.trans_b)) {
    const int64_t width = b->rank() == 1 ? 1 : b->dims().back();
    const int64_t height = b->num_elements() / width;
    const int64_t k = attributes.trans_b ? width : height, n = b->num_elements() / k;
    if (n > 1) {
      ONWARD_RETURN_IF_ERROR(
          columns->Pack(b->data<float>(), width, attributes.trans_b, k, n, attributes.alpha));
      spec.ReleaseConstant(1);
    }
  }
  return std::make_unique<MatMul>(attributes, activation, std::move(columns));
}

struct GemmState {
  Product product;
  Addend addend = Addend::kNone;
  int64_t residual_row = 0;
  bool scaled_addend = false;  // beta C is computed to scratch first
  int64_t addend_size = 0;
  int64_t addend_offset = 0;  // in scratch
};

class Gemm : public Kernel {
 public:
  Gemm(const GemmAttributes& attributes, std::unique_ptr<Columns> columns)
      : attributes_(attributes), columns_(std::move(columns)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GemmGeometry g, GemmDims(attributes_, context));
    context.SetOutput(0, {g.m, g.n});
    GemmState* state = context.NewState<GemmState>();
    Product& product = state->product;
    const bool scaled = !columns_->packed() && attributes_.alpha != 1.0f;
    ONWARD_RETURN_IF_ERROR(columns_->Choose(g.m, product));
    product.args.a_row = attributes_.trans_a ? 1 : g.k;
    product.args.a_k = attributes_.trans_a ? g.m : 1;
    PlanProduct(LayoutOf(*columns_, attributes_.trans_b), g.m, g.n, g.k, 1, scaled, product);
    product.args.b_stride = attributes_.trans_b ? g.k : g.n;
    product.args.alpha = scaled ? attributes_.alpha : 1.0f;
    product.args.c_row = g.n;
    if (context.has_input(2)) BindAddend(g, context.input_dims(2), *state);
    state->addend_offset = ScratchOf(product, context.num_workers());
    const int64_t addend = state->scaled_addend ? state->addend_size : 0;
    context.SetScratch((state->addend_offset + addend) * sizeof(float));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const GemmState& state = context.state<GemmState>();
    GemmArguments args = state.product.args;
    args.a = context.in<float>(0);
    if (args.b == nullptr) args.b = context.in<float>(1);
    args.c = context.out<float>(0);
    if (state.addend != Addend::kNone) SetAddend(context, state, args);
    RunProduct(state.product, args, context);
    return absl::OkStatus();
  }

 private:
  void BindAddend(const GemmGeometry& g, DimsView c, GemmState& state) const {
    const bool rows = g.c_row_stride != 0 && g.m > 1, columns = g.c_column_stride != 0;
    state.addend = rows && columns ? Addend::kResidual
                   : columns       ? Addend::kColumnBias
                   : rows          ? Addend::kRowBias
                                   : Addend::kScalar;
    state.residual_row = g.c_row_stride;
    state.scaled_addend = attributes_.beta != 1.0f || state.addend == Addend::kScalar;
    state.addend_size = state.addend == Addend::kScalar ? g.n : NumElements(c);
  }

  void SetAddend(RunContext& context, const GemmState& state, GemmArguments& args) const {
    const float* c = context.in<float>(2);
    if (state.scaled_addend) {
      const int64_t stride = state.addend == Addend::kScalar ? 0 : 1;
      float* scaled = context.scratch<float>() + state.addend_offset;
      context.ParallelFor(state.addend_size, 1 << 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) scaled[i] = attributes_.beta * c[i * stride];
      });
      c = scaled;
    }
    if (state.addend == Addend::kResidual) {
      args.residual = c;
      args.residual_row = state.residual_row;
    } else {
      (state.addend == Addend::kRowBias ? args.bias_of_row : args.bias_of_column) = c;
    }
  }

  GemmAttributes attributes_;
  std::unique_ptr<Columns> columns_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec,
                                                 std::unique_ptr<Columns> columns) {
  const GemmAttributes attributes = GemmAttributes::Parse(spec);
  if (spec.only_asks()) return nullptr;
  const Tensor* b = spec.constant(1);
  // A vector is read as it lies (vector_product.h).
  if (b != nullptr && b->rank() == 2 && b->num_elements() > 0 &&
      b->dims()[attributes.trans_b ? 0 : 1] > 1) {
    const int64_t width = b->dims()[1], k = attributes.trans_b ? width : b->dims()[0];
    ONWARD_RETURN_IF_ERROR(columns->Pack(b->data<float>(), width, attributes.trans_b, k,
                                         b->num_elements() / k, attributes.alpha));
    spec.ReleaseConstant(1);
  }
  return std::make_unique<Gemm>(attributes, std::move(columns));
}

using MakeOfColumns = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec&,
                                                                  std::unique_ptr<Columns>);

template <MakeOfColumns kMake>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, TilesOf(spec));
  // A row has the same bits alone and among many where that is asked for.
  const bool same_for_any_rows = spec.options().deterministic;
  return kMake(spec, std::make_unique<Columns>(*tiles, same_for_any_rows || PairsAreFaster(spec)));
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMul", "matmul_bf16", Make<MakeMatMul>, kBf16Targets},
    {"", "MatMul", "matmul", Make<MakeMatMul>, kVectorTargets},
    {"onward", "FusedMatMul", "fused_matmul_bf16", Make<MakeMatMul>, kBf16Targets},
    {"onward", "FusedMatMul", "fused_matmul", Make<MakeMatMul>, kVectorTargets},
    {"", "Gemm", "gemm_bf16", Make<MakeGemm>, kBf16Targets},
    {"", "Gemm", "gemm", Make<MakeGemm>, kVectorTargets},
};

}  // namespace

KernelList MatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
