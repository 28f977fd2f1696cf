// Ops that move elements, on the emulated device, bit by bit against the CPU provider: drawn dims,
// types and attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/session.h"
#include "tests/emulated_cuda/device.h"
#include "tests/emulated_cuda/device_code.h"
//
#include "kernels/cuda/index_math.cuh"
#include "tests/support/text_model.h"

namespace onward::emulated_cuda {
namespace {

struct ElementType {
  const char* name;  // in ONNX's text syntax
  DType dtype;
};
constexpr ElementType kTypes[] = {{"uint8", DType::kUint8},
                                  {"float16", DType::kFloat16},
                                  {"float", DType::kFloat32},
                                  {"int64", DType::kInt64},
                                  {"complex128", DType::kComplex128}};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t From(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // Small ones, 1 more often than others, some that many elements move at once for.
  int64_t Dim() {
    const int64_t kind = From(0, 9);
    return kind < 2 ? 1 : kind < 3 ? 16 * From(1, 3) : From(kind == 3 ? 0 : 1, 7);
  }
  Dims Shape(int64_t rank) {
    Dims dims;
    for (int64_t i = 0; i < rank; ++i) dims.push_back(Dim());
    return dims;
  }

 private:
  std::mt19937 random_;
};

std::string List(absl::Span<const int64_t> values) { return absl::StrJoin(values, ", "); }

std::string Constant(const char* name, absl::Span<const int64_t> values) {
  return absl::StrCat(name, " = Constant <value_ints = [", List(values), "]> () ");
}

std::string TransposeText(Draw& draw, const Dims& dims) {
  std::vector<int64_t> perm(dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i-- > 1;)
    std::swap(perm[i], perm[static_cast<size_t>(draw.From(0, static_cast<int64_t>(i)))]);
  return absl::StrCat("y = Transpose <perm = [", List(perm), "]> (x)");
}

std::string SliceText(Draw& draw, const Dims& dims) {
  std::vector<int64_t> starts, ends, steps;
  for (const int64_t dim : dims) {
    starts.push_back(draw.From(-dim - 1, dim + 1));
    ends.push_back(draw.From(-dim - 2, dim + 1));
    steps.push_back(draw.From(0, 3) > 0 ? 1 : draw.From(1, 3) * (draw.From(0, 1) == 0 ? 1 : -1));
  }
  return absl::StrCat(Constant("s", starts), Constant("e", ends),
                      dims.size() == 1 ? "a = Constant <value_ints = [0]> () "
                                       : "r = Shape (x) k = Size (r) z = Constant <value_int = 0> "
                                         "() o = Constant <value_int = 1> () a = Range (z, k, o) ",
                      Constant("t", steps), "y = Slice (x, s, e, a, t)");
}

std::string ExpandText(Draw& draw, const Dims& dims) {
  std::vector<int64_t> target;
  if (draw.From(0, 1) == 0) target.push_back(draw.From(1, 3));
  for (const int64_t dim : dims) target.push_back(dim == 1 ? draw.From(1, 5) : dim);
  return absl::StrCat(Constant("s", target), "y = Expand (x, s)");
}

std::string TileText(Draw& draw, const Dims& dims) {
  std::vector<int64_t> repeats;
  for (size_t i = 0; i < dims.size(); ++i)
    repeats.push_back(draw.From(0, 9) == 0 ? 0 : draw.From(1, 3));
  return absl::StrCat(Constant("s", repeats), "y = Tile (x, s)");
}

// Cuts the input, and joins the parts in another order beside the input.
std::string ConcatText(Draw& draw, const Dims& dims) {
  const int64_t axis = draw.From(0, static_cast<int64_t>(dims.size()) - 1);
  const int64_t dim = dims[static_cast<size_t>(axis)];
  const int64_t first = draw.From(0, dim), second = draw.From(0, dim - first);
  return absl::StrCat(Constant("s", {first, second, dim - first - second}),
                      "a, b, c = Split <axis = ", axis, "> (x, s) y = Concat <axis = ", axis,
                      "> (c, x, a, b)");
}

using GraphText = std::string (*)(Draw& draw, const Dims& dims);
struct Op {
  const char* name;
  GraphText text;
};
constexpr Op kOps[] = {{"Transpose", TransposeText},
                       {"Slice", SliceText},
                       {"Expand", ExpandText},
                       {"Tile", TileText},
                       {"Concat", ConcatText}};

Tensor Counted(DType dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  auto* bytes = static_cast<unsigned char*>(tensor.raw_mutable_data());
  for (int64_t i = 0; i < tensor.byte_size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 131 + i / 251);
  return tensor;
}

absl::StatusOr<Tensor> RunOn(const std::string& provider, const std::string& graph,
                             const Tensor& x) {
  auto model = testing::ModelFromText(graph);
  if (!model.ok()) return model.status();
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  options.optimize = false;
  auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return session.status();
  const auto outputs = (*session)->Run({{"x", Value(x)}});
  if (!outputs.ok()) return outputs.status();
  return outputs->at("y").tensor();
}

class MovesTest : public ::testing::TestWithParam<Op> {};

TEST_P(MovesTest, EqualTheCpu) {
  constexpr int kCases = 60;
  for (int i = 0; i < kCases; ++i) {
    const auto seed = static_cast<uint32_t>(i * 7919 + 11);
    Draw draw(seed);
    Configure({.order = i % 2 == 0 ? Order::kLate : Order::kEager});
    const Dims dims = draw.Shape(draw.From(1, 5));
    const ElementType& type = kTypes[draw.From(0, std::size(kTypes) - 1)];
    const std::string graph =
        absl::StrCat("g (", type.name, "[", absl::StrJoin(dims, ", "), "] x) => (", type.name,
                     " y) { ", GetParam().text(draw, dims), " }");
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", graph));
    const Tensor x = Counted(type.dtype, dims);
    const auto expected = RunOn("cpu", graph, x), actual = RunOn("cuda", graph, x);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ(DimsString(actual->dims()), DimsString(expected->dims()));
    EXPECT_TRUE(SameBits(*actual, *expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, MovesTest, ::testing::ValuesIn(kOps),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BlocksTest, EqualTheCpu) {
  Configure({.order = Order::kLate});
  for (const ElementType& type : kTypes) {
    for (const int64_t block : {1, 2, 3}) {
      const Dims deep = {2, 5 * block * block, 3, 4}, wide = {2, 5, 3 * block, 4 * block};
      for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
        for (const char* mode : {"DCR", "CRD"}) {
          const Dims& dims = op[0] == 'D' ? deep : wide;
          const std::string graph = absl::StrCat(
              "g (", type.name, "[", absl::StrJoin(dims, ", "), "] x) => (", type.name,
              " y) { y = ", op, " <blocksize = ", block, ", mode = \"", mode, "\"> (x) }");
          SCOPED_TRACE(graph);
          const Tensor x = Counted(type.dtype, dims);
          const auto expected = RunOn("cpu", graph, x), actual = RunOn("cuda", graph, x);
          ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
          EXPECT_TRUE(SameBits(*actual, *expected));
        }
      }
    }
  }
  Configure({});
}

// More parts than a launch copies, of several sizes; one is empty.
TEST(ManyPartsTest, EqualTheCpu) {
  Configure({.order = Order::kLate});
  for (const ElementType& type : kTypes) {
    std::vector<std::string> parts;
    std::vector<int64_t> sizes;
    int64_t whole = 0;
    for (int64_t i = 0; i < 70; ++i) {
      parts.push_back(absl::StrCat("p", i));
      sizes.push_back(i == 40 ? 0 : 1 + i % 5);
      whole += sizes.back();
    }
    std::vector<std::string> reversed(parts.rbegin(), parts.rend());
    const std::string dims = absl::StrCat(type.name, "[3, ", whole, "]");
    const std::string graph = absl::StrCat(
        "g (", dims, " x) => (", dims, " y) { s = Constant <value_ints = [",
        absl::StrJoin(sizes, ", "), "]> () ", absl::StrJoin(parts, ", "),
        " = Split <axis = 1> (x, s) y = Concat <axis = 1> (", absl::StrJoin(reversed, ", "), ") }");
    SCOPED_TRACE(graph);
    const Tensor x = Counted(type.dtype, {3, whole});
    const auto expected = RunOn("cpu", graph, x), actual = RunOn("cuda", graph, x);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_TRUE(SameBits(*actual, *expected));
  }
  Configure({});
}

TEST(DivisorTest, QuotientsAreExact) {
  std::mt19937 random(5);
  std::vector<uint32_t> divisors = {1,     2,     3,     5,          7,         641,
                                    65535, 65536, 65537, 0x7ffffffe, 0x7fffffff};
  for (int i = 0; i < 2000; ++i)
    divisors.push_back(1 + random() % (1u << (1 + random() % 31)) % 0x7fffffff);
  for (const uint32_t by : divisors) {
    const kernels::cuda::Divisor divisor(by);
    std::vector<uint32_t> numbers = {0, 1, by - 1, by, 0x7ffffffe, 0x7fffffff};
    for (int i = 0; i < 100; ++i) numbers.push_back(random() >> 1);
    for (int i = 0; i < 20; ++i) {
      const auto multiple =
          static_cast<uint32_t>(0x7fffffff / by * uint64_t{by} / (i + 1) / by * by);
      numbers.insert(numbers.end(), {multiple, multiple == 0 ? 0 : multiple - 1});
    }
    for (const uint32_t n : numbers) {
      ASSERT_EQ(divisor.Quotient(n), n / by) << n << " by " << by;
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
