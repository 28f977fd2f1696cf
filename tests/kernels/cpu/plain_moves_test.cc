// Portable kernels that move elements by pieces, on inputs long enough to meet all of them, against
// plain definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernels.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectKernels;

Tensor SparseBools(DimsView dims, unsigned one_in, std::mt19937& random) {
  Tensor x(DType::kBool, dims);
  for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<bool>()[i] = random() % one_in == 0;
  return x;
}

TEST(PlainMoves, PlacesOfManyElements) {
  std::mt19937 random(3);
  for (const auto& dims : std::vector<Dims>{
           {100000}, {3, 40000}, {300, 7, 51}, {70000, 1}, {33, 1000}, {2, 3, 4, 5000}}) {
    for (const unsigned one_in : {1u, 2u, 900u}) {
      SCOPED_TRACE(absl::StrCat(dims.size(), " axes, one in ", one_in));
      const Tensor x = SparseBools(dims, one_in, random);
      std::vector<std::vector<int64_t>> places(dims.size());
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        if (!x.data<bool>()[i]) continue;
        int64_t rest = i;
        for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
          places[axis].push_back(rest % dims[axis]);
      }
      const auto found = static_cast<int64_t>(places[0].size());
      std::vector<int64_t> all;
      for (const auto& row : places) all.insert(all.end(), row.begin(), row.end());
      Tensor floats(DType::kFloat32, dims);
      for (int64_t i = 0; i < x.num_elements(); ++i)
        floats.mutable_data<float>()[i] = x.data<bool>()[i] ? -1.5f : -0.0f;
      OpCase c;
      c.op = "NonZero";
      c.expected = {Tensor::Of<int64_t>({static_cast<int64_t>(dims.size()), found}, all)};
      for (const Tensor& in : {x, floats}) {
        c.inputs = {in};
        ExpectKernels(c);
      }
    }
  }
}

// Numbers 0, 1, ... of the dtype, which has one element a number.
Tensor Numbered(DType dtype, DimsView dims) {
  Tensor x(dtype, dims);
  DispatchDType(TypeList<uint8_t, int16_t, float, double>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<T>()[i] = static_cast<T>(i);
  });
  return x;
}

constexpr DType kWidths[] = {DType::kUint8, DType::kInt16, DType::kFloat32, DType::kFloat64};

void CopyElement(const Tensor& from, int64_t at, Tensor& to, int64_t where) {
  const auto size = static_cast<size_t>(ByteSize(from.dtype(), 1));
  std::memcpy(static_cast<char*>(to.view().data) + static_cast<size_t>(where) * size,
              static_cast<const char*>(from.raw_data()) + static_cast<size_t>(at) * size, size);
}

TEST(PlainMoves, TransposedMatrices) {
  std::mt19937 random(4);
  for (const DType dtype : kWidths) {
    for (int trial = 0; trial < 40; ++trial) {
      const int64_t batch = 1 + static_cast<int64_t>(random() % 3);
      const int64_t rows = 1 + static_cast<int64_t>(random() % (trial % 2 == 0 ? 9 : 80)),
                    columns = 1 + static_cast<int64_t>(random() % (trial % 5 == 0 ? 40000 : 150));
      for (const bool wide : {false, true}) {
        const int64_t m = wide ? rows : columns, n = wide ? columns : rows;
        SCOPED_TRACE(absl::StrCat(std::string(DTypeName(dtype)), " ", batch, " ", m, " ", n));
        const Tensor x = Numbered(dtype, {batch, m, n});
        Tensor y(dtype, {batch, n, m});
        for (int64_t i = 0; i < batch * m * n; ++i)
          CopyElement(x, i, y, i / (m * n) * m * n + i % n * m + i / n % m);
        OpCase c;
        c.op = "Transpose";
        c.attributes = {{"perm", std::vector<int64_t>{0, 2, 1}}};
        c.inputs = {x};
        c.expected = {y};
        ExpectKernels(c);
      }
    }
  }
}

TEST(PlainMoves, PartsOfShortRows) {
  std::mt19937 random(5);
  for (const DType dtype : kWidths) {
    for (int trial = 0; trial < 20; ++trial) {
      const int64_t rows = 1 + static_cast<int64_t>(random() % 5000);
      std::vector<int64_t> widths(1 + random() % 5);
      int64_t row = 0;
      for (int64_t& width : widths) {
        width = static_cast<int64_t>(random() % (trial % 4 == 0 ? 40 : 6));
        row += width;
      }
      SCOPED_TRACE(absl::StrCat(std::string(DTypeName(dtype)), " ", rows, " rows of ", row));
      OpCase concat, split;
      const Tensor whole = Numbered(dtype, {rows, row});
      int64_t start = 0;
      for (const int64_t width : widths) {
        Tensor part(dtype, {rows, width});
        for (int64_t i = 0; i < rows * width; ++i)
          CopyElement(whole, i / width * row + start + i % width, part, i);
        start += width;
        concat.inputs.push_back(part);
      }
      concat.op = "Concat";
      concat.attributes = {{"axis", int64_t{1}}};
      concat.expected = {whole};
      ExpectKernels(concat);
      split.op = "Split";
      split.attributes = concat.attributes;
      split.inputs = {whole, Tensor::Of<int64_t>({static_cast<int64_t>(widths.size())}, widths)};
      split.expected = concat.inputs;
      ExpectKernels(split);
    }
  }
}

TEST(PlainMoves, OneHotOfAnyAxis) {
  for (const auto& [outer, depth, inner] : std::vector<std::array<int64_t, 3>>{
           {1, 70, 1000}, {3, 200, 300}, {2000, 30, 1}, {5, 1, 7}, {1, 100000, 2}}) {
    SCOPED_TRACE(absl::StrCat(outer, " ", depth, " ", inner));
    std::mt19937 random(6);
    Tensor indices(DType::kInt64, {outer, inner}), y(DType::kFloat32, {outer, depth, inner});
    std::fill_n(y.mutable_data<float>(), y.num_elements(), -1.0f);
    for (int64_t i = 0; i < outer * inner; ++i) {
      const int64_t index = static_cast<int64_t>(random() % (3 * depth)) - 3 * depth / 2;
      indices.mutable_data<int64_t>()[i] = index;
      if (index < -depth || index >= depth) continue;
      const int64_t at = index < 0 ? index + depth : index;
      y.mutable_data<float>()[(i / inner * depth + at) * inner + i % inner] = 2.0f;
    }
    OpCase c;
    c.op = "OneHot";
    c.attributes = {{"axis", int64_t{1}}};
    c.inputs = {indices, Tensor::Scalar<int64_t>(depth), Tensor::Of<float>({2}, {-1, 2})};
    c.expected = {y};
    ExpectKernels(c);
  }
}

}  // namespace
}  // namespace onward::kernels
