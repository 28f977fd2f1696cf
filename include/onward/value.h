// A value on an edge at run time: nothing (an absent optional), a tensor, a sequence of
// values, or a map.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onward/tensor.h"

namespace onward {

class Value;
using SequenceData = std::vector<Value>;
// The standard's maps: keys int64 or string (one kind per map), values tensors of rank 0.
using MapData = std::variant<std::map<int64_t, Tensor>, std::map<std::string, Tensor>>;

class Value {
 public:
  Value();               // an absent optional
  Value(Tensor tensor);  // NOLINT: a tensor is a value
  explicit Value(SequenceData sequence);
  explicit Value(MapData map);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  bool has_value() const { return !std::holds_alternative<std::monostate>(data_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(data_); }
  bool is_sequence() const { return std::holds_alternative<SequencePtr>(data_); }
  bool is_map() const { return std::holds_alternative<MapPtr>(data_); }
  const Tensor& tensor() const { return std::get<Tensor>(data_); }
  const SequenceData& sequence() const { return *std::get<SequencePtr>(data_); }
  const MapData& map() const { return *std::get<MapPtr>(data_); }

 private:
  using SequencePtr = std::shared_ptr<const SequenceData>;
  using MapPtr = std::shared_ptr<const MapData>;
  std::variant<std::monostate, Tensor, SequencePtr, MapPtr> data_;
};

// Writes ValueText (tensor_text.h).
std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace onward
