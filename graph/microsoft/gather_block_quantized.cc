// Rows of a table of few bits with one scale per block of an axis.
#include "absl/strings/str_cat.h"
#include "graph/microsoft/blocks.h"

namespace onward::microsoft {
namespace {

// Where axis `quantized` of the table lies in the result of Gather along `gathered`.
int64_t AxisAfterGather(int64_t quantized, int64_t gathered, int64_t index_rank) {
  return quantized < gathered ? quantized : quantized + index_rank - 1;
}

// Scales and zero points of each element along `axis`, from those of blocks, cut to the axis.
Expr PerElement(const Expr& of_blocks, int64_t axis, int64_t block_size, const Expr& like) {
  const Expr blocks = Unsqueeze(of_blocks, {axis + 1});
  ExprSink& sink = *of_blocks.sink();
  const Expr parts = Concat({Shape(of_blocks, 0, axis + 1), sink.Ints({block_size}),
                             Shape(of_blocks, axis + 1, INT64_MAX)},
                            0);
  const Expr merged = Concat({Shape(of_blocks, 0, axis),
                              Shape(of_blocks, axis, axis + 1) * static_cast<double>(block_size),
                              Shape(of_blocks, axis + 1, INT64_MAX)},
                             0);
  const Expr all = Reshape(Expand(blocks, parts), merged, /*allow_zero=*/true);
  return Op("Slice", {all, sink.Ints({0}), Shape(like, axis, axis + 1), sink.Ints({axis})});
}

// The same numbers in a dtype that Gather takes.
Expr WholeBytes(const Expr& x) {
  if (IsFloating(x.dtype())) return Cast(x, DType::kFloat16);
  if (!IsSubByte(x.dtype())) return x;
  return Cast(x, x.dtype() == DType::kInt4 ? DType::kInt8 : DType::kUint8);
}

// uint8 data hold codes of `bits` bits, packed along the last axis, around 2^(bits-1) unless zero
// points are given; so do their zero points. A block size of 0 is the whole axis.
std::vector<Expr> GatherBlockQuantized(const FormulaCall& call) {
  const int64_t rank = call.Rank(0), index_rank = call.Rank(1);
  int64_t gathered = call.Int("gather_axis"), quantized = call.Int("quantize_axis");
  const int64_t bits = call.Int("bits");
  int64_t block = call.Int("block_size");
  for (int64_t* axis : {&gathered, &quantized}) {
    if (*axis < -rank || *axis >= rank) {
      call.Fail(absl::StrCat("axis ", *axis, " is out of range for rank ", rank));
      return {};
    }
    if (*axis < 0) *axis += rank;
  }
  const bool bytes = call.input(0).dtype() == DType::kUint8;
  if (gathered == quantized || (bytes && quantized != rank - 1)) {
    call.Fail(absl::StrCat("quantize_axis is ", quantized, " with gather_axis ", gathered,
                           bytes ? "; it must be the last of uint8 data" : "; they must differ"));
    return {};
  }
  if ((bytes && bits != 2 && bits != 4 && bits != 8) || block < 0) {
    call.Fail(absl::StrCat("bits is ", bits, " and block_size ", block,
                           "; bits of uint8 data must be 2, 4 or 8, block_size at least 0"));
    return {};
  }
  if (block == 0) block = call.Dim(0, quantized);
  const Expr indices = call.input(1);
  const auto rows = [&](const Expr& x) { return Gather(x, indices, gathered); };
  const int64_t axis = AxisAfterGather(quantized, gathered, index_rank);
  Expr codes = rows(WholeBytes(call.input(0)));
  Expr zeros = call.has_input(3) ? rows(WholeBytes(call.input(3))) : Expr();
  if (bytes) {
    codes = UnpackCodes(codes, bits);
    if (zeros.valid()) zeros = UnpackCodes(zeros, bits);
  }
  codes = Wide(codes);
  // One scale for all rows of float8 data.
  const bool shared = IsFloating(call.input(0).dtype()) && call.Dim(2, gathered) == 1;
  const Expr scale_rows = shared ? Gather(call.input(2), indices * ScalarLike(indices, 0), gathered)
                                 : rows(call.input(2));
  const Expr scales = PerElement(Wide(scale_rows), axis, block, codes);
  if (zeros.valid()) {
    codes = codes - PerElement(Wide(zeros), axis, block, codes);
  } else if (bytes) {
    codes = codes - static_cast<double>(int64_t{1} << (bits - 1));
  }
  return {As(codes * scales, call.input(2).dtype())};
}

}  // namespace

std::vector<FormulaOp> GatherBlockQuantizedOps() {
  return {
      {"GatherBlockQuantized <bits: int = 4, block_size: int = 128, gather_axis: int = 0, "
       "quantize_axis: int = 1> (data: D, indices: I, scales: T, zero_points: D?) -> (output: T) "
       "where D = int4|uint4|uint8|float4e2m1|float8e4m3fn|float8e4m3fnuz|float8e5m2|"
       "float8e5m2fnuz, I = int32|int64, T = float16|float|bfloat16",
       GatherBlockQuantized},
  };
}

}  // namespace onward::microsoft
