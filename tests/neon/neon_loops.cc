// Compares the vector loops of NEON with the baseline's, which other tests hold against independent
// values, on random data. The seed is printed with each failure; the exit code says whether any
// did.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/simd/attention_row.h"
#include "kernels/cpu/simd/binary.h"
#include "kernels/cpu/simd/box_overlap.h"
#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "kernels/cpu/simd/half_loops.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "kernels/cpu/simd/pool_rows.h"
#include "kernels/cpu/simd/product_tile.h"
#include "kernels/cpu/simd/quantize_loops.h"
#include "kernels/cpu/simd/reduce_loops.h"
#include "kernels/cpu/simd/row_loops.h"
#include "kernels/cpu/simd/unary.h"
#include "kernels/cpu/simd/winograd.h"

using namespace onward::kernels::cpu;

namespace {

using Floats = std::vector<float>;

int compared = 0, failed = 0;

class Draw {
 public:
  explicit Draw(unsigned seed) : seed_(seed), random_(seed) {}
  unsigned seed() const { return seed_; }
  float Float(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  Floats Many(int64_t count, float low = -2, float high = 2) {
    Floats values(static_cast<size_t>(count));
    for (float& value : values) value = Float(low, high);
    return values;
  }
  std::vector<int8_t> Bytes(int64_t count) {
    std::vector<int8_t> values(static_cast<size_t>(count));
    for (int8_t& value : values) value = static_cast<int8_t>(Int(-128, 127));
    return values;
  }

 private:
  unsigned seed_;
  std::mt19937 random_;
};

template <typename T>
void Compare(const std::string& what, const Draw& draw, const std::vector<T>& neon,
             const std::vector<T>& baseline, double tolerance) {
  ++compared;
  for (size_t i = 0; i < baseline.size(); ++i) {
    const double a = static_cast<double>(neon[i]), b = static_cast<double>(baseline[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::fabs(a - b) <= tolerance * (1 + std::fabs(b))) continue;
    std::printf("%s, seed %u, element %zu: neon %.9g, baseline %.9g\n", what.c_str(), draw.seed(),
                i, a, b);
    ++failed;
    return;
  }
}

// run(target) returns results; they are compared.
template <typename Run>
void Both(const std::string& what, const Draw& draw, double tolerance, Run&& run) {
  Compare(what, draw, run(Target::kNeon), run(Target::kBaseline), tolerance);
}

void Elementwise(Draw& draw) {
  for (int op = 0; op < static_cast<int>(FloatUnary::kCount); ++op) {
    const auto unary = static_cast<FloatUnary>(op);
    const bool positive = unary == FloatUnary::kLog || unary == FloatUnary::kSqrt;
    const Floats x = draw.Many(draw.Int(1, 70), positive ? 0.01f : -6, 6);
    Both("unary " + std::to_string(op), draw, 1e-6, [&](Target target) {
      Floats y(x.size());
      kUnaryPerTarget.For(target)(unary)(x.data(), y.data(), static_cast<int64_t>(x.size()),
                                         LoopParameters{{0.5f, 0.25f}});
      return y;
    });
  }
  for (int op = 0; op < static_cast<int>(FloatBinary::kCount); ++op) {
    const int64_t n = draw.Int(1, 70);
    const Floats a = draw.Many(n), b = draw.Many(n, 0.5f, 3);
    for (const int64_t step : {0, 1})
      Both("binary " + std::to_string(op), draw, 0, [&](Target target) {
        Floats y(a.size());
        kBinaryPerTarget.For(target)(static_cast<FloatBinary>(op))(a.data(), 1, b.data(), step,
                                                                   y.data(), n);
        return y;
      });
  }
}

void Rows(Draw& draw) {
  const int64_t n = draw.Int(1, 90), columns = draw.Int(1, 64);
  const int64_t rows = draw.Int(1, 70);
  const Floats x = draw.Many(n), grid = draw.Many(n * columns), z = draw.Many(n);
  const Floats many = draw.Many(rows * n);
  const auto loops = [](Target target) -> const RowLoops& { return kRowsPerTarget.For(target)(); };
  for (const bool log : {false, true}) {
    Both("softmax", draw, 2e-6, [&](Target target) {
      Floats y(many.size());
      loops(target).softmax(many.data(), rows, n, log, y.data());
      return y;
    });
    Both("softmax_columns", draw, 2e-6, [&](Target target) {
      Floats y(grid.size());
      loops(target).softmax_columns(grid.data(), n, columns, columns, log, y.data());
      return y;
    });
  }
  Both("log_sum_exp", draw, 1e-6, [&](Target target) {
    Floats y(static_cast<size_t>(2 * rows));
    loops(target).log_sum_exp(many.data(), rows, n, y.data(), y.data() + rows);
    return y;
  });
  for (const bool centered : {false, true})
    Both("normalize", draw, 1e-5, [&](Target target) {
      Floats y(x.size()), sum(x.size());
      NormalizedRow row;
      row.x = x.data(), row.z = z.data(), row.sum = sum.data(), row.count = n;
      row.epsilon = 1e-5f, row.centered = centered, row.scale = z.data(), row.bias = x.data();
      row.y = y.data();
      float mean = 0, inverse = 0;
      loops(target).normalize(row, &mean, &inverse);
      y.push_back(mean), y.push_back(inverse);
      return y;
    });
  Both("reductions", draw, 1e-6, [&](Target target) {
    const ReduceLoops& reduce = kReductionsPerTarget.For(target)();
    Floats sums = z;
    reduce.max_into(x.data(), n, sums.data());
    reduce.add_exp(x.data(), z.data(), n, sums.data());
    sums.push_back(reduce.max(x.data(), n));
    sums.push_back(reduce.min(x.data(), n));
    sums.push_back(static_cast<float>(reduce.sum_exp(x.data(), n, 2)));
    return sums;
  });
  Both("attention rows", draw, 2e-6, [&](Target target) {
    const AttentionRowKernels& rows = kAttentionRowsPerTarget.For(target)();
    Floats scores(static_cast<size_t>(n));
    rows.dots(grid.data(), grid.data(), columns, n, columns, scores.data());
    rows.softmax(scores.data(), n, 0.125f, z.data(), nullptr);
    return scores;
  });
}

void Products(Draw& draw) {
  const int64_t k = draw.Int(1, 40);
  for (const bool relu : {false, true}) {
    const int rows = draw.Int(1, 6), cols = draw.Int(1, 8);
    const Floats a = draw.Many(rows * k), b = draw.Many(k * cols), bias = draw.Many(cols);
    Both("gemm tile", draw, 2e-6, [&](Target target) {
      const GemmTileKernels& tiles = kGemmTilesPerTarget.For(target)();
      Floats packed(static_cast<size_t>(k * tiles.tile_cols)), rows_of_a(a.size());
      tiles.pack_columns(b.data(), cols, cols, k, 0.5f, packed.data());
      tiles.pack_rows(a.data(), k, rows, k, rows_of_a.data());
      Floats c(static_cast<size_t>(rows * cols));
      GemmTile tile;
      tile.rows = rows, tile.cols = cols, tile.k = k;
      tile.a = rows_of_a.data(), tile.a_row = 1, tile.a_k = rows;
      tile.b = packed.data(), tile.b_k = tiles.tile_cols, tile.b_padded = true;
      tile.c = c.data(), tile.c_row = cols, tile.bias_of_column = bias.data();
      if (relu) tile.activation.kind = onward::Activation::kRelu;
      tiles.tile(tile);
      return c;
    });
  }
  const Floats a = draw.Many(kTileRows * kTileDepth), b = draw.Many(kTileDepth * kTileColumns);
  Both("product tile", draw, 2e-6, [&](Target target) {
    Floats c(kTileRows * kTileColumns);
    kProductsPerTarget.For(target)().of_float(a.data(), b.data(), c.data(), 8, 32, k);
    return c;
  });
  const std::vector<int8_t> left = draw.Bytes(4 * 2 * k), right = draw.Bytes(8 * 2 * k);
  Both("int8 tile", draw, 0, [&](Target target) {
    const Int8TileKernels& tiles = kInt8TilesPerTarget.For(target)();
    std::vector<int16_t> rows(left.begin(), left.end()), panel(right.begin(), right.end());
    std::vector<int32_t> sums(static_cast<size_t>(4 * tiles.tile_cols));
    const int64_t whole = 0;
    const void* lines[4];
    for (int64_t r = 0; r < 4; ++r) lines[r] = rows.data() + r * 2 * k;
    tiles.tile({lines, 4, &whole, 1, k, panel.data()}, sums.data());
    return sums;
  });
}

void Images(Draw& draw) {
  PatchWindow w;
  w.in_h = draw.Int(3, 9), w.in_w = draw.Int(3, 9), w.kernel_h = 3, w.kernel_w = 3;
  w.stride_h = draw.Int(1, 2), w.stride_w = draw.Int(1, 2), w.pad_top = w.pad_left = 1;
  w.out_h = (w.in_h - 1) / w.stride_h + 1, w.out_w = (w.in_w - 1) / w.stride_w + 1;
  const Floats x = draw.Many(w.in_h * w.in_w + 32);
  Both("split_channel", draw, 0, [&](Target target) {
    Floats planes(static_cast<size_t>(ChannelPlanes(w)) + 64);
    kConvTilesPerTarget.For(target)().split_channel(w, x.data(), planes.data());
    planes.resize(static_cast<size_t>(ChannelPlanes(w)));
    return planes;
  });
  const PoolAxis axes[] = {{w.in_h, w.out_h, 3, w.stride_h, 1, 1, nullptr},
                           {w.in_w, w.out_w, 3, w.stride_w, 1, 1, nullptr}};
  PoolRows rows;
  rows.x = x.data(), rows.axes = axes, rows.num_axes = 2;
  const int64_t floats = PlanPoolRows(rows);
  Both("max pool", draw, 0, [&](Target target) {
    Floats y(static_cast<size_t>(w.out_h * w.out_w)), scratch(static_cast<size_t>(floats));
    PoolRows out = rows;
    out.y = y.data();
    kRowPoolsPerTarget.For(target)().max(out, 0, w.out_h, scratch.data());
    return y;
  });
  for (const int64_t m : {2, 4})
    Both("winograd windows", draw, 1e-6, [&](Target target) {
      Floats v(kMaxWinogradFrequencies * 8);
      WinogradWindows windows;
      windows.x = x.data(), windows.in_h = w.in_h, windows.in_w = w.in_w;
      windows.top = windows.left = -1, windows.tiles = 2, windows.v = v.data(), windows.step = 8;
      (m == 2 ? kWinograd2PerTarget : kWinograd4PerTarget).For(target)().transform_windows(windows);
      Floats kept;
      for (int64_t f = 0; f < (m + 2) * (m + 2); ++f)
        for (int64_t j = 0; j < 2; ++j) kept.push_back(v[static_cast<size_t>(f * 8 + j)]);
      return kept;
    });
}

void Conversions(Draw& draw) {
  const int64_t n = draw.Int(1, 50);
  const Floats x = draw.Many(n, -300, 300);
  Both("bfloat16", draw, 0, [&](Target target) {
    const HalfLoops& loops = kBFloatsPerTarget.For(target)();
    std::vector<uint16_t> narrow(x.size());
    Floats wide(x.size());
    loops.from_float(x.data(), narrow.data(), n, {});
    loops.to_float(narrow.data(), wide.data(), n, {});
    return wide;
  });
  Floats halves(x.size()), expected(x.begin(), x.end());
  std::vector<uint16_t> narrow(x.size());
  kHalvesPerTarget.For(Target::kNeon)().from_float(x.data(), narrow.data(), n, {});
  kHalvesPerTarget.For(Target::kNeon)().to_float(narrow.data(), halves.data(), n, {});
#if defined(__aarch64__)
  for (float& value : expected) value = static_cast<float>(static_cast<__fp16>(value));
#endif
  Compare("float16", draw, halves, expected, 0);
  Both("quantize", draw, 0, [&](Target target) {
    const QuantizeLoops& loops = kQuantizationPerTarget.For(target)();
    std::vector<uint8_t> y(x.size());
    loops.quantize(x.data(), n, 2.5f, 3, 0, 255, y.data());
    Floats back(x.size());
    loops.dequantize_uint8(y.data(), n, 2.5f, 3, back.data());
    return back;
  });
  const Floats low = draw.Many(n + kBoxPadding, 0, 4), high = draw.Many(n + kBoxPadding, 3, 6);
  const Floats area = draw.Many(n + kBoxPadding, 1, 36);
  Both("first overlap", draw, 0, [&](Target target) {
    const BoxColumns boxes = {low.data(), low.data(), high.data(), high.data(), area.data()};
    return std::vector<int64_t>{
        kFirstOverlapPerTarget.For(target)(boxes, {3.5f, 3.5f, 3.6f, 3.6f, 0.01f}, 0, 0, n)};
  });
}

}  // namespace

int main() {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    Elementwise(draw);
    Rows(draw);
    Products(draw);
    Images(draw);
    Conversions(draw);
  }
  std::printf("%d comparisons, %d failed\n", compared, failed);
  return failed == 0 && compared > 0 ? 0 : 1;
}
