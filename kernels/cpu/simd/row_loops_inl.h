#pragma once

#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/row_loops.h"
#include "kernels/cpu/simd/row_sums_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline void FindMoments(const float* x, int64_t count, float* mean, float* variance) {
  const double n = static_cast<double>(count);
  *mean = static_cast<float>(SumOf(x, count, [](Vec v) ONWARD_LAMBDA_INLINE { return v; }) / n);
  const Vec center = Set(*mean);
  *variance = static_cast<float>(
      SumOf(x, count,
            [center](Vec v) ONWARD_LAMBDA_INLINE { return (v - center) * (v - center); }) /
      n);
}

inline void Normalize(const NormalizedRow& row, float* mean, float* inverse) {
  const float* x = row.x;
  if (row.z != nullptr) {
    ForVecs(row.count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
      StoreLanes(row.sum + i, LoadLanes(row.x + i, lanes) + LoadLanes(row.z + i, lanes), lanes);
    });
    x = row.sum;
  }
  float variance = 0;
  *mean = 0;
  if (row.centered) {
    FindMoments(x, row.count, mean, &variance);
  } else {
    variance =
        static_cast<float>(SumOf(x, row.count, [](Vec v) ONWARD_LAMBDA_INLINE { return v * v; }) /
                           static_cast<double>(row.count));
  }
  *inverse = 1.0f / __builtin_sqrtf(variance + row.epsilon);
  const Vec center = Set(*mean), factor = Set(*inverse);
  ForVecs(row.count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec scaled =
        (LoadLanes(x + i, lanes) - center) * factor * LoadLanes(row.scale + i, lanes);
    StoreLanes(row.y + i, row.bias == nullptr ? scaled : scaled + LoadLanes(row.bias + i, lanes),
               lanes);
  });
}

inline void Affine(const float* x, int64_t count, float factor, float offset, float* y) {
  const Vec a = Set(factor), b = Set(offset);
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    StoreLanes(y + i, Fma(LoadLanes(x + i, lanes), a, b), lanes);
  });
}

inline void CenteredProducts(const float* x, const float* y, int64_t count, float center,
                             double* sum, double* product) {
  const Vec middle = Set(center);
  *sum = *product = 0;
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t n = count - begin < kSumBlock ? count - begin : kSumBlock;
    Vec sums[kChains] = {}, products[kChains] = {};
    ForVecs(n, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
      const Vec v = LoadLanes(y + begin + i, lanes);  // missing lanes are 0
      sums[chain] += v;
      products[chain] = Fma(v, LoadLanes(x + begin + i, lanes) - middle, products[chain]);
    });
    *sum += static_cast<double>(SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3])));
    *product +=
        static_cast<double>(SumLanes((products[0] + products[1]) + (products[2] + products[3])));
  }
}

inline void Combine(const float* x, const float* y, int64_t count, float x_factor, float y_factor,
                    float offset, float* z) {
  const Vec a = Set(x_factor), b = Set(y_factor), c = Set(offset);
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    StoreLanes(z + i, Fma(LoadLanes(x + i, lanes), a, Fma(LoadLanes(y + i, lanes), b, c)), lanes);
  });
}

inline Vec LargestOf(const float* x, int64_t count) {
  Vec top[kChains];
  for (Vec& t : top) t = Set(-__builtin_inff());
  ForVecs(count, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec value = LoadLanes(x + i, lanes);
    top[chain] = lanes == kLanes ? MaxOrNan(top[chain], value)
                                 : MaxOrNan(top[chain], KeepLanesOr(value, lanes, top[chain]));
  });
  const Vec largest = MaxOrNan(MaxOrNan(top[0], top[1]), MaxOrNan(top[2], top[3]));
  return Set(FoldLanes(largest, MaxOrNan));
}

// The sum of exp(x - shift); `put` gets each vector of them.
template <typename Put>
ONWARD_INLINE float SumOfExp(const float* x, int64_t count, Vec shift, Put&& put) {
  Vec sum[kChains] = {};
  ForVecs(count, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec e = ExpOfNegative(LoadLanes(x + i, lanes) - shift);
    put(i, e, lanes);
    sum[chain] += lanes == kLanes ? e : KeepLanes(e, lanes);
  });
  return SumLanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

inline void OneLogSumExp(const float* x, int64_t count, float* top, float* log_sum) {
  const Vec shift = LargestOf(x, count);
  const float total = SumOfExp(x, count, shift, [](int64_t, Vec, int) ONWARD_LAMBDA_INLINE {});
  StoreLanes(top, shift, 1);
  StoreLanes(log_sum, Log(Set(total)), 1);
}

// Fetches the rows that follow while the exponentials of this one keep the processor busy: its own
// prefetching ends with the page, which a row often is.
inline void OneSoftmax(const float* x, int64_t count, bool log, float* y) {
  const Vec shift = LargestOf(x, count);
  if (log) {
    const float total = SumOfExp(x, count, shift, [=](int64_t i, Vec, int) ONWARD_LAMBDA_INLINE {
      __builtin_prefetch(x + count + i);
      __builtin_prefetch(y + i, 1);
    });
    const Vec log_total = Log(Set(total));
    ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
      StoreLanes(y + i, LoadLanes(x + i, lanes) - shift - log_total, lanes);
    });
    return;
  }
  const float total =
      SumOfExp(x, count, shift, [=](int64_t i, Vec e, int lanes) ONWARD_LAMBDA_INLINE {
        StoreLanes(y + i, e, lanes);
        __builtin_prefetch(x + count + i);
        __builtin_prefetch(y + count + i, 1);
      });
  const Vec factor = Set(1.0f / total);
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    StoreLanes(y + i, LoadLanes(y + i, lanes) * factor, lanes);
  });
}

// The vectors of at most kSoftmaxColumns columns.
struct Columns {
  static constexpr int kMost = kSoftmaxColumns / kLanes;

  explicit Columns(int64_t columns)
      : vecs(static_cast<int>((columns + kLanes - 1) / kLanes)),
        last(static_cast<int>(columns - (vecs - 1) * kLanes)) {}
  int lanes(int v) const { return v == vecs - 1 ? last : kLanes; }

  int vecs, last;
};

inline void LargestOfColumns(const float* x, int64_t count, int64_t stride, const Columns& columns,
                             Vec* top) {
  for (int v = 0; v < columns.vecs; ++v) top[v] = Set(-__builtin_inff());
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < columns.vecs; ++v)
      top[v] = MaxOrNan(top[v], LoadLanes(x + i * stride + v * kLanes, columns.lanes(v)));
  }
}

template <typename Put>
ONWARD_INLINE void SumsOfExp(const float* x, int64_t count, int64_t stride, const Columns& columns,
                             const Vec* top, Vec* sum, Put&& put) {
  for (int v = 0; v < columns.vecs; ++v) sum[v] = Vec{};
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < columns.vecs; ++v) {
      const int64_t at = i * stride + v * kLanes;
      const Vec e = ExpOfNegative(LoadLanes(x + at, columns.lanes(v)) - top[v]);
      put(at, e, columns.lanes(v));
      sum[v] += e;
    }
  }
}

inline void LogSumExpColumns(const float* x, int64_t count, int64_t stride, int64_t width,
                             float* top, float* log_sum) {
  const Columns columns(width);
  Vec largest[Columns::kMost], sum[Columns::kMost];
  LargestOfColumns(x, count, stride, columns, largest);
  SumsOfExp(x, count, stride, columns, largest, sum, [](int64_t, Vec, int) ONWARD_LAMBDA_INLINE {});
  for (int v = 0; v < columns.vecs; ++v) {
    StoreLanes(top + v * kLanes, largest[v], columns.lanes(v));
    StoreLanes(log_sum + v * kLanes, Log(sum[v]), columns.lanes(v));
  }
}

inline void SoftmaxColumns(const float* x, int64_t count, int64_t stride, int64_t width, bool log,
                           float* y) {
  const Columns columns(width);
  Vec top[Columns::kMost], sum[Columns::kMost];
  LargestOfColumns(x, count, stride, columns, top);
  SumsOfExp(x, count, stride, columns, top, sum,
            [y, log](int64_t at, Vec e, int lanes) ONWARD_LAMBDA_INLINE {
              if (!log) StoreLanes(y + at, e, lanes);
            });
  for (int v = 0; v < columns.vecs; ++v) sum[v] = log ? Log(sum[v]) : 1.0f / sum[v];
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < columns.vecs; ++v) {
      const int64_t at = i * stride + v * kLanes;
      StoreLanes(y + at,
                 log ? LoadLanes(x + at, columns.lanes(v)) - top[v] - sum[v]
                     : LoadLanes(y + at, columns.lanes(v)) * sum[v],
                 columns.lanes(v));
    }
  }
}

// Calls f(columns, begin, width) for rows [begin, begin + width) of at most kLanes elements each,
// which stand as columns of kSoftmaxColumns there.
template <typename F>
ONWARD_INLINE void ForShortRows(const float* x, int64_t rows, int64_t count, F&& f) {
  float columns[kLanes * kSoftmaxColumns];
  const int lanes = static_cast<int>(count);
  for (int64_t begin = 0; begin < rows; begin += kSoftmaxColumns) {
    const int64_t width = rows - begin < kSoftmaxColumns ? rows - begin : kSoftmaxColumns;
    for (int64_t r = 0; r < width; r += kLanes) {
      const int64_t left = width - r < kLanes ? width - r : kLanes;
      Vec block[kLanes];
      LoadTransposed(x + (begin + r) * count, count, static_cast<int>(left), lanes, block);
      for (int i = 0; i < lanes; ++i) Store(columns + i * kSoftmaxColumns + r, block[i]);
    }
    f(columns, begin, width);
  }
}

inline void ShortSoftmaxes(const float* x, int64_t rows, int64_t count, bool log, float* y) {
  const int lanes = static_cast<int>(count);
  ForShortRows(x, rows, count, [&](float* columns, int64_t begin, int64_t width) {
    SoftmaxColumns(columns, count, kSoftmaxColumns, width, log, columns);
    for (int64_t r = 0; r < width; r += kLanes) {
      const int64_t left = width - r < kLanes ? width - r : kLanes;
      Vec block[kLanes];
      LoadTransposed(columns + r, kSoftmaxColumns, lanes, kLanes, block);
      for (int64_t i = 0; i < left; ++i) StoreLanes(y + (begin + r + i) * count, block[i], lanes);
    }
  });
}

// Short rows are computed as columns however many there are: a row has the same bits alone.
inline void Softmax(const float* x, int64_t rows, int64_t count, bool log, float* y) {
  if (count <= kLanes) return ShortSoftmaxes(x, rows, count, log, y);
  for (int64_t r = 0; r < rows; ++r) OneSoftmax(x + r * count, count, log, y + r * count);
}

inline void LogSumExp(const float* x, int64_t rows, int64_t count, float* top, float* log_sum) {
  if (count <= kLanes) {
    return ForShortRows(x, rows, count, [&](const float* columns, int64_t begin, int64_t width) {
      LogSumExpColumns(columns, count, kSoftmaxColumns, width, top + begin, log_sum + begin);
    });
  }
  for (int64_t r = 0; r < rows; ++r) OneLogSumExp(x + r * count, count, top + r, log_sum + r);
}

const RowLoops& Rows() {
  static constexpr RowLoops kLoops = {Softmax,          SoftmaxColumns,   LogSumExp,
                                      LogSumExpColumns, Normalize,        FindMoments,
                                      Affine,           CenteredProducts, Combine};
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
