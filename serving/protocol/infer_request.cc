#include "serving/protocol/infer_request.h"

#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"
#include "simdjson.h"

namespace onward::serving {
namespace {

using simdjson::dom::element;

constexpr int kMostNesting = 100;
using Types = Concat<NumericTypes, TypeList<bool, std::string>>;

absl::Status Wrong(const std::string& where, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", std::string(what)));
}

std::string_view KindOf(element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// NaN and the infinities, which are no JSON, become strings.
std::string QuoteNonFinite(std::string_view text) {
  std::string quoted;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      if (text[i] == '\\' && i + 1 < text.size()) quoted.push_back(text[i++]);
      in_string = text[i] != '"';
      quoted.push_back(text[i++]);
      continue;
    }
    std::string_view token;
    for (const std::string_view each : {"NaN", "Infinity", "-Infinity"})
      if (text.substr(i, each.size()) == each) token = each;
    if (!token.empty()) {
      absl::StrAppend(&quoted, "\"", std::string(token), "\"");
      i += token.size();
      continue;
    }
    in_string = text[i] == '"';
    quoted.push_back(text[i++]);
  }
  return quoted;
}

// Writes elements one after the other.
template <typename T>
class Filler {
 public:
  Filler(T* out, int64_t count, std::string where)
      : out_(out), count_(count), where_(std::move(where)) {}

  absl::Status Add(element value, int depth = 0) {
    simdjson::dom::array array;
    if (value.get(array) == simdjson::SUCCESS) {
      if (depth == kMostNesting)
        return Wrong(where_, absl::StrCat("arrays are nested more than ", kMostNesting, " deep"));
      for (const element each : array) ONWARD_RETURN_IF_ERROR(Add(each, depth + 1));
      return absl::OkStatus();
    }
    if (at_ == count_)
      return Wrong(where_, absl::StrCat("there are more elements than the shape's ", count_));
    return Set(value, out_[at_++]);
  }
  int64_t added() const { return at_; }

 private:
  absl::Status Unfit(element value, std::string_view expected) const {
    return Wrong(where_, absl::StrCat("element ", at_ - 1, " is ", std::string(KindOf(value)),
                                      ", expected ", std::string(expected)));
  }

  absl::Status Set(element value, T& out) const {
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
      if (value.get(text) == simdjson::SUCCESS) {
        if (text != "NaN" && !absl::EndsWith(std::string(text), "Infinity"))
          return Unfit(value, "a number");
        number = text == "NaN" ? std::numeric_limits<double>::quiet_NaN()
                               : std::copysign(HUGE_VAL, text[0] == '-' ? -1.0 : 1.0);
      } else if (value.get(number) != simdjson::SUCCESS) {
        return Unfit(value, "a number");
      }
      if constexpr (std::is_same_v<T, double>) {
        out = number;
      } else {
        out = T(static_cast<float>(number));
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetInteger(element value, T& out) const {
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

class RequestReader {
 public:
  explicit RequestReader(std::string_view body) : body_(body) {}

  absl::StatusOr<InferRequest> Read() {
    ONWARD_ASSIGN_OR_RETURN(const element document, Parse());
    simdjson::dom::object object;
    if (document.get(object) != simdjson::SUCCESS)
      return Wrong("the body", absl::StrCat("is ", std::string(KindOf(document)),
                                            ", expected an object with inputs"));
    InferRequest request;
    element value;
    if (object["id"].get(value) == simdjson::SUCCESS) {
      ONWARD_ASSIGN_OR_RETURN(request.id, Text(value, "id"));
    }
    if (object["inputs"].get(value) != simdjson::SUCCESS)
      return Wrong("inputs", "is missing: an array of tensors is expected");
    ONWARD_RETURN_IF_ERROR(ReadInputs(value, request));
    if (object["outputs"].get(value) == simdjson::SUCCESS)
      ONWARD_RETURN_IF_ERROR(ReadOutputs(value, request));
    return request;
  }

 private:
  absl::StatusOr<element> Parse() {
    element document;
    auto error = parser_.parse(body_.data(), body_.size()).get(document);
    if (error != simdjson::SUCCESS &&
        (body_.find("NaN") != body_.npos || body_.find("Infinity") != body_.npos)) {
      const std::string quoted = QuoteNonFinite(body_);
      error = parser_.parse(quoted.data(), quoted.size()).get(document);
    }
    if (error == simdjson::SUCCESS) return document;
    return Wrong("the body", absl::StrCat("is not JSON: ", simdjson::error_message(error)));
  }

  static absl::StatusOr<std::string> Text(element value, const std::string& where) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS)
      return Wrong(where, absl::StrCat("is ", std::string(KindOf(value)), ", expected a string"));
    return std::string(text);
  }

  static absl::StatusOr<simdjson::dom::array> Array(element value, const std::string& where) {
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS)
      return Wrong(where, absl::StrCat("is ", std::string(KindOf(value)), ", expected an array"));
    return array;
  }

  static absl::StatusOr<simdjson::dom::object> Object(element value, const std::string& where) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS)
      return Wrong(where, absl::StrCat("is ", std::string(KindOf(value)), ", expected an object"));
    return object;
  }

  static absl::StatusOr<element> Member(simdjson::dom::object object, const char* name,
                                        const std::string& where) {
    element value;
    if (object[name].get(value) != simdjson::SUCCESS)
      return Wrong(absl::StrCat(where, ".", name), "is missing");
    return value;
  }

  absl::Status ReadInputs(element value, InferRequest& request) {
    ONWARD_ASSIGN_OR_RETURN(const simdjson::dom::array array, Array(value, "inputs"));
    int index = 0;
    for (const element each : array) {
      const std::string where = absl::StrCat("inputs[", index++, "]");
      ONWARD_ASSIGN_OR_RETURN(const simdjson::dom::object object, Object(each, where));
      ONWARD_ASSIGN_OR_RETURN(const element name, Member(object, "name", where));
      ONWARD_ASSIGN_OR_RETURN(const std::string text, Text(name, absl::StrCat(where, ".name")));
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(object, where));
      if (!request.inputs.emplace(text, std::move(tensor)).second)
        return Wrong(absl::StrCat(where, ".name"), absl::StrCat("'", text, "' is given twice"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Dims> ReadShape(simdjson::dom::object object, const std::string& where) {
    ONWARD_ASSIGN_OR_RETURN(const element value, Member(object, "shape", where));
    const std::string at = absl::StrCat(where, ".shape");
    ONWARD_ASSIGN_OR_RETURN(const simdjson::dom::array array, Array(value, at));
    Dims dims;
    int64_t count = 1;
    for (const element each : array) {
      int64_t dim = -1;
      if (each.get(dim) != simdjson::SUCCESS || dim < 0)
        return Wrong(at, absl::StrCat("dim ", dims.size(), " is not a whole number from 0 on"));
      dims.push_back(dim);
      const auto product = CheckedMul(count, dim);
      // An element takes a character at least.
      if (!product || *product > static_cast<int64_t>(body_.size()))
        return Wrong(at, "asks for more elements than the body has room for");
      count = *product;
      if (dims.size() > 64) return Wrong(at, "has more than 64 dims");
    }
    return dims;
  }

  absl::StatusOr<Tensor> ReadTensor(simdjson::dom::object object, const std::string& where) {
    ONWARD_ASSIGN_OR_RETURN(const element datatype, Member(object, "datatype", where));
    const std::string at = absl::StrCat(where, ".datatype");
    ONWARD_ASSIGN_OR_RETURN(const std::string name, Text(datatype, at));
    const std::optional<DType> dtype = DTypeOfDatatype(name);
    if (!dtype)
      return Wrong(at, absl::StrCat("'", name, "' is not one of BOOL, UINT8, UINT16, UINT32, ",
                                    "UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64, "
                                    "BYTES"));
    ONWARD_ASSIGN_OR_RETURN(const Dims dims, ReadShape(object, where));
    ONWARD_ASSIGN_OR_RETURN(const element data, Member(object, "data", where));
    ONWARD_RETURN_IF_ERROR(Array(data, absl::StrCat(where, ".data")).status());
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(*dtype, dims));
    absl::Status status;
    DispatchDType(Types(), *dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Filler<T> filler(tensor.mutable_data<T>(), tensor.num_elements(),
                       absl::StrCat(where, ".data"));
      status = filler.Add(data);
      if (status.ok() && filler.added() != tensor.num_elements())
        status = Wrong(absl::StrCat(where, ".data"),
                       absl::StrCat("there are ", filler.added(), " elements, the shape ",
                                    DimsString(dims), " asks for ", tensor.num_elements()));
    });
    if (!status.ok()) return status;
    return tensor;
  }

  absl::Status ReadOutputs(element value, InferRequest& request) {
    ONWARD_ASSIGN_OR_RETURN(const simdjson::dom::array array, Array(value, "outputs"));
    std::set<std::string> seen;
    for (const element each : array) {
      const std::string where = absl::StrCat("outputs[", request.outputs.size(), "]");
      ONWARD_ASSIGN_OR_RETURN(const simdjson::dom::object object, Object(each, where));
      ONWARD_ASSIGN_OR_RETURN(const element name, Member(object, "name", where));
      ONWARD_ASSIGN_OR_RETURN(std::string text, Text(name, absl::StrCat(where, ".name")));
      if (!seen.insert(text).second)
        return Wrong(absl::StrCat(where, ".name"), absl::StrCat("'", text, "' is asked for twice"));
      request.outputs.push_back(std::move(text));
    }
    return absl::OkStatus();
  }

  std::string_view body_;
  simdjson::dom::parser parser_;
};

}  // namespace

absl::StatusOr<InferRequest> ReadInferRequest(std::string_view body) {
  return RequestReader(body).Read();
}

}  // namespace onward::serving
