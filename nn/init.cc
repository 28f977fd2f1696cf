#include "onward/nn/init.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onward::nn {
namespace {

using Numbers = std::vector<double>;

// Standard distributions differ between libraries; these do not.
double Unit(std::mt19937_64& random) {  // [0, 1)
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

Numbers UniformNumbers(DimsView dims, double low, double high, std::mt19937_64& random) {
  Numbers numbers(static_cast<size_t>(NumElements(dims)));
  for (double& each : numbers) each = low + (high - low) * Unit(random);
  return numbers;
}

// By Box and Muller, two at a time.
Numbers NormalNumbers(DimsView dims, double mean, double deviation, std::mt19937_64& random) {
  Numbers numbers(static_cast<size_t>(NumElements(dims)));
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log(1 - Unit(random)));
    const double angle = 2 * M_PI * Unit(random);
    numbers[i] = mean + radius * std::cos(angle);
    if (i + 1 < numbers.size()) numbers[i + 1] = mean + radius * std::sin(angle);
  }
  return numbers;
}

// x with erf(x) = y for |y| < 1: Winitzki's approximation, then Newton's steps.
double InverseErf(double y) {
  constexpr double kA = 0.147;
  const double log = std::log1p(-y * y), first = 2 / (M_PI * kA) + log / 2;
  double x = std::copysign(std::sqrt(std::sqrt(first * first - log / kA) - first), y);
  for (int i = 0; i < 3; ++i) {
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-x * x);
    if (slope == 0) break;
    x -= (std::erf(x) - y) / slope;
  }
  return x;
}

uint64_t Hash(std::string_view name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Rows of a [rows, columns] matrix, rows <= columns, made orthonormal from the last to the first by
// modified Gram and Schmidt, twice for accuracy.
void Orthonormalise(Numbers& matrix, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    double* row = matrix.data() + i * columns;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < i; ++j) {
        const double* other = matrix.data() + j * columns;
        double product = 0;
        for (int64_t k = 0; k < columns; ++k) product += row[k] * other[k];
        for (int64_t k = 0; k < columns; ++k) row[k] -= product * other[k];
      }
    }
    double norm = 0;
    for (int64_t k = 0; k < columns; ++k) norm += row[k] * row[k];
    for (int64_t k = 0; k < columns; ++k) row[k] /= std::sqrt(norm);
  }
}

double KaimingDeviation(DimsView dims, double a, init::Fan fan, const std::string& nonlinearity) {
  const init::Fans fans = init::FansOf(dims);
  return init::Gain(nonlinearity, a) / std::sqrt(fan == init::Fan::kIn ? fans.in : fans.out);
}

double XavierDeviation(DimsView dims, double gain) {
  const init::Fans fans = init::FansOf(dims);
  return gain * std::sqrt(2 / (fans.in + fans.out));
}

std::string Describe(std::string_view scheme, double a, init::Fan fan, const std::string& kind) {
  return absl::StrCat(std::string(scheme), "(a=", a, fan == init::Fan::kOut ? ", fan_out" : "",
                      kind == "leaky_relu" ? "" : ", " + kind, ")");
}

}  // namespace

Tensor Draw(const Init& init, DType dtype, DimsView dims, uint64_t seed, std::string_view name) {
  const uint64_t hash = Hash(name);
  std::seed_seq words{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                      static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)};
  std::mt19937_64 random(words);
  const Numbers numbers = init.draw(dims, random);
  Tensor tensor(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(numbers.begin(), numbers.end(), tensor.mutable_data<T>(), [](double x) {
      if constexpr (std::is_same_v<T, double>) return x;
      return static_cast<T>(static_cast<float>(x));
    });
  });
  return tensor;
}

namespace init {

Init Constant(double value) {
  return {value == 0   ? "zeros"
          : value == 1 ? "ones"
                       : absl::StrCat("constant(", value, ")"),
          [=](DimsView dims, std::mt19937_64&) {
            return Numbers(static_cast<size_t>(NumElements(dims)), value);
          }};
}

Init Uniform(double low, double high) {
  return {absl::StrCat("uniform(", low, ", ", high, ")"),
          [=](DimsView dims, std::mt19937_64& random) {
            return UniformNumbers(dims, low, high, random);
          }};
}

Init Normal(double mean, double deviation) {
  return {absl::StrCat("normal(", mean, ", ", deviation, ")"),
          [=](DimsView dims, std::mt19937_64& random) {
            return NormalNumbers(dims, mean, deviation, random);
          }};
}

Init TruncatedNormal(double mean, double deviation, double low, double high) {
  return {absl::StrCat("truncated_normal(", mean, ", ", deviation, ", ", low, ", ", high, ")"),
          [=](DimsView dims, std::mt19937_64& random) {
            const double root = deviation * std::sqrt(2.0);
            Numbers numbers = UniformNumbers(dims, std::erf((low - mean) / root),
                                             std::erf((high - mean) / root), random);
            for (double& each : numbers)
              each = std::clamp(mean + root * InverseErf(each), low, high);
            return numbers;
          }};
}

Init XavierUniform(double gain) {
  return {absl::StrCat("xavier_uniform(", gain, ")"), [=](DimsView dims, std::mt19937_64& random) {
            const double bound = std::sqrt(3.0) * XavierDeviation(dims, gain);
            return UniformNumbers(dims, -bound, bound, random);
          }};
}

Init XavierNormal(double gain) {
  return {absl::StrCat("xavier_normal(", gain, ")"), [=](DimsView dims, std::mt19937_64& random) {
            return NormalNumbers(dims, 0, XavierDeviation(dims, gain), random);
          }};
}

Init KaimingUniform(double a, Fan fan, std::string nonlinearity) {
  return {Describe("kaiming_uniform", a, fan, nonlinearity),
          [=](DimsView dims, std::mt19937_64& random) {
            const double bound = std::sqrt(3.0) * KaimingDeviation(dims, a, fan, nonlinearity);
            return UniformNumbers(dims, -bound, bound, random);
          }};
}

Init KaimingNormal(double a, Fan fan, std::string nonlinearity) {
  return {Describe("kaiming_normal", a, fan, nonlinearity),
          [=](DimsView dims, std::mt19937_64& random) {
            return NormalNumbers(dims, 0, KaimingDeviation(dims, a, fan, nonlinearity), random);
          }};
}

Init Orthogonal(double gain) {
  return {absl::StrCat("orthogonal(", gain, ")"), [=](DimsView dims, std::mt19937_64& random) {
            const int64_t rows = dims.empty() ? 1 : dims[0];
            const int64_t columns = rows == 0 ? 0 : NumElements(dims) / rows;
            const int64_t few = std::min(rows, columns), many = std::max(rows, columns);
            const Dims shape = {few, many};
            Numbers matrix = NormalNumbers(shape, 0, 1, random);
            Orthonormalise(matrix, few, many);
            Numbers result(matrix.size());
            for (int64_t i = 0; i < few; ++i) {
              for (int64_t j = 0; j < many; ++j) {
                const int64_t at = rows <= columns ? i * many + j : j * few + i;
                result[static_cast<size_t>(at)] = gain * matrix[static_cast<size_t>(i * many + j)];
              }
            }
            return result;
          }};
}

Init WithZeroRow(Init init, int64_t row) {
  init.description += absl::StrCat(", row ", row, " zero");
  init.draw = [draw = std::move(init.draw), row](DimsView dims, std::mt19937_64& random) {
    Numbers numbers = draw(dims, random);
    const int64_t size = NumElements(dims.subspan(1));
    std::fill_n(numbers.begin() + row * size, size, 0.0);
    return numbers;
  };
  return init;
}

double Gain(std::string_view nonlinearity, double a) {
  for (const char* linear : {"linear", "conv", "conv1d", "conv2d", "conv3d", "sigmoid"}) {
    if (nonlinearity == linear) return 1;
  }
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + a * a));
  if (nonlinearity == "selu") return 0.75;
  return std::numeric_limits<double>::quiet_NaN();
}

Fans FansOf(DimsView dims) {
  if (dims.size() < 2) {
    const double count = static_cast<double>(NumElements(dims));
    return {count, count};
  }
  const double field = static_cast<double>(NumElements(dims.subspan(2)));
  return {static_cast<double>(dims[1]) * field, static_cast<double>(dims[0]) * field};
}

}  // namespace init
}  // namespace onward::nn
