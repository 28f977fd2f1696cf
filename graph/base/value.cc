#include "onward/value.h"

namespace onward {

Value::Value() = default;
Value::Value(Tensor tensor) : data_(std::move(tensor)) {}
Value::Value(SequenceData sequence)
    : data_(std::make_shared<const SequenceData>(std::move(sequence))) {}
Value::Value(MapData map) : data_(std::make_shared<const MapData>(std::move(map))) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

}  // namespace onward
