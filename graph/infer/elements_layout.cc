#include <algorithm>
#include <cstdlib>

#include "graph/base/checked.h"
#include "graph/infer/element_rules.h"
#include "graph/infer/type_proto.h"

namespace onward {
namespace {

using Elements = std::optional<SymbolicDims>;

std::optional<Dims> OutputDims(const InferScope& scope, size_t output) {
  std::optional<Dims> dims = scope.graph.type(scope.node.outputs[output]).static_dims();
  if (!dims || SaturatedNumElements(*dims) > kMaxInferredElements) return std::nullopt;
  return dims;
}

// The elements of a tensor of `dims` in row-major order; source(index) is the linear index of each
// in `from`, or -1 for unknown.
template <typename F>
SymbolicDims Gathered(const SymbolicDims& from, DimsView dims, F&& source) {
  SymbolicDims result;
  Dims index(dims.size(), 0);
  for (int64_t count = NumElements(dims); count > 0; --count) {
    const int64_t at = source(index);
    const bool inside = at >= 0 && at < static_cast<int64_t>(from.size());
    result.push_back(inside ? from[static_cast<size_t>(at)] : Dim());
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

int64_t Linear(const Dims& index, const Dims& strides) {
  int64_t linear = 0;
  for (size_t i = 0; i < index.size(); ++i) linear += index[i] * strides[i];
  return linear;
}

Elements Shape(const InferScope& scope, size_t) {
  const SymbolicDims* shape = scope.Shape(0);
  if (shape == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(scope.node.attributes.Int("start", 0));
  const int64_t end = std::max(start, clamp(scope.node.attributes.Int("end", rank)));
  return SymbolicDims(shape->begin() + start, shape->begin() + end);
}

Elements Size(const InferScope& scope, size_t) {
  const SymbolicDims* shape = scope.Shape(0);
  if (shape == nullptr) return std::nullopt;
  return SymbolicDims{DimProduct(*shape, 0, shape->size())};
}

Elements Same(const InferScope& scope, size_t) { return scope.Elements(0); }

Elements Constant(const InferScope& scope, size_t) {
  const Attributes& attributes = scope.node.attributes;
  if (attributes.Has("value_int")) return SymbolicDims{NumberDim(attributes.Int("value_int", 0))};
  if (!attributes.Has("value_ints")) return std::nullopt;
  SymbolicDims elements;
  for (int64_t value : attributes.Ints("value_ints")) elements.push_back(NumberDim(value));
  return elements;
}

Elements Concat(const InferScope& scope, size_t) {
  const std::optional<Dims> dims = OutputDims(scope, 0);
  if (!dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  const absl::StatusOr<int64_t> axis = NormalizeAxis(scope.node.attributes.Int("axis", 0), rank);
  if (!axis.ok()) return std::nullopt;
  const int64_t outer = NumElements(*dims, 0, *axis);
  SymbolicDims result;
  for (int64_t block = 0; block < outer; ++block) {
    for (size_t input = 0; input < scope.node.inputs.size(); ++input) {
      const Elements part = scope.Elements(input);
      if (!part || static_cast<int64_t>(part->size()) % outer != 0) return std::nullopt;
      const int64_t size = static_cast<int64_t>(part->size()) / outer;
      result.insert(result.end(), part->begin() + block * size, part->begin() + (block + 1) * size);
    }
  }
  return result;
}

Elements Gather(const InferScope& scope, size_t) {
  const Elements data = scope.Elements(0);
  const auto indices = scope.Numbers(1);
  const std::optional<Dims> dims = scope.StaticDims(0);
  const std::optional<Dims> index_dims = scope.StaticDims(1);
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!data || !indices || !dims || !index_dims || !out || dims->empty()) return std::nullopt;
  const absl::StatusOr<int64_t> axis =
      NormalizeAxis(scope.node.attributes.Int("axis", 0), static_cast<int64_t>(dims->size()));
  if (!axis.ok()) return std::nullopt;
  const int64_t size = (*dims)[static_cast<size_t>(*axis)];
  const int64_t inner = NumElements(*dims, *axis + 1, static_cast<int64_t>(dims->size()));
  const auto count = static_cast<int64_t>(indices->size());
  int64_t position = 0;
  return Gathered(*data, *out, [&](const Dims&) -> int64_t {
    const int64_t at = position++;
    int64_t index = (*indices)[static_cast<size_t>(at / inner % count)];
    if (index < 0) index += size;
    if (index < 0 || index >= size) return -1;
    return (at / inner / count * size + index) * inner + at % inner;
  });
}

Elements Slice(const InferScope& scope, size_t) {
  const Elements data = scope.Elements(0);
  const auto starts = scope.Numbers(1);
  const std::optional<Dims> dims = scope.StaticDims(0);
  const std::optional<Dims> out = OutputDims(scope, 0);
  const auto axes = scope.Numbers(3);
  const auto steps = scope.Numbers(4);
  if (!data || !starts || !dims || !out || dims->size() != out->size()) return std::nullopt;
  if ((scope.HasInput(3) && (!axes || axes->size() != starts->size())) ||
      (scope.HasInput(4) && (!steps || steps->size() != starts->size()))) {
    return std::nullopt;
  }
  Dims first(dims->size(), 0);
  Dims step(dims->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) {
    const absl::StatusOr<int64_t> axis = NormalizeAxis(axes ? (*axes)[i] : static_cast<int64_t>(i),
                                                       static_cast<int64_t>(dims->size()));
    if (!axis.ok()) return std::nullopt;
    const auto a = static_cast<size_t>(*axis);
    if (steps) step[a] = (*steps)[i];
    const int64_t size = (*dims)[a];
    const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    first[a] = std::clamp<int64_t>(start, 0, step[a] < 0 ? std::max<int64_t>(size - 1, 0) : size);
  }
  const Dims strides = Strides(*dims);
  return Gathered(*data, *out, [&](const Dims& index) {
    Dims from = index;
    for (size_t i = 0; i < from.size(); ++i) from[i] = first[i] + index[i] * step[i];
    return Linear(from, strides);
  });
}

Elements Split(const InferScope& scope, size_t output) {
  const Elements data = scope.Elements(0);
  const std::optional<Dims> dims = scope.StaticDims(0);
  if (!data || !dims || dims->size() != 1) return std::nullopt;
  int64_t offset = 0;
  for (size_t i = 0; i <= output; ++i) {
    const std::optional<Dims> part =
        scope.node.outputs[i].valid() ? OutputDims(scope, i) : std::nullopt;
    if (!part || part->size() != 1 || offset + (*part)[0] > (*dims)[0]) return std::nullopt;
    if (i == output) {
      return SymbolicDims(data->begin() + offset, data->begin() + offset + (*part)[0]);
    }
    offset += (*part)[0];
  }
  return std::nullopt;
}

Elements Transpose(const InferScope& scope, size_t) {
  const Elements data = scope.Elements(0);
  const std::optional<Dims> dims = scope.StaticDims(0);
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!data || !dims || !out || dims->size() != out->size()) return std::nullopt;
  std::vector<int64_t> perm = scope.node.attributes.Ints("perm");
  if (perm.empty()) {
    for (auto i = static_cast<int64_t>(dims->size()); i-- > 0;) perm.push_back(i);
  }
  if (perm.size() != dims->size()) return std::nullopt;
  const Dims strides = Strides(*dims);
  Dims permuted;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(dims->size())) return std::nullopt;
    permuted.push_back(strides[static_cast<size_t>(axis)]);
  }
  return Gathered(*data, *out, [&](const Dims& index) { return Linear(index, permuted); });
}

Elements Expand(const InferScope& scope, size_t) {
  const Elements data = scope.Elements(0);
  const std::optional<Dims> dims = scope.StaticDims(0);
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!data || !dims || !out) return std::nullopt;
  return BroadcastElements(*data, *dims, *out);
}

Elements Tile(const InferScope& scope, size_t) {
  const Elements data = scope.Elements(0);
  const std::optional<Dims> dims = scope.StaticDims(0);
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!data || !dims || !out || dims->size() != out->size()) return std::nullopt;
  const Dims strides = Strides(*dims);
  return Gathered(*data, *out, [&](const Dims& index) {
    Dims from = index;
    for (size_t i = 0; i < from.size(); ++i) from[i] %= std::max<int64_t>((*dims)[i], 1);
    return Linear(from, strides);
  });
}

Elements ConstantOfShape(const InferScope& scope, size_t) {
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!out) return std::nullopt;
  Dim fill(0);
  if (const Tensor* value = scope.node.attributes.TensorOrNull("value")) {
    if (value->dtype() != DType::kInt64 || value->num_elements() != 1) return std::nullopt;
    fill = NumberDim(*value->data<int64_t>());
  }
  return SymbolicDims(static_cast<size_t>(NumElements(*out)), fill);
}

Elements Range(const InferScope& scope, size_t) {
  const Elements start = scope.Elements(0);
  const Elements delta = scope.Elements(2);
  const std::optional<Dims> out = OutputDims(scope, 0);
  if (!start || !delta || !out || start->size() != 1 || delta->size() != 1) return std::nullopt;
  SymbolicDims result;
  for (int64_t i = 0; i < NumElements(*out); ++i) {
    result.push_back(DimAdd((*start)[0], DimMul((*delta)[0], Dim(i))));
  }
  return result;
}

// Scatters into a vector, by indices [n,1].
Elements ScatterND(const InferScope& scope, size_t) {
  Elements data = scope.Elements(0);
  const auto indices = scope.Numbers(1);
  const Elements updates = scope.Elements(2);
  const std::optional<Dims> dims = scope.StaticDims(0);
  if (!data || !indices || !updates || !dims || dims->size() != 1) return std::nullopt;
  if (indices->size() != updates->size()) return std::nullopt;
  if (scope.node.attributes.String("reduction", "none") != "none") return std::nullopt;
  for (size_t i = 0; i < indices->size(); ++i) {
    int64_t index = (*indices)[i];
    if (index < 0) index += (*dims)[0];
    if (index < 0 || index >= (*dims)[0]) return std::nullopt;
    (*data)[static_cast<size_t>(index)] = (*updates)[i];
  }
  return data;
}

constexpr ElementRule kRules[] = {
    {"Concat", Concat},       {"Constant", Constant},   {"ConstantOfShape", ConstantOfShape},
    {"Expand", Expand},       {"Flatten", Same},        {"Gather", Gather},
    {"Range", Range},         {"Reshape", Same},        {"ScatterElements", ScatterND},
    {"ScatterND", ScatterND}, {"Shape", Shape},         {"Size", Size},
    {"Slice", Slice},         {"Split", Split},         {"Squeeze", Same},
    {"Tile", Tile},           {"Transpose", Transpose}, {"Unsqueeze", Same},
};

}  // namespace

SymbolicDims BroadcastElements(const SymbolicDims& elements, DimsView dims, DimsView to) {
  const absl::StatusOr<Dims> both = BroadcastDims(dims, to);
  if (!both.ok() || DimsView(*both) != to || SaturatedNumElements(to) > kMaxInferredElements)
    return {};
  const Dims strides = BroadcastStrides(dims, to);
  return Gathered(elements, to, [&](const Dims& index) { return Linear(index, strides); });
}

absl::Span<const ElementRule> LayoutElementRules() { return kRules; }

}  // namespace onward
