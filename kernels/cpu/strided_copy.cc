#include "kernels/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/simd/transpose.h"
#include "kernels/cpu/transpose_bytes.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kTileBytes = 1 << 16;
constexpr int64_t kGrainBytes = 1 << 17, kGrainElements = 1 << 14;
constexpr int64_t kLeastSquare = 4;  // shorter runs are not worth transposing
constexpr int64_t kManyColumns = 64, kPieceBytes = 1 << 13;

struct Axis {
  int64_t dim, from, to;
};
using Axes = absl::InlinedVector<Axis, 8>;

void CopyFlat(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  std::memcpy(to, from, static_cast<size_t>(rows * copy.row_to));
}

void CopyRows(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, from += copy.row_from, to += copy.row_to)
    std::memcpy(to, from, static_cast<size_t>(copy.columns));
}

// Blocks of repeated values are copied: such loops take whole vectors.
template <typename T>
void FillRow(T* out, int64_t count, const T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && 64 % sizeof(T) == 0) {
    char block[64];
    for (size_t i = 0; i < sizeof(block); i += sizeof(T)) std::memcpy(block + i, &value, sizeof(T));
    char* to = reinterpret_cast<char*>(out);
    int64_t left = count * static_cast<int64_t>(sizeof(T));
    for (; left >= 64; left -= 64, to += 64) std::memcpy(to, block, 64);
    std::memcpy(to, block, static_cast<size_t>(left));
  } else {
    std::fill_n(out, count, value);
  }
}

using Lanes = uint32_t __attribute__((vector_size(16)));

// Every other of the first 4-byte elements, by vectors; sets *done to how many were taken and
// returns where the next is.
const char* TakeEven(const char* from, int64_t count, char* to, int64_t* done) {
  // The last vector would read past the last element.
  for (; *done + 4 < count; *done += 4, from += 32, to += 16) {
    Lanes a, b;
    std::memcpy(&a, from, 16);
    std::memcpy(&b, from + 16, 16);
    const Lanes even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    std::memcpy(to, &even, 16);
  }
  return from;
}

template <typename T>
void CopyStrided(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, from += copy.row_from, to += copy.row_to) {
    const char* source = from;
    if (copy.column_to == static_cast<int64_t>(sizeof(T))) {
      T* out = reinterpret_cast<T*>(to);
      if (copy.column_from == 0) {
        FillRow(out, copy.columns, *reinterpret_cast<const T*>(source));
        continue;
      }
      int64_t c = 0;
      if constexpr (sizeof(T) == 4) {
        if (copy.column_from == 8) source = TakeEven(source, copy.columns, to, &c);
      }
      for (; c < copy.columns; ++c, source += copy.column_from)
        out[c] = *reinterpret_cast<const T*>(source);
      continue;
    }
    char* target = to;
    for (int64_t c = 0; c < copy.columns; ++c, source += copy.column_from, target += copy.column_to)
      *reinterpret_cast<T*>(target) = *reinterpret_cast<const T*>(source);
  }
}

// Rows are contiguous in the source and columns in the destination. Blocks of a cache line of rows
// keep every line that was touched in L1 until it is used up.
template <typename T>
void TransposeScalar(const char* from, char* to, const StridedCopy& copy, int64_t rows,
                     int64_t columns) {
  const int64_t row_to = copy.row_to;
  for (int64_t c = 0; c < columns; ++c) {
    const T* source = reinterpret_cast<const T*>(from + c * copy.column_from);
    char* target = to + c * static_cast<int64_t>(sizeof(T));
    for (int64_t r = 0; r < rows; ++r, target += row_to) *reinterpret_cast<T*>(target) = source[r];
  }
}

// Few columns: the rows of the destination, one after another.
template <int64_t kColumns, typename T>
void Interleave(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  const int64_t row_to = copy.row_to, column_from = copy.column_from;
  for (int64_t r = 0; r < rows; ++r, to += row_to) {
    for (int64_t c = 0; c < kColumns; ++c) {
      reinterpret_cast<T*>(to)[c] =
          *reinterpret_cast<const T*>(from + c * column_from + r * int64_t{sizeof(T)});
    }
  }
}

const TransposeLoops& VectorTransposes() {
  static const TransposeLoops& loops = kTransposesPerTarget.For(VectorTarget())();
  return loops;
}

// One block of up to a cache line of rows.
template <typename T>
void TransposeBlock(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  if (copy.columns == 2) return Interleave<2, T>(from, to, copy, rows);
  if (copy.columns == 3) return Interleave<3, T>(from, to, copy, rows);
  if (copy.columns == 4) return Interleave<4, T>(from, to, copy, rows);
  if constexpr (sizeof(T) == 1) {
    TransposeBytes(reinterpret_cast<const uint8_t*>(from), copy.column_from, copy.columns, rows, 0,
                   reinterpret_cast<uint8_t*>(to), copy.row_to);
  } else if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
    const TransposeLoops& loops = VectorTransposes();
    (sizeof(T) == 2 ? loops.of_two_bytes : loops.of_four_bytes)(
        from, copy.column_from, copy.columns, rows, to, copy.row_to);
  } else {
    TransposeScalar<T>(from, to, copy, rows, copy.columns);
  }
}

template <typename T>
void CopyTransposed(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t kBlock = std::max<int64_t>(4, 64 / kSize);
  for (int64_t r = 0; r < rows; r += kBlock) {
    TransposeBlock<T>(from + r * kSize, to + r * copy.row_to, copy, std::min(kBlock, rows - r));
  }
}

// A few rows, each contiguous in the destination, whose elements stand side by side in the source.
template <typename T>
void CopyFewRows(const char* from, char* to, const StridedCopy& copy, int64_t rows) {
  constexpr int64_t kSize = sizeof(T);
  // Locals: stores of bytes could change the members of `copy`.
  const int64_t columns = copy.columns, column_from = copy.column_from, row_to = copy.row_to;
  if constexpr (sizeof(T) <= 4) {
    if ((rows == 2 || rows == 3) && column_from == rows * kSize) {
      const TransposeLoops& loops = VectorTransposes();
      return (kSize == 1   ? loops.split_one_byte
              : kSize == 2 ? loops.split_two_bytes
                           : loops.split_four_bytes)(from, columns, rows, to, row_to);
    }
  }
  const auto take = [=]<int64_t kRows>(std::integral_constant<int64_t, kRows>) {
    const char* source = from;
    for (int64_t c = 0; c < columns; ++c, source += column_from) {
      for (int64_t r = 0; r < kRows; ++r) {
        reinterpret_cast<T*>(to + r * row_to)[c] = *reinterpret_cast<const T*>(source + r * kSize);
      }
    }
  };
  if (rows == 2) return take(std::integral_constant<int64_t, 2>());
  if (rows == 3) return take(std::integral_constant<int64_t, 3>());
  CopyStrided<T>(from, to, copy, rows);
}

struct InnerLoops {
  StridedCopy::Inner strided, transposed, few_rows;
};

template <typename T>
constexpr InnerLoops kLoopsOf = {CopyStrided<T>, CopyTransposed<T>, CopyFewRows<T>};

InnerLoops LoopsOf(bool is_string, int64_t size) {
  if (is_string) return kLoopsOf<std::string>;
  switch (size) {
    case 1:
      return kLoopsOf<Chunk<1>>;
    case 2:
      return kLoopsOf<Chunk<2>>;
    case 4:
      return kLoopsOf<Chunk<4>>;
    case 8:
      return kLoopsOf<Chunk<8>>;
    default:
      return kLoopsOf<Chunk<16>>;
  }
}

// Merges neighbours that advance as one axis on both sides and drops axes of size 1.
Axes Coalesce(int64_t size, DimsView dims, DimsView from, DimsView to) {
  Axes axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Axis axis = {dims[i], from[i] * size, to[i] * size};
    if (axis.dim == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.dim &&
        axes.back().to == axis.to * axis.dim) {
      axes.back() = {axes.back().dim * axis.dim, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// A short contiguous run becomes one element of 2, 4, 8 or 16 bytes.
int64_t WidenElement(int64_t size, Axes& axes) {
  if (axes.size() < 2 || axes.back().from != size || axes.back().to != size) return size;
  const int64_t bytes = axes.back().dim * size;
  if (bytes > 16 || (bytes & (bytes - 1)) != 0) return size;
  axes.pop_back();
  return bytes;
}

void SetRows(const Axis& row, StridedCopy& copy) {
  copy.rows = row.dim, copy.row_from = row.from, copy.row_to = row.to;
}

// Cuts the columns into pieces for threads to share, where a size divides them.
void SplitColumns(int64_t size, StridedCopy& copy, Axes& axes) {
  int64_t piece = std::min(copy.columns, kPieceBytes / size);
  while (copy.columns % piece != 0) --piece;
  if (piece == copy.columns || piece * size < kPieceBytes / 16) return;
  axes.push_back({copy.columns / piece, copy.column_from * piece, copy.column_to * piece});
  copy.columns = piece;
}

void ChooseLoops(bool is_string, int64_t size, Axes& axes, StridedCopy& copy) {
  const Axis last = axes.back();
  const InnerLoops loops = LoopsOf(is_string, size);
  axes.pop_back();
  copy.columns = last.dim, copy.column_from = last.from, copy.column_to = last.to;
  Axis row = {1, 0, 0};
  copy.inner = loops.strided;
  if (axes.empty() && last.from == size && last.to == size) {
    row = last;
    copy.columns = 1;
    copy.flat = true;
    if (!is_string) copy.inner = CopyFlat;
  } else if (last.from == size && last.to == size && !is_string) {
    copy.inner = CopyRows;
    copy.columns *= size;
  }
  if (!axes.empty()) {
    auto chosen = axes.end() - 1;
    if (last.to == size && last.from != size && last.from != 0) {
      const auto contiguous = std::find_if(axes.begin(), axes.end(),
                                           [size](const Axis& axis) { return axis.from == size; });
      const bool few = contiguous != axes.end() && contiguous->dim < kLeastSquare;
      if (contiguous != axes.end() && (!few || last.dim >= kManyColumns)) {
        copy.inner = few ? loops.few_rows : loops.transposed;
        row = *contiguous;
        axes.erase(contiguous);
        if (few) SplitColumns(size, copy, axes);
        SetRows(row, copy);
        return;
      }
    }
    row = *chosen;
    axes.erase(chosen);
  }
  SetRows(row, copy);
}

}  // namespace

StridedCopy PlanStridedCopy(BindContext& context, DType dtype, DimsView dims, DimsView from,
                            DimsView to) {
  StridedCopy copy;
  if (NumElements(dims) == 0) return copy;
  const bool is_string = dtype == DType::kString;
  int64_t size = ElementStride(dtype);
  Axes axes = Coalesce(size, dims, from, to);
  if (!is_string) size = WidenElement(size, axes);
  if (axes.empty()) axes.push_back({1, size, size});
  ChooseLoops(is_string, size, axes, copy);
  const int64_t row_bytes = copy.inner == CopyRows ? copy.columns : copy.columns * size;
  // The blocks of a transposition stay whole: cache lines of rows.
  const InnerLoops loops = LoopsOf(is_string, size);
  const bool transposes = copy.inner == loops.transposed;
  copy.tile =
      std::max<int64_t>(transposes ? std::max<int64_t>(4, 64 / size) : 1, kTileBytes / row_bytes);
  if (copy.tile > 64) copy.tile = copy.tile / 64 * 64;
  copy.tile = std::min(copy.tile, copy.rows);
  copy.units = (copy.rows + copy.tile - 1) / copy.tile;
  const int64_t grain_bytes =
      copy.inner == loops.few_rows ? std::min(kGrainBytes, kGrainElements * size) : kGrainBytes;
  copy.grain = std::max<int64_t>(1, grain_bytes / (copy.tile * row_bytes));
  if (axes.empty()) return copy;
  copy.outer_rank = static_cast<int64_t>(axes.size());
  int64_t* numbers = context.NewArray<int64_t>(3 * copy.outer_rank);
  for (int64_t i = 0; i < copy.outer_rank; ++i) {
    const Axis& axis = axes[static_cast<size_t>(i)];
    numbers[i] = axis.dim;
    numbers[copy.outer_rank + i] = axis.from;
    numbers[2 * copy.outer_rank + i] = axis.to;
    copy.units *= axis.dim;
  }
  copy.outer_dims = numbers;
  copy.outer_from = numbers + copy.outer_rank;
  copy.outer_to = numbers + 2 * copy.outer_rank;
  return copy;
}

namespace {

void RunUnits(const StridedCopy& copy, const char* from, char* to, int64_t begin, int64_t end) {
  const int64_t tiles = (copy.rows + copy.tile - 1) / copy.tile;
  Dims index(static_cast<size_t>(copy.outer_rank));
  int64_t rest = begin / tiles, tile = begin % tiles, from_at = 0, to_at = 0;
  for (int64_t i = copy.outer_rank; i-- > 0; rest /= copy.outer_dims[i]) {
    const int64_t at = rest % copy.outer_dims[i];
    index[static_cast<size_t>(i)] = at;
    from_at += at * copy.outer_from[i];
    to_at += at * copy.outer_to[i];
  }
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = tile * copy.tile;
    copy.inner(from + from_at + row * copy.row_from, to + to_at + row * copy.row_to, copy,
               std::min(copy.tile, copy.rows - row));
    if (++tile < tiles) continue;
    tile = 0;
    for (int64_t i = copy.outer_rank; i-- > 0;) {
      from_at += copy.outer_from[i];
      to_at += copy.outer_to[i];
      if (++index[static_cast<size_t>(i)] < copy.outer_dims[i]) break;
      index[static_cast<size_t>(i)] = 0;
      from_at -= copy.outer_from[i] * copy.outer_dims[i];
      to_at -= copy.outer_to[i] * copy.outer_dims[i];
    }
  }
}

}  // namespace

void BindStridedCopy(BindContext& context, const StridedView& view) {
  auto* copy = context.NewState<StridedCopy>();
  *copy =
      PlanStridedCopy(context, context.input_dtype(0), view.dims, view.strides, Strides(view.dims));
  context.SetOutput(0, view.output);
  if (copy->flat) context.AliasOutput(0, 0);
}

void RunStridedCopy(const RunContext& context, const StridedCopy& copy, const void* from,
                    void* to) {
  if (copy.flat && from == to) return;
  context.ParallelFor(copy.units, copy.grain, [&](int64_t begin, int64_t end) {
    RunUnits(copy, static_cast<const char*>(from), static_cast<char*>(to), begin, end);
  });
}

absl::Status RunBoundCopy(const RunContext& context) {
  RunStridedCopy(context, context.state<StridedCopy>(), context.input(0).data,
                 context.output(0).data);
  return absl::OkStatus();
}

}  // namespace onward::kernels::cpu
