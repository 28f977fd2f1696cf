#include "onward/type.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward {

std::optional<Dims> Type::static_dims() const {
  if (!is_tensor() || !shape) return std::nullopt;
  Dims dims;
  for (const Dim& dim : *shape) {
    if (!dim.known()) return std::nullopt;
    dims.push_back(dim.value());
  }
  return dims;
}

bool Type::operator==(const Type& other) const {
  if (kind != other.kind || dtype != other.dtype || shape != other.shape) return false;
  if (!element || !other.element) return element == other.element;
  return *element == *other.element;
}

bool Type::CompatibleWith(const Type& other) const {
  if (kind == Kind::kUnknown || other.kind == Kind::kUnknown) return true;
  if (kind != other.kind || dtype != other.dtype) return false;
  if (element && other.element && !element->CompatibleWith(*other.element)) return false;
  if (!shape || !other.shape) return true;
  if (shape->size() != other.shape->size()) return false;
  for (size_t i = 0; i < shape->size(); ++i) {
    const Dim& a = (*shape)[i];
    const Dim& b = (*other.shape)[i];
    if (a.known() && b.known() && a.value() != b.value()) return false;
  }
  return true;
}

std::string Type::ToString() const {
  const auto shape_string = [&]() -> std::string {
    if (!shape) return "[...]";
    return absl::StrCat(
        "[",
        absl::StrJoin(*shape, ",",
                      [](std::string* out, const Dim& dim) { out->append(dim.ToString()); }),
        "]");
  };
  const std::string dtype_name(DTypeName(dtype));
  const std::string inner = element ? element->ToString() : "?";
  switch (kind) {
    case Kind::kUnknown:
      return "?";
    case Kind::kTensor:
      return dtype_name + shape_string();
    case Kind::kSparseTensor:
      return absl::StrCat("sparse(", dtype_name, shape_string(), ")");
    case Kind::kSequence:
      return absl::StrCat("sequence(", inner, ")");
    case Kind::kOptional:
      return absl::StrCat("optional(", inner, ")");
    case Kind::kMap:
      return absl::StrCat("map(", dtype_name, ",", inner, ")");
  }
  return "?";
}

}  // namespace onward
