// Shape, Size, Constant, ConstantOfShape, Range, EyeLike.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/constant_of_shape.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/packed.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Outputs are known from dims: Bind writes them.
class KnownFromDims : public Kernel {
 public:
  absl::Status Run(RunContext&) const override { return absl::OkStatus(); }
};

class Shape : public KnownFromDims {
 public:
  Shape(int64_t start, int64_t end) : start_(start), end_(end) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t start = Clamp(start_, rank), end = Clamp(end_, rank);
    const int64_t count[1] = {std::max<int64_t>(0, end - start)};
    int64_t* value = context.SetOutputValue(0, count);
    for (int64_t i = 0; i < count[0]; ++i) value[i] = dims[static_cast<size_t>(start + i)];
    return absl::OkStatus();
  }

 private:
  static int64_t Clamp(int64_t at, int64_t rank) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  }
  int64_t start_, end_;
};

class Size : public KnownFromDims {
 public:
  absl::Status Bind(BindContext& context) const override {
    const int64_t count = NumElements(context.input_dims(0));
    *context.SetOutputValue(0, {}) = count;
    return absl::OkStatus();
  }
};

class Constant : public Kernel {
 public:
  explicit Constant(Tensor value) : value_(std::move(value)) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, value_.dims());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    CopyElements(value_.view(), context.output(0));
    return absl::OkStatus();
  }

 private:
  Tensor value_;
};

// Writes element 0 of `value` to every element of the output.
class ConstantOfShape : public Kernel {
 public:
  explicit ConstantOfShape(Tensor value) : value_(std::move(value)) {}
  absl::Status Bind(BindContext& context) const override {
    return BindConstantOfShape(context, value_.dtype());
  }
  absl::Status Run(RunContext& context) const override {
    DispatchElement(value_.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = context.out<T>(0);
      const T& value = *value_.data<T>();
      context.ParallelFor(
          context.output(0).num_elements(), CopyGrain<T>(),
          [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
    });
    return absl::OkStatus();
  }

 private:
  Tensor value_;
};

template <typename T>
class Range : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    for (int i = 0; i < 3; ++i) {
      if (NumElements(context.input_dims(i)) != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " must be a scalar, its shape is ", DimsString(context.input_dims(i))));
      }
    }
    const TensorView* values[3];
    for (int i = 0; i < 3; ++i) {
      values[i] = context.input_value(i);
      if (values[i] == nullptr) return context.Defer();
    }
    const T start = *values[0]->as<T>(), limit = *values[1]->as<T>(), delta = *values[2]->as<T>();
    if (delta == T(0)) return absl::InvalidArgumentError("delta is 0");
    ONWARD_ASSIGN_OR_RETURN(const int64_t count, Count(start, limit, delta));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(kDTypeOf<T>, {count}).status());
    context.SetOutput(0, {count});
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    T* out = context.out<T>(0);
    const int64_t count = context.output(0).num_elements();
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      const auto start = static_cast<U>(*context.in<T>(0));
      const auto delta = static_cast<U>(*context.in<T>(2));
      for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(static_cast<U>(start + static_cast<U>(i) * delta));
    } else {
      const double start = *context.in<T>(0), delta = *context.in<T>(2);
      for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(start + static_cast<double>(i) * delta);
    }
    return absl::OkStatus();
  }

 private:
  // max(ceil((limit - start) / delta), 0)
  static absl::StatusOr<int64_t> Count(T start, T limit, T delta) {
    if constexpr (std::is_integral_v<T>) {
      const bool up = delta > 0;
      if (up ? start >= limit : start <= limit) return 0;
      const uint64_t low = static_cast<uint64_t>(up ? start : limit);
      const uint64_t span = static_cast<uint64_t>(up ? limit : start) - low;
      const uint64_t step = up ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
      const uint64_t count = span / step + (span % step != 0 ? 1 : 0);
      if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return absl::InvalidArgumentError("the range has too many elements");
      return static_cast<int64_t>(count);
    } else {
      const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                     static_cast<double>(delta));
      if (std::isnan(count) || count > 9e15)
        return absl::InvalidArgumentError(
            absl::StrCat("no range from ", static_cast<double>(start), " to ",
                         static_cast<double>(limit), " in steps of ", static_cast<double>(delta)));
      return static_cast<int64_t>(std::max(count, 0.0));
    }
  }
};

class EyeLike : public Kernel {
 public:
  EyeLike(DType dtype, int64_t k) : one_(dtype, Dims{}), k_(k) {
    DispatchDType(Types(), dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *one_.template mutable_data<T>() = T(1);
    });
  }
  using Types = Concat<NumericTypes, TypeList<bool>>;
  absl::Status Bind(BindContext& context) const override {
    if (context.input_dims(0).size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("the input must be a matrix, its shape is ",
                                                     DimsString(context.input_dims(0))));
    }
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    const int64_t rows = out.dim(0), columns = out.dim(1);
    if (out.byte_size() > 0) std::memset(out.data, 0, static_cast<size_t>(out.byte_size()));
    const int64_t size = ElementStride(out.dtype);
    for (int64_t r = 0; r < rows; ++r) {
      // Compared without adding, for k may be any int64.
      if (k_ < -r || k_ >= columns - r) continue;
      std::memcpy(out.as<char>() + (r * columns + r + k_) * size, one_.raw_data(),
                  static_cast<size_t>(size));
    }
    return absl::OkStatus();
  }

 private:
  Tensor one_;
  int64_t k_;
};

Made MakeShape(const NodeSpec& spec) {
  return std::make_unique<Shape>(spec.attributes().Int("start", 0),
                                 spec.attributes().Int("end", std::numeric_limits<int64_t>::max()));
}

Made MakeSize(const NodeSpec&) { return std::make_unique<Size>(); }

absl::StatusOr<Tensor> ConstantValue(const Attributes& attributes) {
  if (const Tensor* value = attributes.TensorOrNull("value")) return *value;
  for (const auto& [name, attribute] : attributes.map()) {
    if (const auto* number = std::get_if<float>(&attribute)) return Tensor::Scalar(*number);
    if (const auto* number = std::get_if<int64_t>(&attribute)) return Tensor::Scalar(*number);
    if (const auto* text = std::get_if<std::string>(&attribute)) return Tensor::Scalar(*text);
    const auto list = [](const auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      return Tensor::Of<T>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values));
    };
    if (const auto* values = std::get_if<std::vector<float>>(&attribute)) return list(*values);
    if (const auto* values = std::get_if<std::vector<int64_t>>(&attribute)) return list(*values);
    if (const auto* values = std::get_if<std::vector<std::string>>(&attribute))
      return list(*values);
  }
  return absl::UnimplementedError("a constant without value, or with a sparse one");
}

Made MakeConstant(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Tensor value, ConstantValue(spec.attributes()));
  return std::make_unique<Constant>(std::move(value));
}

Made MakeConstantOfShape(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const Tensor value, ConstantOfShapeValue(spec));
  if (!IsSubByte(value.dtype())) return std::make_unique<ConstantOfShape>(value);
  Tensor unpacked(value.dtype(), Dims{8});  // room for one byte, whatever the packing
  UnpackSubByte(value.dtype(), value.raw_data(), 1, unpacked.mutable_data<int8_t>());
  return WithUnpackedElements(std::make_unique<ConstantOfShape>(unpacked));
}

Made MakeRange(const NodeSpec& spec) {
  using Types = TypeList<float, double, Float16, BFloat16, int16_t, int32_t, int64_t>;
  Made made = absl::UnimplementedError("dtype");
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { made = std::make_unique<Range<typename decltype(tag)::type>>(); });
  return made;
}

Made MakeEyeLike(const NodeSpec& spec) {
  const auto dtype =
      static_cast<DType>(spec.attributes().Int("dtype", static_cast<int64_t>(spec.input_dtype(0))));
  if (!DispatchDType(EyeLike::Types(), dtype, [](auto) {}))
    return absl::UnimplementedError("dtype");
  return std::make_unique<EyeLike>(dtype, spec.attributes().Int("k", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Shape", "shape_reference", MakeShape},
    {"", "Size", "size_reference", MakeSize},
    {"", "Constant", "constant_reference", MakeConstant},
    {"", "ConstantOfShape", "constant_of_shape_reference", MakeConstantOfShape},
    {"", "Range", "range_reference", MakeRange},
    {"", "EyeLike", "eye_like_reference", MakeEyeLike},
};

}  // namespace

KernelList ReferenceShapeOps() { return kKernels; }

}  // namespace onward::kernels::cpu
