// LabelEncoder and CategoryMapper: a table from keys to values.
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;
using LabelTypes = TypeList<float, double, int16_t, int32_t, int64_t, std::string>;

// NaN is a key like any other, and -0 is 0.
template <typename T>
struct SameKey {
  bool operator()(const T& a, const T& b) const { return a == b || (a != a && b != b); }
};
template <typename T>
struct HashKey {
  size_t operator()(const T& key) const {
    if constexpr (!std::is_same_v<T, std::string>) {
      if (key != key) return 1;
      return std::hash<T>()(key == T(0) ? T(0) : key);
    } else {
      return std::hash<T>()(key);
    }
  }
};

// Where each key stands in the list; the first of equal ones.
template <typename K>
class Positions {
 public:
  explicit Positions(const std::vector<K>& keys) {
    for (size_t i = 0; i < keys.size(); ++i) table_.emplace(keys[i], i);
  }
  // `otherwise` for a key that is not there.
  size_t Find(const K& key, size_t otherwise) const {
    const auto found = table_.find(key);
    return found == table_.end() ? otherwise : found->second;
  }

 private:
  std::unordered_map<K, size_t, HashKey<K>, SameKey<K>> table_;
};

template <typename K, typename V>
class Encoder : public Kernel {
 public:
  // `values`: of each key, and then that of all others.
  Encoder(const std::vector<K>& keys, std::vector<V> values)
      : positions_(keys), values_(std::move(values)) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const K* in = context.in<K>(0);
    V* out = context.out<V>(0);
    context.ParallelFor(context.input(0).num_elements(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = values_[positions_.Find(in[i], values_.size() - 1)];
    });
    return absl::OkStatus();
  }

 private:
  Positions<K> positions_;
  std::vector<V> values_;
};

// The list `prefix`s, `prefix`_tensor or the like as elements of T.
template <typename T>
std::vector<T> ReadList(const Attributes& attributes, const std::string& prefix) {
  std::vector<T> list;
  if (const Tensor* tensor = attributes.TensorOrNull(prefix + "_tensor")) {
    if (tensor->dtype() == kDTypeOf<T>) {
      const auto span = tensor->span<T>();
      list.assign(span.begin(), span.end());
    }
    return list;
  }
  if constexpr (std::is_same_v<T, std::string>) {
    list = attributes.Strings(prefix + "_strings");
  } else if constexpr (std::is_same_v<T, int64_t>) {
    list = attributes.Ints(prefix + "_int64s");
  } else if constexpr (std::is_same_v<T, float>) {
    list = attributes.Floats(prefix + "_floats");
  }
  return list;
}

template <typename T>
T ReadDefault(const Attributes& attributes) {
  if (const Tensor* tensor = attributes.TensorOrNull("default_tensor")) {
    if (tensor->dtype() == kDTypeOf<T> && tensor->num_elements() == 1) return *tensor->data<T>();
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return attributes.String("default_string", "_Unused");
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(attributes.Int("default_int64", -1));
  } else {
    return static_cast<T>(attributes.Float("default_float", -0.0f));
  }
}

template <typename K, typename V>
Made MakeEncoder(std::vector<K> keys, std::vector<V> values, V otherwise) {
  if (keys.size() != values.size() || keys.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(keys.size(), " keys of the input's type for ",
                                                   values.size(), " values of the output's type"));
  }
  values.push_back(std::move(otherwise));
  return std::make_unique<Encoder<K, V>>(keys, std::move(values));
}

Made MakeLabelEncoder(const NodeSpec& spec) {
  Made made = absl::UnimplementedError("dtype");
  const Attributes& attributes = spec.attributes();
  DispatchDType(LabelTypes(), spec.input_dtype(0), [&](auto key_tag) {
    using K = typename decltype(key_tag)::type;
    DispatchDType(LabelTypes(), spec.output_dtype(0), [&](auto value_tag) {
      using V = typename decltype(value_tag)::type;
      made = MakeEncoder<K, V>(ReadList<K>(attributes, "keys"), ReadList<V>(attributes, "values"),
                               ReadDefault<V>(attributes));
    });
  });
  return made;
}

Made MakeCategoryMapper(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  std::vector<int64_t> numbers = attributes.Ints("cats_int64s");
  std::vector<std::string> names = attributes.Strings("cats_strings");
  if (spec.input_dtype(0) == DType::kString) {
    return MakeEncoder<std::string, int64_t>(std::move(names), std::move(numbers),
                                             attributes.Int("default_int64", -1));
  }
  return MakeEncoder<int64_t, std::string>(std::move(numbers), std::move(names),
                                           attributes.String("default_string", "_Unused"));
}

constexpr KernelEntry kKernels[] = {
    {"ai.onnx.ml", "LabelEncoder", "label_encoder_reference", MakeLabelEncoder},
    {"ai.onnx.ml", "CategoryMapper", "category_mapper_reference", MakeCategoryMapper},
};

}  // namespace

KernelList ReferenceLabelEncoder() { return kKernels; }

}  // namespace onward::kernels::cpu
