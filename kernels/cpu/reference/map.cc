// Maps of ai.onnx.ml: CastMap, DictVectorizer, ZipMap. Where the standard is silent (text of
// numbers, the pad of sparse strings) the result is ONNX Runtime's.
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cast_convert.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/cast_string.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

absl::StatusOr<const MapData*> MapOf(const RunContext& context) {
  const Value* object = context.input_slot(0).object;
  if (object == nullptr || !object->is_map())
    return absl::InvalidArgumentError("the input is not a map");
  return &object->map();
}

template <typename Key>
absl::StatusOr<const std::map<Key, Tensor>*> MapWithKeys(const RunContext& context) {
  ONWARD_ASSIGN_OR_RETURN(const MapData* data, MapOf(context));
  if (const auto* map = std::get_if<std::map<Key, Tensor>>(data)) return map;
  return absl::InvalidArgumentError("the map's keys have another type");
}

absl::Status CheckElement(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype && tensor.num_elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a value of the map is ", std::string(DTypeName(tensor.dtype())),
                   DimsString(tensor.dims()), ", expected one ", std::string(DTypeName(dtype))));
}

class AtRun : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }
};

absl::Status StoreText(const std::string& text, int64_t i, const TensorView& out) {
  switch (out.dtype) {
    case DType::kFloat32: {
      double value = 0;
      ONWARD_RETURN_IF_ERROR(ParseDouble(text, &value));
      out.as<float>()[i] = static_cast<float>(value);
      return absl::OkStatus();
    }
    case DType::kInt64:
      return ParseInteger(text, out.as<int64_t>() + i);
    default:
      out.as<std::string>()[i] = text;
      return absl::OkStatus();
  }
}

void StoreFloat(float value, int64_t i, const TensorView& out) {
  if (out.dtype == DType::kFloat32) {
    out.as<float>()[i] = value;
  } else if (out.dtype == DType::kInt64) {
    out.as<int64_t>()[i] = Convert<int64_t>(value);
  } else {
    out.as<std::string>()[i] = std::to_string(value);
  }
}

// The values in the order of their keys (dense), or each at the place of its key (sparse).
class CastMap : public AtRun {
 public:
  CastMap(DType from, DType to, bool sparse, int64_t length)
      : from_(from), to_(to), sparse_(sparse), length_(length) {}

  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const auto* map, (MapWithKeys<int64_t>(context)));
    const int64_t length = sparse_ ? length_ : static_cast<int64_t>(map->size());
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, to_, Dims{1, length}));
    if (sparse_) FillPads(out);
    int64_t next = 0;
    for (const auto& [key, value] : *map) {
      ONWARD_RETURN_IF_ERROR(CheckElement(value, from_));
      if (sparse_ && (key < 0 || key >= length)) {
        return absl::InvalidArgumentError(
            absl::StrCat("key ", key, " is out of range for max_map ", length));
      }
      const int64_t at = sparse_ ? key : next++;
      if (from_ == DType::kString) {
        ONWARD_RETURN_IF_ERROR(StoreText(*value.data<std::string>(), at, out));
      } else {
        StoreFloat(*value.data<float>(), at, out);
      }
    }
    return absl::OkStatus();
  }

 private:
  static void FillPads(const TensorView& out) {
    if (out.dtype == DType::kString) {
      for (std::string& text : out.span<std::string>()) text = "0.f";
    } else if (out.byte_size() > 0) {
      std::memset(out.data, 0, static_cast<size_t>(out.byte_size()));
    }
  }

  DType from_, to_;
  bool sparse_;
  int64_t length_;
};

// The value of each key of the vocabulary, 0 or "" where the map has none.
template <typename Key>
class DictVectorizer : public AtRun {
 public:
  DictVectorizer(std::vector<Key> vocabulary, DType dtype)
      : vocabulary_(std::move(vocabulary)), dtype_(dtype) {}

  absl::Status Run(RunContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const auto* map, (MapWithKeys<Key>(context)));
    const auto length = static_cast<int64_t>(vocabulary_.size());
    ONWARD_ASSIGN_OR_RETURN(const TensorView out,
                            context.AllocateOutput(0, dtype_, Dims{1, length}));
    absl::Status status;
    DispatchElement(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = out.as<T>();
      for (size_t i = 0; i < vocabulary_.size() && status.ok(); ++i) {
        const auto found = map->find(vocabulary_[i]);
        to[i] = T();
        if (found == map->end()) continue;
        status = CheckElement(found->second, dtype_);
        if (status.ok()) to[i] = *static_cast<const T*>(found->second.raw_data());
      }
    });
    return status;
  }

 private:
  std::vector<Key> vocabulary_;
  DType dtype_;
};

// A sequence of one map per row, from label to number.
template <typename Key>
class ZipMap : public AtRun {
 public:
  explicit ZipMap(std::vector<Key> labels) : labels_(std::move(labels)) {}

  absl::Status Run(RunContext& context) const override {
    const TensorView& x = context.input(0);
    const auto columns = static_cast<int64_t>(labels_.size());
    if (x.rank() < 1 || x.rank() > 2 || x.dims.back() != columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has shape ", DimsString(x.dims), ", there are ", columns, " labels"));
    }
    const int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
    SequenceData sequence;
    sequence.reserve(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      std::map<Key, Tensor> map;
      for (int64_t c = 0; c < columns; ++c) {
        const float value = x.as<const float>()[row * columns + c];
        map.emplace(labels_[static_cast<size_t>(c)], Tensor::Of<float>({}, {value}));
      }
      sequence.emplace_back(MapData(std::move(map)));
    }
    return context.SetOutput(0, Value(std::move(sequence)));
  }

 private:
  std::vector<Key> labels_;
};

Made MakeCastMap(const NodeSpec& spec) {
  constexpr std::pair<std::string_view, DType> kTargets[] = {
      {"TO_FLOAT", DType::kFloat32}, {"TO_STRING", DType::kString}, {"TO_INT64", DType::kInt64}};
  const Attributes& attributes = spec.attributes();
  const std::string target = attributes.String("cast_to", "TO_FLOAT");
  const std::string form = attributes.String("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE")
    return absl::InvalidArgumentError(
        absl::StrCat("map_form is '", form, "', not DENSE or SPARSE"));
  const int64_t length = attributes.Int("max_map", 1);
  if (form == "SPARSE") {
    if (length < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("max_map is ", length, ", must be at least 1"));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kString, Dims{1, length}).status());
  }
  const std::shared_ptr<const Type>& element = spec.input_type(0).element;
  const DType from = element ? element->dtype : DType::kUndefined;
  if (from != DType::kFloat32 && from != DType::kString) return NoLoopFor(from);
  for (const auto& [name, to] : kTargets) {
    if (target == name) return std::make_unique<CastMap>(from, to, form == "SPARSE", length);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cast_to is '", target, "', not TO_FLOAT, TO_STRING or TO_INT64"));
}

Made MakeDictVectorizer(const NodeSpec& spec) {
  std::vector<std::string> strings = spec.attributes().Strings("string_vocabulary");
  std::vector<int64_t> ints = spec.attributes().Ints("int64_vocabulary");
  if (strings.empty() == ints.empty()) {
    return absl::InvalidArgumentError(
        "exactly one of string_vocabulary and int64_vocabulary must be given");
  }
  const std::shared_ptr<const Type>& element = spec.input_type(0).element;
  if (element == nullptr) return NoLoopFor(DType::kUndefined);
  if (ints.empty())
    return std::make_unique<DictVectorizer<std::string>>(std::move(strings), element->dtype);
  return std::make_unique<DictVectorizer<int64_t>>(std::move(ints), element->dtype);
}

Made MakeZipMap(const NodeSpec& spec) {
  std::vector<std::string> strings = spec.attributes().Strings("classlabels_strings");
  std::vector<int64_t> ints = spec.attributes().Ints("classlabels_int64s");
  if (strings.empty() == ints.empty()) {
    return absl::InvalidArgumentError(
        "exactly one of classlabels_strings and classlabels_int64s must be given");
  }
  if (ints.empty()) return std::make_unique<ZipMap<std::string>>(std::move(strings));
  return std::make_unique<ZipMap<int64_t>>(std::move(ints));
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr KernelEntry kKernels[] = {
    {kMl, "CastMap", "cast_map_reference", MakeCastMap},
    {kMl, "DictVectorizer", "dict_vectorizer_reference", MakeDictVectorizer},
    {kMl, "ZipMap", "zip_map_reference", MakeZipMap},
};

}  // namespace

KernelList ReferenceMap() { return kKernels; }

}  // namespace onward::kernels::cpu
