#include "tests/fuzz/random_message.h"

#include <string>

namespace onward::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

double Number(FuzzBytes& bytes) {
  static constexpr double kUsual[] = {0, 1, 0.5, -1, 1e-3, 0.9, 1e30, 1e-300, 100};
  return bytes.OneIn(4) ? static_cast<double>(bytes.Real()) : bytes.Pick(kUsual);
}

// One more element of a repeated field, or the value of a single one.
void SetScalar(FuzzBytes& bytes, absl::Span<const char* const> words, Message& message,
               const FieldDescriptor* field) {
  const Reflection& r = *message.GetReflection();
  const bool add = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = static_cast<int32_t>(bytes.Integer());
      return add ? r.AddInt32(&message, field, value) : r.SetInt32(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value = bytes.Integer();
      return add ? r.AddInt64(&message, field, value) : r.SetInt64(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = static_cast<uint64_t>(bytes.Integer());
      return add ? r.AddUInt64(&message, field, value) : r.SetUInt64(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = Number(bytes);
      return add ? r.AddDouble(&message, field, value) : r.SetDouble(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const float value = bytes.Real();
      return add ? r.AddFloat(&message, field, value) : r.SetFloat(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool value = bytes.Byte() & 1;
      return add ? r.AddBool(&message, field, value) : r.SetBool(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string value = bytes.Pick(words);
      return add ? r.AddString(&message, field, value) : r.SetString(&message, field, value);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* kinds = field->enum_type();
      const auto* value =
          kinds->value(static_cast<int>(bytes.Below(static_cast<size_t>(kinds->value_count()))));
      return add ? r.AddEnum(&message, field, value) : r.SetEnum(&message, field, value);
    }
    default:
      return;
  }
}

}  // namespace

void ChangeField(FuzzBytes& bytes, absl::Span<const char* const> words, Message& message) {
  const auto* descriptor = message.GetDescriptor();
  if (descriptor->field_count() == 0) return;
  const FieldDescriptor* field =
      descriptor->field(static_cast<int>(bytes.Below(size_t(descriptor->field_count()))));
  const Reflection& r = *message.GetReflection();
  if (bytes.OneIn(8)) return r.ClearField(&message, field);
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return SetScalar(bytes, words, message, field);
  if (!field->is_repeated()) return ChangeField(bytes, words, *r.MutableMessage(&message, field));
  const int count = r.FieldSize(message, field);
  Message* element =
      count > 0 && !bytes.OneIn(3)
          ? r.MutableRepeatedMessage(&message, field, static_cast<int>(bytes.Below(size_t(count))))
          : r.AddMessage(&message, field);
  ChangeField(bytes, words, *element);
}

}  // namespace onward::fuzz
