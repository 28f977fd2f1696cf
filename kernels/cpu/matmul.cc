// MatMul, Gemm and onward.FusedMatMul in float32 on the tiles of one instruction set; those of
// pairs round the operands to bfloat16. A constant second operand is packed once.
#include "kernels/shapes/matmul.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_bf16.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// What Bind keeps.
struct Product {
  const GemmTileKernels* tiles = nullptr;
  GemmPlan plan;
  bool packs_once = false;
  PairsPlan pairs;     // where operands are packed once
  GemmArguments args;  // strides; pointers are filled in by Run
  absl::Span<const int64_t> batch;
  absl::Span<const int64_t> a_strides;
  absl::Span<const int64_t> b_strides;
};

// C of Gemm, by how it meets the result.
enum class Addend : uint8_t { kNone, kColumnBias, kRowBias, kResidual, kScalar };

// Few rows do not pay for rounding and packing the other operand.
constexpr int64_t kMinRowsOfPairs = 8;

const GemmTileKernels& TilesFor(const GemmTileKernels& tiles, int64_t rows, bool packed) {
  return packed || rows >= kMinRowsOfPairs ? tiles : kGemmTilesPerTarget.For(tiles.target)();
}

void PlanProduct(ColumnsLayout layout, int64_t m, int64_t n, int64_t k, int64_t batches,
                 bool scaled, Product& product) {
  product.plan = PlanGemm(*product.tiles, layout, m, n, k, batches, scaled);
  product.packs_once = batches == 1 && PacksOnce(*product.tiles, m, n, k);
  if (product.packs_once) product.pairs = PlanPairs(*product.tiles, layout, m, n, k);
}

// Floats.
int64_t ScratchOf(const Product& product, int num_workers) {
  return product.packs_once ? product.pairs.scratch : product.plan.scratch * num_workers;
}

void RunProduct(const Product& product, const GemmArguments& args, RunContext& context) {
  const GemmTileKernels& tiles = *product.tiles;
  const GemmPlan& plan = product.plan;
  float* scratch = context.scratch<float>();
  if (product.packs_once) return RunPairs(tiles, product.pairs, args, scratch, context);
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

ColumnsLayout LayoutOf(const PackedMatrix& packed, bool trans_b) {
  if (!packed.empty()) return ColumnsLayout::kPanels;
  return trans_b ? ColumnsLayout::kTransposed : ColumnsLayout::kRows;
}

class MatMul : public Kernel {
 public:
  MatMul(const GemmTileKernels& tiles, const FusedMatMulAttributes& attributes,
         const ActivationSpec& activation, PackedMatrix packed)
      : tiles_(tiles),
        attributes_(attributes),
        activation_(activation),
        packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g, BindFusedMatMul(context, attributes_));
    Product* product = context.NewState<Product>();
    const bool scaled = packed_.empty() && attributes_.alpha != 1.0f;
    product->tiles = &TilesFor(tiles_, g.m, !packed_.empty());
    PlanProduct(LayoutOf(packed_, attributes_.trans_b), g.m, g.n, g.k, g.num_batches(), scaled,
                *product);
    product->args.alpha = scaled ? attributes_.alpha : 1.0f;
    product->args.a_row = attributes_.trans_a ? 1 : g.k;
    product->args.a_k = attributes_.trans_a ? g.m : 1;
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
    args.b = packed_.empty() ? context.in<float>(1) : packed_.data();
    args.c = context.out<float>(0);
    if (context.has_input(2)) args.bias_of_column = context.in<float>(2);
    if (context.has_input(3)) args.residual = context.in<float>(3);
    RunProduct(product, args, context);
    return absl::OkStatus();
  }

 private:
  const GemmTileKernels& tiles_;
  FusedMatMulAttributes attributes_;
  ActivationSpec activation_;
  PackedMatrix packed_;
};

// A constant matrix that every batch shares; a batched one is read as it lies.
bool IsMatrix(const Tensor* b) {
  return b != nullptr && b->rank() >= 1 && b->num_elements() > 0 &&
         NumElements(b->dims(), 0, std::max<int64_t>(0, b->rank() - 2)) == 1;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec,
                                                   const GemmTileKernels& tiles) {
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const FusedMatMulAttributes attributes = FusedMatMulAttributes::Parse(spec);
  PackedMatrix packed;
  if (const Tensor* b = spec.constant(1); IsMatrix(b) && (b->rank() > 1 || !attributes.trans_b)) {
    const int64_t columns = b->rank() == 1 ? 1 : b->dims().back();
    const int64_t rows = b->num_elements() / columns;
    ONWARD_ASSIGN_OR_RETURN(
        packed, PackedMatrix::Pack(tiles, b->data<float>(), columns, attributes.trans_b,
                                   attributes.trans_b ? columns : rows,
                                   attributes.trans_b ? rows : columns, attributes.alpha));
    spec.ReleaseConstant(1);
  }
  return std::make_unique<MatMul>(tiles, attributes, activation, std::move(packed));
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
  Gemm(const GemmTileKernels& tiles, const GemmAttributes& attributes, PackedMatrix packed)
      : tiles_(tiles), attributes_(attributes), packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override {
    const bool has_c = context.has_input(2);
    const DimsView c = has_c ? context.input_dims(2) : DimsView();
    ONWARD_ASSIGN_OR_RETURN(
        const GemmGeometry g,
        GemmDims(attributes_, context.input_dims(0), context.input_dims(1), has_c ? &c : nullptr));
    context.SetOutput(0, {g.m, g.n});
    GemmState* state = context.NewState<GemmState>();
    Product& product = state->product;
    const bool scaled = packed_.empty() && attributes_.alpha != 1.0f;
    product.tiles = &TilesFor(tiles_, g.m, !packed_.empty());
    PlanProduct(LayoutOf(packed_, attributes_.trans_b), g.m, g.n, g.k, 1, scaled, product);
    product.args.a_row = attributes_.trans_a ? 1 : g.k;
    product.args.a_k = attributes_.trans_a ? g.m : 1;
    product.args.b_stride = attributes_.trans_b ? g.k : g.n;
    product.args.alpha = scaled ? attributes_.alpha : 1.0f;
    product.args.c_row = g.n;
    if (has_c) BindAddend(g, c, *state);
    state->addend_offset = ScratchOf(product, context.num_workers());
    const int64_t addend = state->scaled_addend ? state->addend_size : 0;
    context.SetScratch((state->addend_offset + addend) * sizeof(float));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const GemmState& state = context.state<GemmState>();
    GemmArguments args = state.product.args;
    args.a = context.in<float>(0);
    args.b = packed_.empty() ? context.in<float>(1) : packed_.data();
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

  const GemmTileKernels& tiles_;
  GemmAttributes attributes_;
  PackedMatrix packed_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec,
                                                 const GemmTileKernels& tiles) {
  const GemmAttributes attributes = GemmAttributes::Parse(spec);
  PackedMatrix packed;
  const Tensor* b = spec.constant(1);
  if (b != nullptr && b->rank() == 2 && b->num_elements() > 0) {
    const int64_t columns = b->dims()[1], k = attributes.trans_b ? columns : b->dims()[0];
    ONWARD_ASSIGN_OR_RETURN(
        packed, PackedMatrix::Pack(tiles, b->data<float>(), columns, attributes.trans_b, k,
                                   b->num_elements() / k, attributes.alpha));
    spec.ReleaseConstant(1);
  }
  return std::make_unique<Gemm>(tiles, attributes, std::move(packed));
}

using MakeWithTiles = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec&,
                                                                  const GemmTileKernels&);

template <MakeWithTiles kMake>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, TilesOf(spec));
  return kMake(spec, *tiles);
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
