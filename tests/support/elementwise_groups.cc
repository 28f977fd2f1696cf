#include "tests/support/elementwise_groups.h"

#include "absl/strings/str_replace.h"

namespace onward::testing {
namespace {

std::vector<DType> Floats() {
  return {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
}

// Functions of any number.
constexpr char kUnbounded[] =
    "g ({T}[n, m] a) => ({T}[n, m] y) { abs = Abs (a) atan = Atan (a) ceil = Ceil (a) "
    "celu = Celu <alpha = 0.7> (a) cos = Cos (a) elu = Elu <alpha = 0.5> (a) erf = Erf (a) "
    "floor = Floor (a) gelu = Gelu (a) gelu_tanh = Gelu <approximate = \"tanh\"> (a) "
    "hard_sigmoid = HardSigmoid <alpha = 0.3> (a) hard_swish = HardSwish (a) "
    "leaky_relu = LeakyRelu <alpha = 0.2> (a) mish = Mish (a) neg = Neg (a) relu = Relu (a) "
    "round = Round (a) selu = Selu (a) "
    "sigmoid = Sigmoid (a) sign = Sign (a) sin = Sin (a) softplus = Softplus (a) "
    "softsign = Softsign (a) swish = Swish <alpha = 0.7> (a) tanh = Tanh (a) "
    "threshold = ThresholdedRelu <alpha = 0.5> (a) "
    "y = Sum (abs, atan, ceil, celu, cos, elu, erf, floor, gelu, gelu_tanh, hard_sigmoid, "
    "hard_swish, leaky_relu, mish, neg, relu, round, selu, sigmoid, sign, sin, softplus, "
    "softsign, swish, tanh, threshold) }";

// Functions of numbers between 0 and 1.
constexpr char kBounded[] =
    "g ({T}[n, m] a) => ({T}[n, m] y) { b = Sigmoid (a) acos = Acos (b) asin = Asin (b) "
    "asinh = Asinh (b) atanh = Atanh (b) cosh = Cosh (b) exp = Exp (b) log = Log (b) "
    "over = Reciprocal (b) acosh = Acosh (over) sinh = Sinh (b) sqrt = Sqrt (b) tan = Tan (b) "
    "power = Pow (b, a) y = Sum (acos, asin, asinh, atanh, cosh, exp, log, acosh, sinh, sqrt, tan, "
    "power) }";

constexpr char kBinary[] =
    "g ({T}[n, m] a, {T}[m] b, {T}[n, 1] c, {T}[1] d) => ({T}[n, m] y, {T}[n, m] z) {"
    "sum = Add (a, b) difference = Sub (sum, c) product = Mul (difference, d) "
    "quotient = Div (product, a) rest = Mod <fmod = 1> (a, b) "
    "z = Max (rest, quotient, c) least = Min (z, product, d) mean = Mean (least, a, c) "
    "clipped = Clip (mean, d) y = PRelu (clipped, sum) }";

constexpr char kChoices[] =
    "g ({T}[n, m] a, {T}[m] b, bool[n, m] c) => ({T}[n, m] y, bool[n, m] z) {"
    "equal = Equal (a, b) less = Less (a, b) least = LessOrEqual (a, b) more = Greater (a, b) "
    "most = GreaterOrEqual (a, b) p = And (equal, c) q = Or (p, less) r = Xor (q, least) "
    "s = Not (r) t = And (s, more) z = Or (t, most) chosen = Where (z, a, b) "
    "y = Where (c, chosen, a) }";

constexpr char kSpecial[] =
    "g ({T}[n, m] a, {T}[n, m] b) => ({T}[n, m] y) { nan = IsNaN (a) "
    "inf = IsInf <detect_negative = 0> (b) either = Or (nan, inf) y = Where (either, b, a) }";

constexpr char kIntegers[] =
    "g ({T}[n, m] a, {T}[n, m] b) => ({T}[n, m] y) { sum = Add (a, b) quotient = Div (sum, b) "
    "rest = Mod (a, b) difference = Sub (quotient, rest) product = Mul (difference, a) "
    "both = BitwiseAnd (product, a) either = BitwiseOr (both, b) one = BitwiseXor (either, a) "
    "other = BitwiseNot (one) more = Max (other, a) y = Min (more, product) }";

constexpr char kSigned[] =
    "g ({T}[n, m] a) => ({T}[n, m] y) { abs = Abs (a) neg = Neg (abs) sign = Sign (neg) "
    "shrunk = Shrink <bias = 0.25, lambd = 1.5> (sign) y = Mul (shrunk, a) }";

constexpr char kShifts[] =
    "g ({T}[n, m] a, {T}[n, m] b) => ({T}[n, m] y) { left = BitShift <direction = \"LEFT\"> (a, b) "
    "y = BitShift <direction = \"RIGHT\"> (left, b) }";

// From and to each dtype.
constexpr char kCasts[] =
    "g ({T}[n, m] a) => (float[n, m] y, {T}[n, m] z) { d = Cast <to = 11> (a) h = Cast <to = 10> "
    "(d) "
    "b = Cast <to = 16> (h) i = Cast <to = 6> (b) l = Cast <to = 7> (i) s = Cast <to = 3> (l) "
    "u = Cast <to = 2> (s) t = Cast <to = 9> (u) f = Cast <to = 1> (t) y = Add (f, f) "
    "back = CastLike (u, a) z = Max (back, a) }";

constexpr char kGated[] =
    "g ({T}[n, m] a, {T}[n, m] b) => ({T}[n, m] y) { "
    "gated = SwiGLU <alpha = 0.8> (a, b) y = Add (gated, a) }";

// Values that were kept in another dtype than the gradients have.
constexpr char kGradients[] =
    "g ({T}[n, m] a, float[n, m] b, float c, float d) => (float[n, m] y, float[n, m] z) {"
    "relu = onward.ReluGradient (a, b) z = onward.ClipGradient (a, relu, c, d) "
    "above = onward.ClipGradient (a, b, c) below = onward.ClipGradient (a, above, , d) "
    "y = Add (below, z) }";

}  // namespace

const std::vector<ElementwiseGroup>& ElementwiseGroups() {
  static const auto* groups = new std::vector<ElementwiseGroup>{
      {"unbounded", kUnbounded, Floats()},
      {"bounded", kBounded, Floats()},
      {"binary", kBinary, Floats()},
      {"choices", kChoices, {DType::kFloat32, DType::kBFloat16, DType::kInt64}},
      {"special", kSpecial, {DType::kFloat32, DType::kFloat64, DType::kFloat16}},
      {"integers", kIntegers, {DType::kInt8, DType::kInt32, DType::kInt64, DType::kUint8}},
      {"signed", kSigned, {DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat16}},
      {"shifts", kShifts, {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}},
      {"casts", kCasts, {DType::kFloat32, DType::kFloat16, DType::kInt32, DType::kUint8}},
      {"gated", kGated, {DType::kFloat32, DType::kFloat16}},
      {"gradients", kGradients, {DType::kFloat32, DType::kBFloat16}},
  };
  return *groups;
}

std::string TextOf(const ElementwiseGroup& group, DType dtype) {
  std::string name(DTypeName(dtype));
  if (name == "float32") name = "float";
  if (name == "float64") name = "double";
  return absl::StrReplaceAll(group.text, {{"{T}", name}});
}

}  // namespace onward::testing
