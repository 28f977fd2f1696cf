#include "onward/tensor_text.h"

#include <algorithm>
#include <charconv>
#include <complex>
#include <ostream>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward {
namespace {

template <typename T>
std::string Shortest(T value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <typename T>
std::string NumberText(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"");
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    return Shortest(value);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    const std::string imaginary = Shortest(value.imag());
    return absl::StrCat(Shortest(value.real()), imaginary[0] == '-' ? "" : "+", imaginary, "j");
  } else {
    return absl::StrCat(static_cast<float>(value));  // six digits tell all of 16 bits apart
  }
}

template <typename T>
std::string CodeText(uint8_t code) {
  T value;
  value.bits = code;
  return NumberText(value);
}

// Eight elements of a packed type take as many bytes as one has bits.
std::string PackedText(const Tensor& tensor, int64_t index) {
  const int64_t first = index / 8 * 8;
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data()) +
                      first / 8 * static_cast<int64_t>(BitSize(tensor.dtype()));
  int8_t codes[8];
  UnpackSubByte(tensor.dtype(), bytes, std::min<int64_t>(8, tensor.num_elements() - first), codes);
  const int8_t code = codes[index - first];
  switch (tensor.dtype()) {
    case DType::kFloat4E2M1:
      return CodeText<Float4E2M1>(static_cast<uint8_t>(code));
    case DType::kFloat6E2M3:
      return CodeText<Float6E2M3>(static_cast<uint8_t>(code));
    case DType::kFloat6E3M2:
      return CodeText<Float6E3M2>(static_cast<uint8_t>(code));
    default:
      return absl::StrCat(static_cast<int>(code));
  }
}

using Unpacked =
    Concat<Concat<NumericTypes, Float8Types>, Concat<ComplexTypes, TypeList<bool, std::string>>>;

std::string ElementText(const Tensor& tensor, int64_t index) {
  if (IsSubByte(tensor.dtype())) return PackedText(tensor, index);
  std::string text;
  DispatchDType(Unpacked(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    text = NumberText(tensor.data<T>()[index]);
  });
  return text;
}

// In characters of UTF-8.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class TensorWriter {
 public:
  TensorWriter(const Tensor& tensor, const TensorTextOptions& options)
      : tensor_(tensor),
        edge_(tensor.num_elements() > options.most ? std::max<int64_t>(options.edge, 1)
                                                   : tensor.num_elements()) {}

  std::string Write() {
    Visit(0, 0, [this](int64_t index) {
      texts_.push_back(ElementText(tensor_, index));
      width_ = std::max(width_, Width(texts_.back()));
    });
    WriteAxis(0);
    return std::move(out_);
  }

 private:
  // The places of an axis that are shown; -1: those that are left out.
  std::vector<int64_t> Shown(int64_t axis) const {
    const int64_t size = tensor_.dims()[static_cast<size_t>(axis)];
    std::vector<int64_t> places;
    for (int64_t i = 0; i < size; ++i) {
      if (i == edge_ && size > 2 * edge_) {
        places.push_back(-1);
        i = size - edge_;
      }
      places.push_back(i);
    }
    return places;
  }

  template <typename F>
  void Visit(int64_t axis, int64_t index, const F& f) const {
    if (axis == tensor_.rank()) return f(index);
    for (const int64_t place : Shown(axis))
      if (place >= 0) Visit(axis + 1, index * tensor_.dims()[static_cast<size_t>(axis)] + place, f);
  }

  void WriteAxis(int64_t axis) {
    if (axis == tensor_.rank()) {
      const std::string& text = texts_[next_++];
      out_.append(width_ - Width(text), ' ').append(text);
      return;
    }
    const bool innermost = axis + 1 == tensor_.rank();
    const std::string separator =
        innermost ? ", " : ",\n" + std::string(static_cast<size_t>(axis) + 1, ' ');
    out_ += "[";
    bool first = true;
    for (const int64_t place : Shown(axis)) {
      if (!std::exchange(first, false)) out_ += separator;
      if (place < 0) {
        out_ += "...";
      } else {
        WriteAxis(axis + 1);
      }
    }
    out_ += "]";
  }

  const Tensor& tensor_;
  const int64_t edge_;
  std::vector<std::string> texts_;  // of the elements that are shown, in their order
  size_t width_ = 0, next_ = 0;
  std::string out_;
};

}  // namespace

std::string TensorText(const Tensor& tensor, const TensorTextOptions& options) {
  if (tensor.empty()) return "no tensor";
  const bool none = tensor.num_elements() == 0;
  const std::string type =
      absl::StrCat(std::string(DTypeName(tensor.dtype())), DimsString(tensor.dims()));
  return absl::StrCat(type, tensor.rank() > 1 && !none ? "\n" : " ",
                      none ? "[]" : TensorWriter(tensor, options).Write());
}

std::string ValueText(const Value& value, const TensorTextOptions& options) {
  if (!value.has_value()) return "none";
  if (value.is_tensor()) return TensorText(value.tensor(), options);
  std::vector<std::string> parts;
  if (value.is_sequence()) {
    for (const Value& each : value.sequence()) parts.push_back(ValueText(each, options));
    return absl::StrCat("[", absl::StrJoin(parts, ",\n "), "]");
  }
  std::visit(
      [&](const auto& map) {
        for (const auto& [key, tensor] : map)
          parts.push_back(absl::StrCat(NumberText(key), ": ", TensorText(tensor, options)));
      },
      value.map());
  return absl::StrCat("{", absl::StrJoin(parts, ",\n "), "}");
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << TensorText(tensor);
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << ValueText(value); }

}  // namespace onward
