#include "onward/dim.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace onward {
namespace {

std::string Canonical(const std::string& text) { return ParseDim(text).ToString(); }

TEST(Dim, CanonicalForm) {
  EXPECT_EQ(Canonical("past+1"), "past + 1");
  EXPECT_EQ(Canonical("1 + past"), "past + 1");
  EXPECT_EQ(Canonical("2 * (height)"), "2*height");
  EXPECT_EQ(Canonical("height + height"), "2*height");
  EXPECT_EQ(Canonical("(height + 1) / 2"), "(height + 1)/2");
  EXPECT_EQ(Canonical("(height + 1)//2"), "(height + 1)/2");
  EXPECT_EQ(Canonical("floor(height/2 + 1/2)"), "height/2");  // 1/2 alone is 0
  EXPECT_EQ(Canonical("batch*seq - seq*batch"), "0");
  EXPECT_EQ(Canonical("b*(s + 1)"), "b*s + b");
  EXPECT_EQ(Canonical("s0**2"), "s0*s0");
  EXPECT_EQ(Canonical("3 - past"), "3 - past");
  EXPECT_EQ(Canonical("7"), "7");
  EXPECT_EQ(Canonical("-7"), "-7");
}

TEST(Dim, NamesThatAreNoExpression) {
  EXPECT_EQ(Canonical("batch size"), "`batch size`");
  EXPECT_EQ(Canonical("3x"), "`3x`");
  EXPECT_EQ(Canonical("f(x)"), "`f(x)`");
  EXPECT_EQ(Canonical("`batch size` + 1"), "`batch size` + 1");
  EXPECT_EQ(SymbolDim("a-b").ToString(), "`a-b`");
  EXPECT_EQ(DimSymbols(DimAdd(SymbolDim("a`b"), Dim(1))), std::vector<std::string>{"a`b"});
  EXPECT_EQ(Canonical(std::string(5000, '(')).front(), '`');
}

TEST(Dim, DivisionSimplifies) {
  const Dim h = SymbolDim("h");
  const Dim b = SymbolDim("b");
  EXPECT_EQ(DimFloorDiv(DimMul(h, Dim(4)), Dim(2)).ToString(), "2*h");
  EXPECT_EQ(DimFloorDiv(DimAdd(DimMul(h, Dim(4)), Dim(3)), Dim(2)).ToString(), "2*h + 1");
  EXPECT_EQ(DimFloorDiv(DimMul(b, h), b).ToString(), "h");
  EXPECT_EQ(DimFloorDiv(DimFloorDiv(h, Dim(2)), Dim(3)).ToString(), "h/6");
  // Two convolutions of stride 2: floor((floor((h - 1)/2) + 1 - 1)/2) + 1.
  const Dim once = DimAdd(DimFloorDiv(DimSub(h, Dim(1)), Dim(2)), Dim(1));
  const Dim twice = DimAdd(DimFloorDiv(DimSub(once, Dim(1)), Dim(2)), Dim(1));
  EXPECT_EQ(twice.ToString(), "(h + 3)/4");
  EXPECT_TRUE(DimFloorDiv(h, Dim(0)).unknown());
  // A sum as divisor.
  const Dim sum = DimAdd(h, b);
  EXPECT_EQ(DimFloorDiv(DimMul(sum, DimMul(b, Dim(3))), sum).ToString(), "3*b");
}

TEST(Dim, MinMaxAndBroadcast) {
  const Dim past = SymbolDim("past");
  EXPECT_EQ(DimMax(DimAdd(past, Dim(1)), past).ToString(), "past + 1");
  EXPECT_EQ(DimMin(DimAdd(past, Dim(1)), past).ToString(), "past");
  EXPECT_EQ(DimMin(past, Dim(1024)).ToString(), "min(1024, past)");
  EXPECT_EQ(DimBroadcast(past, Dim(1)).ToString(), "past");
  EXPECT_EQ(DimBroadcast(Dim(1), past).ToString(), "past");
  EXPECT_EQ(DimBroadcast(past, Dim(8)).ToString(), "8");
  const Dim floor = DimMax(DimSub(past, Dim(1)), Dim(0));
  EXPECT_EQ(DimMax(floor, Dim(0)), floor);
  const Dim third = DimFloorDiv(DimMax(past, SymbolDim("s")), Dim(3));
  EXPECT_EQ(DimMax(third, past).ToString(), "max(max(past, s)/3, past)");
  const Dim both = DimBroadcast(past, SymbolDim("s"));
  EXPECT_EQ(both.ToString(), "broadcast(past, s)");
  EXPECT_EQ(DimBroadcast(both, past), both);
  EXPECT_EQ(DimBroadcast(SymbolDim("s"), both), both);
  EXPECT_EQ(DimBroadcast(DimMin(past, Dim(512)), past), past);
  EXPECT_TRUE(DimAtLeast(past, Dim(0)));
  EXPECT_FALSE(DimAtLeast(past, Dim(1)));
}

TEST(Dim, DeepNestingTakesNoTime) {
  Dim dim = SymbolDim("s");
  for (int i = 0; i < 200; ++i) {
    const Dim other = SymbolDim(absl::StrCat("t", i));
    Dim next = i % 2 == 0 ? DimMin(DimFloorDiv(dim, Dim(2)), other) : DimBroadcast(dim, other);
    if (!next.unknown()) dim = std::move(next);
    if (i % 50 == 49) dim = DimAdd(dim, Dim(1));
  }
  EXPECT_EQ(ParseDim(dim.ToString()), dim);
  std::string text = "s";
  for (int i = 0; i < 200; ++i) text = absl::StrCat("max(", text, ", t", i, ")");
  EXPECT_TRUE(ParseDim(text).symbolic());
}

TEST(Dim, QuotedNamesInsideFunctions) {
  const Dim odd = SymbolDim("a + (b");
  const Dim dim =
      DimMin(DimFloorDiv(DimAdd(DimMul(odd, Dim(3)), Dim(1)), Dim(2)), SymbolDim("c/d"));
  EXPECT_EQ(ParseDim(dim.ToString()), dim);
  EXPECT_EQ(DimSymbols(dim), (std::vector<std::string>{"a + (b", "c/d"}));
  const auto lookup = [](std::string_view name) -> std::optional<int64_t> {
    return name == "c/d" ? 100 : 5;
  };
  EXPECT_EQ(EvaluateDim(dim, lookup), 8);
}

TEST(Dim, UnknownAndOverflow) {
  EXPECT_TRUE(DimAdd(Dim(), Dim(1)).unknown());
  EXPECT_TRUE(DimMul(Dim(int64_t{1} << 40), Dim(int64_t{1} << 40)).unknown());
  EXPECT_EQ(DimNumber(NumberDim(-5)), -5);
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(DimNumber(NumberDim(lowest)), lowest);
  EXPECT_EQ(DimNumber(DimSub(SymbolDim("a"), Dim(1))), std::nullopt);
}

int64_t FloorDivReference(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  if (quotient * b > a) --quotient;  // b > 0
  return quotient;
}

// Random expressions: built by Dim arithmetic and by plain integers side by side.
struct Pair {
  Dim dim;
  std::function<int64_t(const std::map<std::string, int64_t>&)> value;
};

Pair RandomExpression(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) {
    if (pick(2) == 0) {
      const int64_t number = pick(6);
      return {Dim(number), [number](const auto&) { return number; }};
    }
    const std::string name = std::string(1, static_cast<char>('a' + pick(3)));
    return {SymbolDim(name), [name](const auto& values) { return values.at(name); }};
  }
  const Pair x = RandomExpression(random, depth - 1);
  const Pair y = RandomExpression(random, pick(depth));
  const int64_t divisor = 1 + pick(4);
  switch (pick(7)) {
    case 0:
      return {DimAdd(x.dim, y.dim), [=](const auto& v) { return x.value(v) + y.value(v); }};
    case 1:
      return {DimSub(x.dim, y.dim), [=](const auto& v) { return x.value(v) - y.value(v); }};
    case 2:
      return {DimMul(x.dim, y.dim), [=](const auto& v) { return x.value(v) * y.value(v); }};
    case 3:
      return {DimFloorDiv(x.dim, Dim(divisor)),
              [=](const auto& v) { return FloorDivReference(x.value(v), divisor); }};
    case 4:
      return {DimMin(x.dim, y.dim),
              [=](const auto& v) { return std::min(x.value(v), y.value(v)); }};
    case 5:
      return {DimMax(x.dim, y.dim),
              [=](const auto& v) { return std::max(x.value(v), y.value(v)); }};
    default:
      return {DimCeilDiv(x.dim, Dim(divisor)),
              [=](const auto& v) { return -FloorDivReference(-x.value(v), divisor); }};
  }
}

TEST(Dim, ArithmeticAgreesWithIntegers) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  int evaluated = 0;
  for (int round = 0; round < 2000; ++round) {
    const Pair pair = RandomExpression(random, 1 + static_cast<int>(random() % 4));
    if (pair.dim.unknown()) continue;  // grew beyond use
    EXPECT_EQ(ParseDim(pair.dim.ToString()), pair.dim) << "printing and parsing";
    for (int i = 0; i < 4; ++i) {
      const std::map<std::string, int64_t> values = {
          {"a", random() % 9}, {"b", random() % 9}, {"c", random() % 9}};
      const auto lookup = [&](std::string_view name) -> std::optional<int64_t> {
        return values.at(std::string(name));
      };
      ASSERT_EQ(EvaluateDim(pair.dim, lookup), pair.value(values)) << pair.dim.ToString();
      ++evaluated;
    }
  }
  EXPECT_GT(evaluated, 4000);
}

}  // namespace
}  // namespace onward
