// Shape, Size, Constant, ConstantOfShape, Range, EyeLike.
#include <limits>
#include <utility>

#include "kernels/bind/constant_of_shape.h"
#include "kernels/bind/eye_like.h"
#include "kernels/bind/range.h"
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
  absl::Status Bind(BindContext& context) const override { return BindRange(context); }
  absl::Status Run(RunContext& context) const override {
    T* out = context.out<T>(0);
    const int64_t count = context.output(0).num_elements();
    const RangeCountType<T> start = *context.in<T>(0), delta = *context.in<T>(2);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(RangeElement(start, delta, i));
    return absl::OkStatus();
  }
};

class EyeLike : public Kernel {
 public:
  EyeLike(Tensor one, int64_t k) : one_(std::move(one)), k_(k) {}
  absl::Status Bind(BindContext& context) const override { return BindEyeLike(context); }
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
  Made made = absl::UnimplementedError("dtype");
  DispatchDType(RangeTypes(), spec.input_dtype(0),
                [&](auto tag) { made = std::make_unique<Range<typename decltype(tag)::type>>(); });
  return made;
}

Made MakeEyeLike(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Tensor one, EyeLikeOne(spec));
  return std::make_unique<EyeLike>(std::move(one), spec.attributes().Int("k", 0));
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
