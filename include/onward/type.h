// The type of a value: a tensor with dtype and (maybe symbolic, maybe unknown) shape, or a
// sequence, optional or map.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "onward/dim.h"
#include "onward/dtype.h"
#include "onward/shape.h"

namespace onward {

struct Type {
  enum class Kind : uint8_t { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap };

  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;      // of tensors; the key's dtype of maps
  std::optional<SymbolicDims> shape;    // of tensors; nullopt: rank unknown
  std::shared_ptr<const Type> element;  // of sequences and optionals; the value's type of maps

  static Type Tensor(DType dtype) { return {Kind::kTensor, dtype, std::nullopt, nullptr}; }
  static Type Tensor(DType dtype, SymbolicDims shape) {
    return {Kind::kTensor, dtype, std::move(shape), nullptr};
  }
  // Whatever views as dims; a template so that braces mean SymbolicDims.
  template <typename T>
  requires std::is_convertible_v<const T&, DimsView>
  static Type Tensor(DType dtype, const T& dims) {
    const DimsView view = dims;
    return {Kind::kTensor, dtype, SymbolicDims(view.begin(), view.end()), nullptr};
  }
  static Type Sequence(Type element) {
    return {Kind::kSequence, DType::kUndefined, std::nullopt,
            std::make_shared<Type>(std::move(element))};
  }
  static Type Optional(Type element) {
    return {Kind::kOptional, DType::kUndefined, std::nullopt,
            std::make_shared<Type>(std::move(element))};
  }

  bool is_tensor() const { return kind == Kind::kTensor; }
  // The concrete dims, when every one is known.
  std::optional<Dims> static_dims() const;
  bool operator==(const Type& other) const;
  // Returns whether a value of this type may stand where `other` is declared: equal kinds and
  // dtypes, no two known dims that differ.
  bool CompatibleWith(const Type& other) const;
  std::string ToString()
      const;  // "float32[batch,3,224,224]", "sequence(int64[?])", "float32[...]" (rank unknown)
};

}  // namespace onward
