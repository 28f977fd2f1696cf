#include "cli/value_comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "onward/small_float.h"

namespace onward::cli {
namespace {

template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The numbers of a tensor; two for each complex one. Empty: it has none (strings).
std::vector<double> NumbersOf(const Tensor& tensor) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(tensor.num_elements()));
  if (IsSubByte(tensor.dtype())) {
    std::vector<int8_t> codes(static_cast<size_t>(tensor.num_elements()));
    UnpackSubByte(tensor.dtype(), tensor.raw_data(), tensor.num_elements(), codes.data());
    const bool wide = DispatchDType(PackedFloatTypes(), tensor.dtype(), [&](auto tag) {
      typename decltype(tag)::type element;
      for (const int8_t code : codes) {
        element.bits = static_cast<uint8_t>(code);
        numbers.push_back(static_cast<float>(element));
      }
    });
    if (!wide) numbers.assign(codes.begin(), codes.end());
    return numbers;
  }
  using Numbers = Concat<Concat<NumericTypes, Float8Types>, Concat<ComplexTypes, TypeList<bool>>>;
  DispatchDType(Numbers(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& element : tensor.span<T>()) {
      if constexpr (kIsComplex<T>) {
        numbers.push_back(static_cast<double>(element.real()));
        numbers.push_back(static_cast<double>(element.imag()));
      } else {
        numbers.push_back(static_cast<double>(element));
      }
    }
  });
  return numbers;
}

bool IsInexact(DType dtype) {
  return IsFloating(dtype) || dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

std::string PlaceOf(int64_t element, DimsView dims) {
  std::vector<int64_t> place(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    place[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return DimsString(place);
}

class Comparison {
 public:
  explicit Comparison(const ComparisonTolerance& tolerance) : tolerance_(tolerance) {}

  void Add(const Value& value, const Value& reference, const std::string& where) {
    if (!result_.problem.empty()) return;
    const bool sequences = value.is_sequence() && reference.is_sequence();
    if (sequences) return AddSequences(value.sequence(), reference.sequence(), where);
    if (value.is_map() && reference.is_map()) return AddMaps(value.map(), reference.map(), where);
    if (!value.has_value() && !reference.has_value()) return;
    if (value.is_tensor() && reference.is_tensor())
      return AddTensors(value.tensor(), reference.tensor(), where);
    Problem(where, "the values are of other kinds (tensor, sequence, map, none)");
  }

  ValueComparison Finish() {
    if (finite_ > 0) result_.mean_error = error_sum_ / static_cast<double>(finite_);
    const double norms = std::sqrt(norm_) * std::sqrt(reference_norm_);
    if (norms > 0 && error_sum_ > 0) result_.cosine_distance = std::max(0.0, 1 - product_ / norms);
    if (norms == 0 && norm_ != reference_norm_) result_.cosine_distance = 1;
    return std::move(result_);
  }

 private:
  void Problem(const std::string& where, const std::string& what) {
    result_.problem = where.empty() ? what : absl::StrCat(where, ": ", what);
  }

  void AddSequences(const SequenceData& values, const SequenceData& references,
                    const std::string& where) {
    if (values.size() != references.size())
      return Problem(
          where, absl::StrCat("a sequence of ", values.size(), ", reference ", references.size()));
    for (size_t i = 0; i < values.size(); ++i)
      Add(values[i], references[i], absl::StrCat(where, "[", i, "]"));
  }

  void AddMaps(const MapData& values, const MapData& references, const std::string& where) {
    std::visit(
        [&](const auto& map) {
          using Map = std::decay_t<decltype(map)>;
          const Map* other = std::get_if<Map>(&references);
          if (other == nullptr || other->size() != map.size())
            return Problem(where, "the maps have other keys");
          for (const auto& [key, tensor] : map) {
            const auto found = other->find(key);
            if (found == other->end()) return Problem(where, "the maps have other keys");
            Add(tensor, found->second, absl::StrCat(where, "{", key, "}"));
          }
        },
        values);
  }

  void AddTensors(const Tensor& value, const Tensor& reference, const std::string& where) {
    const bool same = value.dtype() == reference.dtype();
    const bool inexact = IsInexact(value.dtype()) && IsInexact(reference.dtype());
    if (!same && !inexact && !(IsInteger(value.dtype()) && IsInteger(reference.dtype())))
      return Problem(where,
                     absl::StrCat("dtype ", std::string(DTypeName(value.dtype())), ", reference ",
                                  std::string(DTypeName(reference.dtype()))));
    if (value.dims() != reference.dims())
      return Problem(where, absl::StrCat("shape ", DimsString(value.dims()), ", reference ",
                                         DimsString(reference.dims())));
    result_.elements += value.num_elements();
    if (value.dtype() == DType::kString) return AddStrings(value, reference, where);
    const std::vector<double> a = NumbersOf(value), b = NumbersOf(reference);
    if (a.size() != b.size()) return Problem(where, "a real and a complex tensor");
    const size_t parts =
        value.num_elements() == 0 ? 1 : a.size() / static_cast<size_t>(value.num_elements());
    for (size_t i = 0; i < a.size(); ++i)
      AddNumbers(a[i], b[i], inexact, [&] {
        return absl::StrCat(where, where.empty() ? "" : " ", "at ",
                            PlaceOf(static_cast<int64_t>(i / parts), value.dims()));
      });
    // Integers that double cannot tell apart.
    if (same && !inexact && result_.beyond == 0 && !SameBits(value, reference)) ++result_.beyond;
  }

  void AddStrings(const Tensor& value, const Tensor& reference, const std::string& where) {
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      if (value.data<std::string>()[i] == reference.data<std::string>()[i]) continue;
      if (result_.beyond++ == 0)
        result_.worst = absl::StrCat(where, where.empty() ? "" : " ", "at ",
                                     PlaceOf(i, value.dims()), ": other strings");
    }
  }

  template <typename Place>
  void AddNumbers(double a, double b, bool inexact, const Place& place) {
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(a)) AddFinite(a, b);
      return;
    }
    const bool finite = std::isfinite(a) && std::isfinite(b);
    const double error = finite ? std::fabs(a - b) : HUGE_VAL;
    const double allowed = inexact ? tolerance_.atol + tolerance_.rtol * std::fabs(b) : 0;
    if (!finite || error > allowed) ++result_.beyond;
    if (error > largest_) {
      largest_ = error;
      result_.worst = absl::StrFormat("%s: %.6g, reference %.6g", place(), a, b);
    }
    if (!finite) return;
    result_.max_error = std::max(result_.max_error, error);
    AddFinite(a, b);
  }

  void AddFinite(double a, double b) {
    ++finite_;
    error_sum_ += std::fabs(a - b);
    product_ += a * b;
    norm_ += a * a;
    reference_norm_ += b * b;
  }

  const ComparisonTolerance tolerance_;
  ValueComparison result_;
  double largest_ = 0, error_sum_ = 0, product_ = 0, norm_ = 0, reference_norm_ = 0;
  int64_t finite_ = 0;
};

}  // namespace

std::string ValueComparison::text() const {
  if (!problem.empty()) return problem;
  std::string text = absl::StrFormat("max error %.3g  mean %.3g  cosine distance %.3g", max_error,
                                     mean_error, cosine_distance);
  if (beyond > 0) absl::StrAppend(&text, "  ", beyond, " of ", elements, " beyond the tolerance");
  if (!worst.empty()) absl::StrAppend(&text, "  (", worst, ")");
  return text;
}

nlohmann::json ValueComparison::json() const {
  return {{"within", within()},
          {"problem", problem},
          {"elements", elements},
          {"beyond", beyond},
          {"max_error", max_error},
          {"mean_error", mean_error},
          {"cosine_distance", cosine_distance},
          {"worst", worst}};
}

ValueComparison CompareValues(const Value& value, const Value& reference,
                              const ComparisonTolerance& tolerance) {
  Comparison comparison(tolerance);
  comparison.Add(value, reference, "");
  return comparison.Finish();
}

}  // namespace onward::cli
