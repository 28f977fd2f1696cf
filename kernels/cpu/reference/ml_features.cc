// Features of the domain ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer,
// Normalizer, OneHotEncoder, Scaler.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;
using FeatureTypes = TypeList<float, double, int32_t, int64_t>;

constexpr int64_t kGrain = 1 << 13;

// Calls make(std::type_identity<T>()) for the T of input 0.
template <typename F>
Made MakeForFeatures(const NodeSpec& spec, F&& make) {
  Made made = absl::UnimplementedError("dtype");
  DispatchDType(FeatureTypes(), spec.input_dtype(0), [&](auto tag) { made = make(tag); });
  return made;
}

// Keeps the last axis's positions that input 1 names.
class ArrayFeatureExtractor : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.empty()) return absl::InvalidArgumentError("X has rank 0");
    Dims out(dims.begin(), dims.end());
    out.back() = NumElements(context.input_dims(1));
    if (dims.size() == 1) out.insert(out.begin(), 1);
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    context.SetOutput(0, out);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t columns = context.input(0).dims.back();
    const absl::Span<const int64_t> wanted = context.input(1).span<int64_t>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] < 0 || wanted[i] >= columns) {
        return absl::InvalidArgumentError(absl::StrCat("index ", wanted[i], " at position ", i,
                                                       " is out of range for ", columns,
                                                       " features"));
      }
    }
    if (wanted.empty() || columns == 0) return absl::OkStatus();
    DispatchElement(context.input(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* in = context.in<T>(0);
      T* out = context.out<T>(0);
      const int64_t rows = context.input(0).num_elements() / columns;
      for (int64_t r = 0; r < rows; ++r, in += columns) {
        for (const int64_t column : wanted) *out++ = in[column];
      }
    });
    return absl::OkStatus();
  }
};

// Ops that map each element of a row by its column.
class Columnwise : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }

 protected:
  static int64_t Columns(const RunContext& context) {
    const DimsView dims = context.input(0).dims;
    return dims.empty() ? 1 : dims.back();
  }
};

template <typename T>
class Binarizer : public Columnwise {
 public:
  explicit Binarizer(float threshold) : threshold_(threshold) {}
  absl::Status Run(RunContext& context) const override {
    context.ParallelFor(context.input(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        context.out<T>(0)[i] =
            static_cast<double>(context.in<T>(0)[i]) > static_cast<double>(threshold_) ? T(1)
                                                                                       : T(0);
      }
    });
    return absl::OkStatus();
  }

 private:
  float threshold_;
};

// One number for all columns, or one per column.
absl::Status CheckPerColumn(const char* name, size_t size, int64_t columns) {
  if (size <= 1 || static_cast<int64_t>(size) == columns) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", size, " elements for ", columns, " features"));
}

template <typename T>
const T& PerColumn(const std::vector<T>& list, int64_t column) {
  return list[list.size() == 1 ? 0 : static_cast<size_t>(column)];
}

template <typename T>
class Scaler : public Columnwise {
 public:
  Scaler(std::vector<float> offset, std::vector<float> scale)
      : offset_(std::move(offset)), scale_(std::move(scale)) {
    if (offset_.empty()) offset_ = {0};
    if (scale_.empty()) scale_ = {1};
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t columns = Columns(context);
    ONWARD_RETURN_IF_ERROR(CheckPerColumn("offset", offset_.size(), columns));
    ONWARD_RETURN_IF_ERROR(CheckPerColumn("scale", scale_.size(), columns));
    context.ParallelFor(context.input(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % columns;
        context.out<float>(0)[i] =
            (static_cast<float>(context.in<T>(0)[i]) - PerColumn(offset_, column)) *
            PerColumn(scale_, column);
      }
    });
    return absl::OkStatus();
  }

 private:
  std::vector<float> offset_, scale_;
};

template <typename T>
class Imputer : public Columnwise {
 public:
  Imputer(std::vector<T> values, T replaced) : values_(std::move(values)), replaced_(replaced) {}
  absl::Status Run(RunContext& context) const override {
    const int64_t columns = Columns(context);
    ONWARD_RETURN_IF_ERROR(CheckPerColumn("imputed values", values_.size(), columns));
    context.ParallelFor(context.input(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T value = context.in<T>(0)[i];
        const bool missing = value == replaced_ || (value != value && replaced_ != replaced_);
        context.out<T>(0)[i] = missing ? PerColumn(values_, i % columns) : value;
      }
    });
    return absl::OkStatus();
  }

 private:
  std::vector<T> values_;
  T replaced_;
};

enum class Norm { kMax, kL1, kL2 };

template <typename T>
class Normalizer : public Columnwise {
 public:
  explicit Normalizer(Norm norm) : norm_(norm) {}
  absl::Status Run(RunContext& context) const override {
    const int64_t columns = Columns(context);
    if (columns == 0) return absl::OkStatus();
    const int64_t rows = context.input(0).num_elements() / columns;
    context.ParallelFor(rows, std::max<int64_t>(1, kGrain / columns),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t r = begin; r < end; ++r)
                            NormalizeRow(context.in<T>(0) + r * columns, columns,
                                         context.out<float>(0) + r * columns);
                        });
    return absl::OkStatus();
  }

 private:
  void NormalizeRow(const T* in, int64_t count, float* out) const {
    double norm = norm_ == Norm::kMax ? -HUGE_VAL : 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(in[i]);
      if (norm_ == Norm::kMax) norm = std::max(norm, value);
      if (norm_ == Norm::kL1) norm += std::fabs(value);
      if (norm_ == Norm::kL2) norm += value * value;
    }
    if (norm_ == Norm::kL2) norm = std::sqrt(norm);
    // A row of zeros stays one.
    if (norm == 0) norm = 1;
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<float>(static_cast<double>(in[i]) / norm);
  }
  Norm norm_;
};

// Rows of all inputs side by side.
template <typename T>
class FeatureVectorizer : public Kernel {
 public:
  explicit FeatureVectorizer(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  absl::Status Bind(BindContext& context) const override {
    int64_t total = 0;
    const DimsView first = context.input_dims(0);
    const int64_t rows = first.size() > 1 ? first[0] : 1;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const DimsView dims = context.input_dims(i);
      const int64_t columns = ColumnsOf(dims);
      const bool listed = sizes_.empty() || (static_cast<size_t>(i) < sizes_.size() &&
                                             sizes_[static_cast<size_t>(i)] == columns);
      if ((dims.size() > 1 ? dims[0] : 1) != rows || !listed) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ", DimsString(dims),
                                                       ", which does not fit ", rows,
                                                       " rows or inputdimensions"));
      }
      total += columns;
    }
    context.SetOutput(0, {rows, total});
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t rows = context.output(0).dim(0), total = context.output(0).dim(1);
    int64_t at = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const int64_t columns = ColumnsOf(context.input(i).dims);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          context.out<float>(0)[r * total + at + c] =
              static_cast<float>(context.in<T>(i)[r * columns + c]);
        }
      }
      at += columns;
    }
    return absl::OkStatus();
  }

 private:
  static int64_t ColumnsOf(DimsView dims) {
    return dims.size() > 1 ? NumElements(dims, 1, static_cast<int64_t>(dims.size()))
                           : NumElements(dims);
  }
  std::vector<int64_t> sizes_;
};

// Appends an axis with a 1 at the category's place.
template <typename T, typename Key>
class OneHotEncoder : public Kernel {
 public:
  OneHotEncoder(const std::vector<Key>& categories, bool zeros)
      : count_(static_cast<int64_t>(categories.size())), zeros_(zeros) {
    for (size_t i = 0; i < categories.size(); ++i)
      places_.emplace(categories[i], static_cast<int64_t>(i));
  }
  absl::Status Bind(BindContext& context) const override {
    Dims out(context.input_dims(0).begin(), context.input_dims(0).end());
    out.push_back(count_);
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kFloat32, out).status());
    context.SetOutput(0, out);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    float* out = context.out<float>(0);
    std::fill_n(out, count * count_, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      const auto found = Find(context.in<T>(0)[i]);
      if (found != places_.end()) {
        out[i * count_ + found->second] = 1;
      } else if (!zeros_) {
        return absl::InvalidArgumentError(
            absl::StrCat("element ", i, " is none of the categories"));
      }
    }
    return absl::OkStatus();
  }

 private:
  auto Find(const T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      // What no integer holds is not a category.
      if (!(value >= T{-0x1p63} && value < T{0x1p63})) return places_.end();
    }
    return places_.find(static_cast<Key>(value));
  }

  std::unordered_map<Key, int64_t> places_;
  int64_t count_;
  bool zeros_;
};

Made MakeArrayFeatureExtractor(const NodeSpec&) {
  return std::make_unique<ArrayFeatureExtractor>();
}

Made MakeBinarizer(const NodeSpec& spec) {
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    return std::make_unique<Binarizer<typename decltype(tag)::type>>(
        spec.attributes().Float("threshold", 0));
  });
}

Made MakeScaler(const NodeSpec& spec) {
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    return std::make_unique<Scaler<typename decltype(tag)::type>>(
        spec.attributes().Floats("offset"), spec.attributes().Floats("scale"));
  });
}

Made MakeImputer(const NodeSpec& spec) {
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    using T = typename decltype(tag)::type;
    const Attributes& attributes = spec.attributes();
    std::vector<T> values;
    if constexpr (std::is_integral_v<T>) {
      for (const int64_t value : attributes.Ints("imputed_value_int64s"))
        values.push_back(static_cast<T>(value));
    } else {
      for (const float value : attributes.Floats("imputed_value_floats"))
        values.push_back(static_cast<T>(value));
    }
    if (values.empty()) return absl::InvalidArgumentError("no imputed values");
    const T replaced = std::is_integral_v<T>
                           ? static_cast<T>(attributes.Int("replaced_value_int64", 0))
                           : static_cast<T>(attributes.Float("replaced_value_float", 0));
    return std::make_unique<Imputer<T>>(std::move(values), replaced);
  });
}

Made MakeNormalizer(const NodeSpec& spec) {
  const std::string name = spec.attributes().String("norm", "MAX");
  if (name != "MAX" && name != "L1" && name != "L2")
    return absl::InvalidArgumentError(absl::StrCat("norm is '", name, "', not MAX, L1 or L2"));
  const Norm norm = name == "MAX" ? Norm::kMax : name == "L1" ? Norm::kL1 : Norm::kL2;
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    return std::make_unique<Normalizer<typename decltype(tag)::type>>(norm);
  });
}

Made MakeFeatureVectorizer(const NodeSpec& spec) {
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    return std::make_unique<FeatureVectorizer<typename decltype(tag)::type>>(
        spec.attributes().Ints("inputdimensions"));
  });
}

Made MakeOneHotEncoder(const NodeSpec& spec) {
  const bool zeros = spec.attributes().Int("zeros", 1) != 0;
  if (spec.input_dtype(0) == DType::kString) {
    return std::make_unique<OneHotEncoder<std::string, std::string>>(
        spec.attributes().Strings("cats_strings"), zeros);
  }
  return MakeForFeatures(spec, [&](auto tag) -> Made {
    return std::make_unique<OneHotEncoder<typename decltype(tag)::type, int64_t>>(
        spec.attributes().Ints("cats_int64s"), zeros);
  });
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr KernelEntry kKernels[] = {
    {kMl, "ArrayFeatureExtractor", "array_feature_extractor_reference", MakeArrayFeatureExtractor},
    {kMl, "Binarizer", "binarizer_reference", MakeBinarizer},
    {kMl, "FeatureVectorizer", "feature_vectorizer_reference", MakeFeatureVectorizer},
    {kMl, "Imputer", "imputer_reference", MakeImputer},
    {kMl, "Normalizer", "normalizer_reference", MakeNormalizer},
    {kMl, "OneHotEncoder", "one_hot_encoder_reference", MakeOneHotEncoder},
    {kMl, "Scaler", "scaler_reference", MakeScaler},
};

}  // namespace

KernelList ReferenceMlFeatures() { return kKernels; }

}  // namespace onward::kernels::cpu
