// Products with weights of few bits, and rows of such tables.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/microsoft/blocks.h"

namespace onward::microsoft {

Expr As(const Expr& x, DType to) { return x.dtype() == to ? x : Cast(x, to); }
Expr Wide(const Expr& x) { return As(x, DType::kFloat32); }

namespace {

Expr Bytes(ExprSink& sink, const std::vector<uint8_t>& values) {
  Tensor tensor(DType::kUint8, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<uint8_t>());
  return sink.Constant(std::move(tensor));
}

}  // namespace

Expr UnpackCodes(const Expr& packed, int64_t bits) {
  if (bits == 8) return packed;
  ExprSink& sink = *packed.sink();
  std::vector<uint8_t> shifts;
  for (int64_t shift = 0; shift < 8; shift += bits) shifts.push_back(static_cast<uint8_t>(shift));
  const Expr shifted =
      Op("BitShift", {Unsqueeze(packed, {-1}), Bytes(sink, shifts)}, {{"direction", "RIGHT"}});
  const Expr codes =
      Op("BitwiseAnd", {shifted, Bytes(sink, {static_cast<uint8_t>((1 << bits) - 1)})});
  const Expr lines = Shape(packed, 0, -1);
  const Expr last = Shape(packed, -1, INT64_MAX) * static_cast<double>(8 / bits);
  return Reshape(codes, Concat({lines, last}, 0), /*allow_zero=*/true);
}

Expr DequantizeBlocks(const Expr& codes, const Expr& scales, const Expr& zeros, double default_zero,
                      int64_t block_size) {
  const Expr shape = Shape(codes);
  const Expr blocks =
      Reshape(Wide(codes), Concat({Shape(scales), codes.sink()->Ints({block_size})}, 0),
              /*allow_zero=*/true);
  const Expr shifted = zeros.valid()       ? blocks - Unsqueeze(Wide(zeros), {-1})
                       : default_zero == 0 ? blocks
                                           : blocks - default_zero;
  return Reshape(shifted * Unsqueeze(Wide(scales), {-1}), shape, /*allow_zero=*/true);
}

namespace {

struct NBits {
  int64_t k, n, bits, block, blocks;
};

bool Check(const FormulaCall& call, const NBits& w) {
  if (w.bits != 2 && w.bits != 4 && w.bits != 8) {
    call.Fail(absl::StrCat("bits is ", w.bits, ", must be 2, 4 or 8"));
  } else if (w.k < 1 || w.n < 1 || w.k > INT32_MAX || w.n > INT32_MAX) {
    call.Fail(absl::StrCat("K is ", w.k, " and N ", w.n, ", both must be positive"));
  } else if (w.block < 16 || w.block > (1 << 20) || (w.block & (w.block - 1)) != 0) {
    call.Fail(absl::StrCat("block_size is ", w.block, ", must be a power of two of at least 16"));
  } else {
    return true;
  }
  return false;
}

// W [N, K] of the codes and their scales by group of K.
Expr DequantizeByGroup(const Expr& codes, const Expr& scales, const Expr& zeros, const Expr& groups,
                       const NBits& w) {
  const Expr of_k = Slice(groups, {0}, {w.k}, {0});
  const Expr line = Slice(Wide(codes), {0}, {w.k}, {1});
  const Expr shifted = zeros.valid() ? line - Gather(Wide(zeros), of_k, 1)
                                     : line - static_cast<double>(int64_t{1} << (w.bits - 1));
  return shifted * Gather(Wide(scales), of_k, 1);
}

// B [N, blocks of K, bytes of a block]; scales [N, blocks] or flat; zero points packed like B, or
// of A's dtype; g_idx: the block of each index of K.
std::vector<Expr> MatMulNBits(const FormulaCall& call) {
  NBits w = {call.Int("K"), call.Int("N"), call.Int("bits"), call.Int("block_size"), 0};
  if (!Check(call, w)) return {};
  w.blocks = (w.k + w.block - 1) / w.block;
  const Expr packed = Reshape(call.input(1), {w.n, w.blocks * (w.block * w.bits / 8)});
  const Expr codes = UnpackCodes(packed, w.bits);
  const Expr scales = Reshape(call.input(2), {w.n, w.blocks});
  Expr zeros = call.input(3);
  if (zeros.valid() && zeros.dtype() == DType::kUint8) {
    zeros = Reshape(zeros, {w.n, (w.blocks * w.bits + 7) / 8});
    zeros = Slice(UnpackCodes(zeros, w.bits), {0}, {w.blocks}, {1});
  } else if (zeros.valid()) {
    zeros = Reshape(zeros, {w.n, w.blocks});
  }
  Expr weights;
  if (call.has_input(4)) {
    weights = DequantizeByGroup(codes, scales, zeros, call.input(4), w);
  } else {
    const double middle = static_cast<double>(int64_t{1} << (w.bits - 1));
    weights = DequantizeBlocks(codes, scales, zeros, middle, w.block);
    weights = Slice(weights, {0}, {w.k}, {1});
  }
  Expr y = MatMul(Wide(call.input(0)), Transpose(weights, {1, 0}));
  if (call.has_input(5)) y = y + Wide(call.input(5));
  return {As(y, call.input(0).dtype())};
}

// The values of 4-bit codes: bitsandbytes' FP4 and NF4 (Dettmers et al., QLoRA, appendix E).
constexpr float kFp4[16] = {0.00000000f,  5.208333333e-03f,  0.66666667f,  1.00000000f,
                            0.33333333f,  0.50000000f,       0.16666667f,  0.25000000f,
                            -0.00000000f, -5.208333333e-03f, -0.66666667f, -1.00000000f,
                            -0.33333333f, -0.50000000f,      -0.16666667f, -0.25000000f};
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};

// B: W [N, K] flat, two codes a byte, the first in the high bits; absmax: one per block of W.
std::vector<Expr> MatMulBnb4(const FormulaCall& call) {
  const NBits w = {call.Int("K"), call.Int("N"), 4, call.Int("block_size"), 0};
  if (!Check(call, w)) return {};
  const int64_t type = call.Int("quant_type");
  if (type != 0 && type != 1) {
    call.Fail(absl::StrCat("quant_type is ", type, ", must be 0 (FP4) or 1 (NF4)"));
    return {};
  }
  ExprSink& sink = call.sink();
  Tensor values(DType::kFloat32, {16});
  std::copy(std::begin(kFp4), std::end(kFp4), values.mutable_data<float>());
  if (type == 1) std::copy(std::begin(kNf4), std::end(kNf4), values.mutable_data<float>());
  const Expr codes =
      Op("BitwiseAnd",
         {Op("BitShift", {Unsqueeze(Reshape(call.input(1), {-1}), {-1}), Bytes(sink, {4, 0})},
             {{"direction", "RIGHT"}}),
          Bytes(sink, {15})});
  const int64_t size = w.n * w.k, blocks = (size + w.block - 1) / w.block;
  Expr flat = Slice(Reshape(codes, {-1}), {0}, {size}, {0});
  flat = Gather(sink.Constant(std::move(values)), Cast(flat, DType::kInt32));
  if (blocks * w.block != size) {
    flat = Op("Pad", {flat, sink.Ints({0, blocks * w.block - size})});
  }
  const Expr scaled = Reshape(flat, {blocks, w.block}) * Unsqueeze(Wide(call.input(2)), {-1});
  const Expr line = Slice(Reshape(scaled, {-1}), {0}, {size}, {0});
  const Expr weights = Reshape(line, {w.n, w.k});
  const bool transposed = call.Int("transB") != 0;
  const Expr y = MatMul(Wide(call.input(0)), transposed ? Transpose(weights, {1, 0}) : weights);
  return {As(y, call.input(0).dtype())};
}

}  // namespace

std::vector<FormulaOp> MatMulNBitsOps() {
  return {
      {"MatMulNBits <K: int, N: int, accuracy_level: int = 0, bits: int = 4, block_size: int, "
       "weight_prepacked: int = 0> (A: T, B: U, scales: T, zero_points: Z?, g_idx: I?, bias: T?) "
       "-> (Y: T) where T = float16|float|bfloat16, U = uint8, Z = uint8|float16|float|bfloat16, "
       "I = int32",
       MatMulNBits},
      {"MatMulBnb4 <K: int, N: int, block_size: int, quant_type: int, training_mode: int = 0, "
       "transB: int = 1> (A: T, B: U, absmax: T) -> (Y: T) "
       "where T = float16|float|bfloat16, U = uint8",
       MatMulBnb4},
  };
}

}  // namespace onward::microsoft
