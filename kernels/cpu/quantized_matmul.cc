// MatMulInteger, com.microsoft.MatMulIntegerToFloat and QLinearMatMul of 8-bit integers on the
// tiles of one instruction set. A constant second operand is packed once.
#include <algorithm>
#include <utility>

#include "kernels/bind/matmul.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/int8_pack.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/quantized_counts.h"
#include "kernels/cpu/reference/requantize.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kChunkProducts = 2 * 1000 * 1000;  // about 10 us with VNNI
constexpr int64_t kChunkBytes = 128 * 1024;          // of B, which few rows wait for: about 10 us
constexpr int64_t kRowsPerChunk = 192;
constexpr int64_t kPackGrain = 16 * 1024;  // bytes

enum class Result { kInt32, kFloat, kByte };

// Which input holds what; -1 for none.
struct Inputs {
  Result result;
  int b, a_zero, b_zero, a_scale, b_scale, bias, y_scale, y_zero;
};
constexpr Inputs kMatMulInteger = {Result::kInt32, 1, 2, 3, -1, -1, -1, -1, -1};
constexpr Inputs kToFloat = {Result::kFloat, 1, 4, 5, 2, 3, 6, -1, -1};
constexpr Inputs kQLinear = {Result::kByte, 3, 2, 5, 1, 4, -1, 6, 7};

// B in panels, with the sums of its columns: [batch][panel].
struct PackedBytes {
  Tensor panels;  // uint8
  Tensor sums;    // int32
};

struct ProductState {
  int64_t m, n, k, batches, panels;
  absl::Span<int64_t> batch, a_strides, b_strides;
  int64_t b_batches;  // distinct matrices of B
  int64_t panels_per_chunk, row_chunks, column_chunks;
  // Bytes from the start of scratch.
  int64_t a_rows, a_sums, b_panels, b_sums, col_add, col_mul, col_scale;
};

class Int8MatMul : public Kernel {
 public:
  Int8MatMul(const Int8TileKernels& tiles, const Inputs& inputs, DType a, DType b,
             PackedBytes packed)
      : tiles_(tiles),
        inputs_(inputs),
        a_dtype_(a),
        b_dtype_(b),
        a_shifted_(IsShifted(tiles, a, true)),
        b_shifted_(IsShifted(tiles, b, false)),
        packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  void PackB(RunContext& context, const ProductState& s, char* scratch) const;
  void PackA(RunContext& context, const ProductState& s, char* scratch) const;
  void PrepareColumns(RunContext& context, const ProductState& s, const int32_t* sums,
                      char* scratch, Int8Finish& f) const;
  void RunChunk(const RunContext& context, const ProductState& s, int64_t chunk,
                const Int8Finish& all) const;
  // Whether rows of A are read where they are: as tiles take them, and without their sums.
  bool ReadsInPlace(const ProductState& s, const Int8Finish& f) const {
    return tiles_.element_bytes == 1 && !a_shifted_ && s.k % tiles_.unit == 0 &&
           f.col_mul == nullptr;
  }
  int64_t Lines(const ProductState& s) const { return s.panels * tiles_.tile_cols; }

  const Int8TileKernels& tiles_;
  const Inputs& inputs_;
  DType a_dtype_, b_dtype_;
  bool a_shifted_, b_shifted_;
  PackedBytes packed_;
};

absl::Status Int8MatMul::Bind(BindContext& context) const {
  const DimsView b = context.input_dims(inputs_.b);
  ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g, MatMulDims(context.input_dims(0), b));
  ONWARD_RETURN_IF_ERROR(
      CheckOneElement(context, {inputs_.a_zero, inputs_.a_scale, inputs_.y_scale, inputs_.y_zero}));
  ONWARD_RETURN_IF_ERROR(CheckOneOrEach(context, {inputs_.b_zero, inputs_.b_scale}, g.n));
  ONWARD_RETURN_IF_ERROR(CheckEach(context, inputs_.bias, g.n));
  context.SetOutput(0, g.output);
  ProductState* s = context.NewState<ProductState>();
  s->m = g.m;
  s->n = g.n;
  s->k = g.k;
  s->batches = g.num_batches();
  s->batch = context.Keep<int64_t>(g.batch);
  s->a_strides = context.Keep<int64_t>(g.a_strides);
  s->b_strides = context.Keep<int64_t>(g.b_strides);
  s->panels = CeilDiv(g.n, tiles_.tile_cols);
  s->b_batches = g.k * g.n == 0 ? 0 : NumElements(b) / (g.k * g.n);
  const int64_t rows = std::min(g.m, kRowsPerChunk);
  const int64_t panel_products = std::max<int64_t>(1, rows * tiles_.tile_cols * g.k);
  const int64_t panel_bytes = std::max<int64_t>(1, PackedPanelBytes(tiles_, g.k));
  const int64_t panels = std::min(kChunkProducts / panel_products, kChunkBytes / panel_bytes);
  s->panels_per_chunk = EvenPiece(s->panels, std::max<int64_t>(1, panels));
  s->row_chunks = CeilDiv(g.m, kRowsPerChunk);
  s->column_chunks = CeilDiv(s->panels, s->panels_per_chunk);
  const int64_t all_rows = g.k == 0 ? 0 : NumElements(context.input_dims(0)) / g.k;
  int64_t size = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t at = size;
    size += CeilDiv(bytes, 64) * 64;
    return at;
  };
  s->a_rows = reserve(all_rows * PackedRowBytes(tiles_, g.k));
  s->a_sums = reserve(all_rows * 4);
  if (packed_.panels.empty()) {
    s->b_panels = reserve(s->b_batches * s->panels * PackedPanelBytes(tiles_, g.k));
    s->b_sums = reserve(s->b_batches * Lines(*s) * 4);
  }
  s->col_add = reserve(std::max<int64_t>(1, s->b_batches) * Lines(*s) * 4);
  s->col_mul = reserve(Lines(*s) * 4);
  s->col_scale = reserve(Lines(*s) * 4);
  context.SetScratch(size);
  return absl::OkStatus();
}

void Int8MatMul::PackA(RunContext& context, const ProductState& s, char* scratch) const {
  const ByteSource a = {context.in<uint8_t>(0), a_dtype_ == DType::kInt8, a_shifted_};
  const int64_t bytes = PackedRowBytes(tiles_, s.k);
  const int64_t rows = s.k == 0 ? 0 : context.input(0).num_elements() / s.k;
  context.ParallelFor(rows, std::max<int64_t>(1, kPackGrain / std::max<int64_t>(1, bytes)),
                      [&](int64_t begin, int64_t end) {
                        ByteSource part = a;
                        part.data += begin * s.k;
                        int32_t* sums = reinterpret_cast<int32_t*>(scratch + s.a_sums) + begin;
                        PackByteRows(tiles_, part, s.k, end - begin, s.k,
                                     scratch + s.a_rows + begin * bytes, sums);
                        // A finished column is multiplied by minus the sum of the row.
                        for (int64_t i = 0; i < end - begin; ++i) sums[i] = -sums[i];
                      });
}

void Int8MatMul::PackB(RunContext& context, const ProductState& s, char* scratch) const {
  const ByteSource b = {context.in<uint8_t>(inputs_.b), b_dtype_ == DType::kInt8, b_shifted_};
  const int64_t bytes = PackedPanelBytes(tiles_, s.k), cols = tiles_.tile_cols;
  context.ParallelFor(s.b_batches * s.panels,
                      std::max<int64_t>(1, kPackGrain / std::max<int64_t>(1, bytes)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const int64_t column = i % s.panels * cols;
                          ByteSource part = b;
                          part.data += i / s.panels * s.k * s.n + column;
                          PackBytePanel(tiles_, part, s.n, std::min(cols, s.n - column), s.k,
                                        scratch + s.b_panels + i * bytes,
                                        reinterpret_cast<int32_t*>(scratch + s.b_sums) + i * cols);
                        }
                      });
}

// c = sums - a_zero colsum[j] - (rowsum[i] - k a_zero) b_zero[j].
void Int8MatMul::PrepareColumns(RunContext& context, const ProductState& s, const int32_t* sums,
                                char* scratch, Int8Finish& f) const {
  const int32_t a_shift = ZeroShift(a_dtype_, a_shifted_);
  const int32_t b_shift = ZeroShift(b_dtype_, b_shifted_);
  const LineValues<int32_t> a_zeros(OptionalInput(context, inputs_.a_zero));
  const LineValues<int32_t> b_zeros(OptionalInput(context, inputs_.b_zero));
  const auto a_zero = static_cast<uint32_t>(a_zeros[0] + a_shift);
  int32_t* add = reinterpret_cast<int32_t*>(scratch + s.col_add);
  int32_t* mul = reinterpret_cast<int32_t*>(scratch + s.col_mul);
  bool any_zero = false;
  for (int64_t j = 0; j < s.n; ++j) {
    mul[j] = b_zeros[j] + b_shift;
    any_zero |= mul[j] != 0;
  }
  for (int64_t batch = 0; batch < s.b_batches; ++batch) {
    const int64_t line = batch * Lines(s);
    for (int64_t j = 0; j < s.n; ++j) {
      const uint32_t constant = static_cast<uint32_t>(s.k) * a_zero * static_cast<uint32_t>(mul[j]);
      add[line + j] =
          static_cast<int32_t>(constant - a_zero * static_cast<uint32_t>(sums[line + j]));
    }
  }
  if (a_zero != 0 && s.k > 0) f.col_add = add;
  if (any_zero && s.k > 0) f.col_mul = mul;
  if (inputs_.result == Result::kInt32) return;
  float* scales = reinterpret_cast<float*>(scratch + s.col_scale);
  const float a_scale = *context.in<float>(inputs_.a_scale);
  const TensorView& b_scales = context.input(inputs_.b_scale);
  const int64_t step = b_scales.num_elements() == 1 ? 0 : 1;
  for (int64_t j = 0; j < s.n; ++j) scales[j] = a_scale * b_scales.as<const float>()[j * step];
  f.col_scale = scales;
  if (inputs_.result == Result::kFloat) {
    if (context.has_input(inputs_.bias)) f.col_bias = context.in<float>(inputs_.bias);
    return;
  }
  const float y_scale = *context.in<float>(inputs_.y_scale);
  for (int64_t j = 0; j < s.n; ++j) scales[j] /= y_scale;
  const bool is_signed = context.output(0).dtype == DType::kInt8;
  f.zero = LineValues<float>(context.input(inputs_.y_zero))[0];
  f.low = is_signed ? -128.0f : 0.0f;
  f.high = is_signed ? 127.0f : 255.0f;
}

// The columns of a finish from `column` on, of matrix `batch` of B.
Int8Finish Columns(const Int8Finish& all, int64_t column, int64_t add_offset) {
  Int8Finish f = all;
  if (f.col_add != nullptr) f.col_add += add_offset + column;
  if (f.col_mul != nullptr) f.col_mul += column;
  if (f.col_scale != nullptr) f.col_scale += column;
  if (f.col_bias != nullptr) f.col_bias += column;
  return f;
}

void Int8MatMul::RunChunk(const RunContext& context, const ProductState& s, int64_t chunk,
                          const Int8Finish& all) const {
  const char* scratch = context.scratch<char>();
  const char* b_panels = packed_.panels.empty()
                             ? scratch + s.b_panels
                             : static_cast<const char*>(packed_.panels.raw_data());
  const int64_t batch = chunk / (s.row_chunks * s.column_chunks);
  const int64_t first = chunk / s.column_chunks % s.row_chunks * kRowsPerChunk;
  const int64_t end = std::min(s.m, first + kRowsPerChunk);
  const int64_t panel = chunk % s.column_chunks * s.panels_per_chunk;
  const int64_t panel_end = std::min(s.panels, panel + s.panels_per_chunk);
  const int64_t a_line = s.k == 0 ? 0 : BatchOffset(s.batch, s.a_strides, batch) / s.k;
  const int64_t b_index =
      s.k * s.n == 0 ? 0 : BatchOffset(s.batch, s.b_strides, batch) / (s.k * s.n);
  const int64_t a_row = PackedRowBytes(tiles_, s.k), units = UnitsOf(tiles_, s.k);
  const char* a = ReadsInPlace(s, all) ? context.in<char>(0) : scratch + s.a_rows;
  const int32_t* row_mul = reinterpret_cast<const int32_t*>(scratch + s.a_sums) + a_line;
  alignas(64) int32_t sums[kMostInt8Sums];
  const int64_t whole = 0;  // a row is one run
  for (int64_t p = panel; p < panel_end; ++p) {
    const char* b = b_panels + (b_index * s.panels + p) * PackedPanelBytes(tiles_, s.k);
    const int64_t column = p * tiles_.tile_cols;
    const int cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, s.n - column));
    Int8Finish f = Columns(all, column, b_index * Lines(s));
    const char* next = p + 1 < s.panels ? b + PackedPanelBytes(tiles_, s.k) : nullptr;
    for (int64_t row = first; row < end; row += tiles_.tile_rows) {
      const int rows = static_cast<int>(std::min<int64_t>(tiles_.tile_rows, end - row));
      const void* lines[kMostInt8Rows];
      for (int r = 0; r < rows; ++r) lines[r] = a + (a_line + row + r) * a_row;
      RunProduct product = {lines, rows, &whole, 1, units, b};
      product.fetch.TakePart(next, PackedPanelBytes(tiles_, s.k), (row - first) / tiles_.tile_rows,
                             CeilDiv(end - first, tiles_.tile_rows), units);
      tiles_.tile(product, sums);
      f.row_mul = row_mul + row;
      const int64_t to = (batch * s.m + row) * s.n + column;
      if (inputs_.result == Result::kInt32) {
        tiles_.finish_int32(sums, rows, cols, f, context.out<int32_t>(0) + to, s.n);
      } else if (inputs_.result == Result::kFloat) {
        tiles_.finish_float(sums, rows, cols, f, context.out<float>(0) + to, s.n);
      } else {
        tiles_.finish_byte(sums, rows, cols, f, context.out<uint8_t>(0) + to, s.n);
      }
    }
  }
}

absl::Status Int8MatMul::Run(RunContext& context) const {
  const ProductState& s = context.state<ProductState>();
  if (context.output(0).num_elements() == 0) return absl::OkStatus();
  char* scratch = context.scratch<char>();
  const int32_t* sums = packed_.sums.data<int32_t>();
  if (packed_.panels.empty()) {
    PackB(context, s, scratch);
    sums = reinterpret_cast<const int32_t*>(scratch + s.b_sums);
  }
  Int8Finish finish;
  PrepareColumns(context, s, sums, scratch, finish);
  if (!ReadsInPlace(s, finish)) PackA(context, s, scratch);
  context.ParallelFor(s.batches * s.row_chunks * s.column_chunks, 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) RunChunk(context, s, i, finish);
                      });
  return absl::OkStatus();
}

absl::StatusOr<PackedBytes> Pack(const Int8TileKernels& tiles, const Tensor& b) {
  const int64_t n = b.dims()[1], k = b.dims()[0], panels = CeilDiv(n, tiles.tile_cols);
  const int64_t bytes = PackedPanelBytes(tiles, k), cols = tiles.tile_cols;
  PackedBytes packed;
  ONWARD_ASSIGN_OR_RETURN(packed.panels, Tensor::Create(DType::kUint8, {panels, bytes}));
  ONWARD_ASSIGN_OR_RETURN(packed.sums, Tensor::Create(DType::kInt32, {panels, cols}));
  ByteSource source = {static_cast<const uint8_t*>(b.raw_data()), b.dtype() == DType::kInt8,
                       IsShifted(tiles, b.dtype(), false)};
  for (int64_t p = 0; p < panels; ++p, source.data += cols) {
    PackBytePanel(tiles, source, n, std::min(cols, n - p * cols), k,
                  packed.panels.mutable_data<uint8_t>() + p * bytes,
                  packed.sums.mutable_data<int32_t>() + p * cols);
  }
  return packed;
}

// One value, or one per column.
bool IsPerColumn(const NodeSpec& spec, int i) {
  if (IsOneValue(spec, i)) return true;
  const std::optional<Dims> dims = spec.input_type(i).static_dims();
  return dims && dims->size() == 1;
}

template <const Inputs& kInputs>
absl::StatusOr<std::unique_ptr<Kernel>> MakeInt8MatMul(const NodeSpec& spec) {
  for (const int i : {0, kInputs.b}) {
    const DType dtype = spec.input_dtype(i);
    if (dtype != DType::kInt8 && dtype != DType::kUint8)
      return absl::UnimplementedError("8-bit integers only");
  }
  for (const int i : {kInputs.a_scale, kInputs.b_scale, kInputs.bias, kInputs.y_scale}) {
    if (i >= 0 && spec.has_input(i) && spec.input_dtype(i) != DType::kFloat32)
      return absl::UnimplementedError("float32 scales only");
  }
  if (kInputs.result == Result::kByte && spec.output_dtype(0) != DType::kInt8 &&
      spec.output_dtype(0) != DType::kUint8) {
    return absl::UnimplementedError("8-bit integers only");
  }
  for (const int i : {kInputs.a_zero, kInputs.a_scale, kInputs.y_scale, kInputs.y_zero}) {
    if (!IsOneValue(spec, i)) return absl::UnimplementedError("a scale or zero point per row of A");
  }
  for (const int i : {kInputs.b_zero, kInputs.b_scale, kInputs.bias}) {
    if (!IsPerColumn(spec, i)) return absl::UnimplementedError("a scale or zero point per batch");
  }
  const Int8TileKernels& tiles = kInt8TilesPerTarget.For(TargetOf(spec))();
  if (spec.only_asks()) return nullptr;
  PackedBytes packed;
  const Tensor* b = spec.constant(kInputs.b);
  if (b != nullptr && b->rank() == 2 && b->num_elements() > 0) {
    ONWARD_ASSIGN_OR_RETURN(packed, Pack(tiles, *b));
    spec.ReleaseConstant(kInputs.b);
  }
  return std::make_unique<Int8MatMul>(tiles, kInputs, spec.input_dtype(0),
                                      spec.input_dtype(kInputs.b), std::move(packed));
}

template <const Inputs& kInputs>
constexpr KernelEntry Row(std::string_view domain, std::string_view op, std::string_view name) {
  return {domain, op, name, MakeInt8MatMul<kInputs>, kInt8Targets};
}

constexpr KernelEntry kKernels[] = {
    Row<kMatMulInteger>("", "MatMulInteger", "matmul_integer"),
    Row<kToFloat>("com.microsoft", "MatMulIntegerToFloat", "matmul_integer_to_float"),
    Row<kQLinear>("", "QLinearMatMul", "qlinear_matmul"),
};

}  // namespace

KernelList QuantizedMatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
