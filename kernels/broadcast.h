// Multidirectional broadcasting as nested loops: axes of size 1 are dropped and neighbours that
// every operand walks alike are merged, so that most shapes become one or two loops.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

inline constexpr int kMaxLoopDims = 8;

// Loops over an output of contiguous elements and N operands. Index 0 is the innermost loop; there
// an operand's stride is 0 or 1. Strides count elements.
template <int N>
struct BroadcastLoop {
  int rank = 0;  // at least 1 once built
  int64_t dims[kMaxLoopDims];
  int64_t strides[N][kMaxLoopDims];
};

namespace broadcast_internal {

inline absl::Status DoNotBroadcast(absl::Span<const DimsView> shapes) {
  std::string text;
  for (size_t i = 0; i < shapes.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : " and ", DimsString(shapes[i]));
  return absl::InvalidArgumentError(absl::StrCat("shapes ", text, " do not broadcast"));
}

}  // namespace broadcast_internal

// Computes the loops and the common shape of `shapes`; with `fixed` (not null) the operands
// broadcast to that shape instead. InvalidArgument when the shapes do not broadcast, Unimplemented
// when they need more than kMaxLoopDims loops.
template <int N>
absl::Status BuildBroadcastLoop(const DimsView (&shapes)[N], const DimsView* fixed, Dims* out,
                                BroadcastLoop<N>* loop) {
  size_t rank = fixed != nullptr ? fixed->size() : 0;
  for (const DimsView& shape : shapes) rank = std::max(rank, shape.size());
  if (fixed != nullptr && fixed->size() < rank)
    return broadcast_internal::DoNotBroadcast({shapes, N});
  out->resize(rank);
  int64_t running[N];
  std::fill(running, running + N, int64_t{1});
  int depth = 0;
  for (size_t back = 1; back <= rank; ++back) {
    int64_t size[N], dim = fixed != nullptr ? (*fixed)[fixed->size() - back] : 1;
    for (int i = 0; i < N; ++i) {
      size[i] = back <= shapes[i].size() ? shapes[i][shapes[i].size() - back] : 1;
      if (size[i] == dim || size[i] == 1) continue;
      if (dim != 1 || fixed != nullptr) return broadcast_internal::DoNotBroadcast({shapes, N});
      dim = size[i];
    }
    (*out)[rank - back] = dim;
    if (dim == 1) continue;
    int64_t stride[N];
    bool merges = depth > 0;
    for (int i = 0; i < N; ++i) {
      stride[i] = size[i] == 1 ? 0 : running[i];
      running[i] *= size[i];
      merges = merges && stride[i] == loop->strides[i][depth - 1] * loop->dims[depth - 1];
    }
    if (merges) {
      loop->dims[depth - 1] *= dim;
      continue;
    }
    if (depth == kMaxLoopDims)
      return absl::UnimplementedError("broadcasting over more than 8 interleaved groups of axes");
    loop->dims[depth] = dim;
    for (int i = 0; i < N; ++i) loop->strides[i][depth] = stride[i];
    ++depth;
  }
  if (depth == 0) {
    loop->dims[0] = 1;
    for (int i = 0; i < N; ++i) loop->strides[i][0] = 0;
    depth = 1;
  }
  loop->rank = depth;
  return absl::OkStatus();
}

// Two innermost loops: `rows` rows of `columns` elements. Offsets and strides count elements; the
// output's rows follow each other without gaps.
template <int N>
struct BroadcastTile {
  int64_t rows, columns;
  int64_t out_offset;
  int64_t offset[N];
  int64_t row_stride[N];
  int64_t column_stride[N];  // 0 or 1
};

// Calls body(tile) for tiles that cover the rows [begin, end) of the loop, a row being one pass of
// the innermost loop cut to columns [first, first + columns).
template <int N, typename Body>
void ForEachTile(const BroadcastLoop<N>& loop, int64_t begin, int64_t end, int64_t first,
                 int64_t columns, Body&& body) {
  const int64_t rows = loop.rank > 1 ? loop.dims[1] : 1;
  BroadcastTile<N> tile;
  tile.columns = columns;
  for (int i = 0; i < N; ++i) {
    tile.column_stride[i] = loop.strides[i][0];
    tile.row_stride[i] = loop.rank > 1 ? loop.strides[i][1] : 0;
  }
  for (int64_t row = begin; row < end; row += tile.rows) {
    int64_t outer = row / rows;
    const int64_t within = row - outer * rows;
    tile.rows = std::min(rows - within, end - row);
    tile.out_offset = row * loop.dims[0] + first;
    for (int i = 0; i < N; ++i)
      tile.offset[i] = within * tile.row_stride[i] + first * tile.column_stride[i];
    for (int d = 2; d < loop.rank && outer != 0; ++d) {
      const int64_t next = outer / loop.dims[d], index = outer - next * loop.dims[d];
      for (int i = 0; i < N; ++i) tile.offset[i] += index * loop.strides[i][d];
      outer = next;
    }
    body(static_cast<const BroadcastTile<N>&>(tile));
  }
}

}  // namespace onward::kernels
