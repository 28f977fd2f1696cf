#pragma once

#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/row_loops.h"
#include "kernels/cpu/simd/row_sums_inl.h"

namespace onward::cpu::ONWARD_TARGET {

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

inline void Products(const float* x, const float* y, int64_t count, float center, double* sum,
                     double* product) {
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

inline void Softmax(const float* x, int64_t count, bool log, float* y) {
  Vec top[kChains];
  for (Vec& t : top) t = Set(-__builtin_inff());
  ForVecs(count, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec value = LoadLanes(x + i, lanes);
    top[chain] = lanes == kLanes ? MaxOrNan(top[chain], value)
                                 : MaxOrNan(top[chain], KeepLanesOr(value, lanes, top[chain]));
  });
  const Vec largest = MaxOrNan(MaxOrNan(top[0], top[1]), MaxOrNan(top[2], top[3]));
  const Vec shift = Set(FoldLanes(largest, MaxOrNan));
  Vec sum[kChains] = {};
  ForVecs(count, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec e = ExpOfNegative(LoadLanes(x + i, lanes) - shift);
    if (!log) StoreLanes(y + i, e, lanes);
    sum[chain] += lanes == kLanes ? e : KeepLanes(e, lanes);
  });
  const float total = SumLanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  if (log) {
    const Vec log_total = Log(Set(total));
    ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
      StoreLanes(y + i, LoadLanes(x + i, lanes) - shift - log_total, lanes);
    });
    return;
  }
  const Vec factor = Set(1.0f / total);
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    StoreLanes(y + i, LoadLanes(y + i, lanes) * factor, lanes);
  });
}

inline void SoftmaxColumns(const float* x, int64_t count, int64_t stride, int64_t columns, bool log,
                           float* y) {
  constexpr int kVecs = kSoftmaxColumns / kLanes;
  const int vecs = static_cast<int>((columns + kLanes - 1) / kLanes);
  const auto lanes_of = [&](int v) ONWARD_LAMBDA_INLINE {
    return v == vecs - 1 ? static_cast<int>(columns - v * kLanes) : kLanes;
  };
  Vec top[kVecs], sum[kVecs] = {};
  for (int v = 0; v < vecs; ++v) top[v] = Set(-__builtin_inff());
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < vecs; ++v)
      top[v] = MaxOrNan(top[v], LoadLanes(x + i * stride + v * kLanes, lanes_of(v)));
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < vecs; ++v) {
      const int64_t at = i * stride + v * kLanes;
      const Vec e = ExpOfNegative(LoadLanes(x + at, lanes_of(v)) - top[v]);
      if (!log) StoreLanes(y + at, e, lanes_of(v));
      sum[v] += e;
    }
  }
  for (int v = 0; v < vecs; ++v) sum[v] = log ? top[v] + Log(sum[v]) : 1.0f / sum[v];
  for (int64_t i = 0; i < count; ++i) {
    for (int v = 0; v < vecs; ++v) {
      const int64_t at = i * stride + v * kLanes;
      StoreLanes(
          y + at,
          log ? LoadLanes(x + at, lanes_of(v)) - sum[v] : LoadLanes(y + at, lanes_of(v)) * sum[v],
          lanes_of(v));
    }
  }
}

const RowLoops& Rows() {
  static constexpr RowLoops kLoops = {Softmax, SoftmaxColumns, Normalize, FindMoments,
                                      Affine,  Products,       Combine};
  return kLoops;
}

}  // namespace onward::cpu::ONWARD_TARGET
