#include "serving/protocol/json_tensor.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

constexpr int kMostNesting = 100;
using Types = Concat<NumericTypes, TypeList<bool, std::string>>;

// Writes elements one after the other.
template <typename T>
class Filler {
 public:
  Filler(T* out, int64_t count, std::string where)
      : out_(out), count_(count), where_(std::move(where)) {}

  absl::Status Add(JsonElement value, int depth = 0) {
    if (value.type() == simdjson::dom::element_type::ARRAY) {
      if (depth == kMostNesting)
        return Wrong(where_, absl::StrCat("arrays are nested more than ", kMostNesting, " deep"));
      for (const JsonElement each : JsonArray(value)) ONWARD_RETURN_IF_ERROR(Add(each, depth + 1));
      return absl::OkStatus();
    }
    if (at_ == count_)
      return Wrong(where_, absl::StrCat("there are more elements than the shape's ", count_));
    return Set(value, out_[at_++]);
  }
  int64_t added() const { return at_; }

 private:
  absl::Status Unfit(JsonElement value, std::string_view expected) const {
    return Wrong(where_, absl::StrCat("element ", at_ - 1, " is ", std::string(KindOf(value)),
                                      ", expected ", std::string(expected)));
  }

  absl::Status Set(JsonElement value, T& out) const {
    if constexpr (std::is_same_v<T, std::string>) {
      std::string_view text;
      if (value.get(text) != simdjson::SUCCESS) return Unfit(value, "a string");
      out = std::string(text);
    } else if constexpr (std::is_same_v<T, bool>) {
      uint64_t number = 2;
      if (value.get(out) == simdjson::SUCCESS) return absl::OkStatus();
      if (value.get(number) != simdjson::SUCCESS || number > 1)
        return Unfit(value, "true or false");
      out = number == 1;
    } else if constexpr (std::is_integral_v<T>) {
      return SetInteger(value, out);
    } else {
      double number = 0;
      std::string_view text;
      if (value.get(number) != simdjson::SUCCESS) {
        if (value.get(text) != simdjson::SUCCESS) return Unfit(value, "a number");
        if (text != "NaN" && !absl::EndsWith(std::string(text), "Infinity"))
          return Unfit(value, "a number");
        number = text == "NaN" ? std::numeric_limits<double>::quiet_NaN()
                               : std::copysign(HUGE_VAL, text[0] == '-' ? -1.0 : 1.0);
      }
      if constexpr (std::is_same_v<T, double>) {
        out = number;
      } else {
        out = T(static_cast<float>(number));
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetInteger(JsonElement value, T& out) const {
    int64_t number = 0;
    uint64_t large = 0;
    double real = 0;
    if (value.get(number) == simdjson::SUCCESS) {
      if (!std::in_range<T>(number)) return OutOfRange(absl::StrCat(number));
      out = static_cast<T>(number);
    } else if (value.get(large) == simdjson::SUCCESS) {
      if (!std::in_range<T>(large)) return OutOfRange(absl::StrCat(large));
      out = static_cast<T>(large);
    } else if (value.get(real) == simdjson::SUCCESS) {
      if (real != std::floor(real)) return Unfit(value, "a whole number");
      if (std::abs(real) > 9007199254740992.0 || !std::in_range<T>(static_cast<int64_t>(real)))
        return OutOfRange(absl::StrCat(real));
      out = static_cast<T>(static_cast<int64_t>(real));
    } else {
      return Unfit(value, "a whole number");
    }
    return absl::OkStatus();
  }

  absl::Status OutOfRange(const std::string& number) const {
    return Wrong(where_, absl::StrCat("element ", at_ - 1, " is ", number,
                                      ", which the datatype cannot hold"));
  }

  T* out_;
  const int64_t count_;
  const std::string where_;
  int64_t at_ = 0;
};

}  // namespace

absl::Status ReadJsonData(JsonElement data, const std::string& where, Tensor& tensor) {
  ONWARD_RETURN_IF_ERROR(ArrayOf(data, where).status());
  absl::Status status;
  DispatchDType(Types(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    Filler<T> filler(tensor.mutable_data<T>(), tensor.num_elements(), where);
    status = filler.Add(data);
    if (status.ok() && filler.added() != tensor.num_elements())
      status = Wrong(where,
                     absl::StrCat("there are ", filler.added(), " elements, the shape ",
                                  DimsString(tensor.dims()), " asks for ", tensor.num_elements()));
  });
  return status;
}

}  // namespace onward::serving
