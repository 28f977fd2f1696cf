#include "serving/repository/config_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

namespace onward::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;

json JsonOf(const Message& message);

// The field, or its element `index` where it is repeated.
json FieldJson(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection.GetRepeatedInt32(message, &field, index)
                      : reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? reflection.GetRepeatedInt64(message, &field, index)
                      : reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? reflection.GetRepeatedUInt32(message, &field, index)
                      : reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? reflection.GetRepeatedUInt64(message, &field, index)
                      : reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return repeated ? reflection.GetRepeatedFloat(message, &field, index)
                      : reflection.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? reflection.GetRepeatedDouble(message, &field, index)
                      : reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? reflection.GetRepeatedBool(message, &field, index)
                      : reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (repeated ? reflection.GetRepeatedEnum(message, &field, index)
                       : reflection.GetEnum(message, &field))
          ->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? reflection.GetRepeatedString(message, &field, index)
                      : reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return JsonOf(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                             : reflection.GetMessage(message, &field));
  }
  return nullptr;
}

// Keys of JSON are strings.
json MapJson(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  json object = json::object();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const json key = FieldJson(entry, *entry.GetDescriptor()->FindFieldByNumber(1), -1);
    object[key.is_string() ? key.get<std::string>() : key.dump()] =
        FieldJson(entry, *entry.GetDescriptor()->FindFieldByNumber(2), -1);
  }
  return object;
}

json JsonOf(const Message& message) {
  const auto& reflection = *message.GetReflection();
  json object = json::object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    json& value = object[field.name()];
    if (field.is_map()) {
      value = MapJson(message, field);
    } else if (field.is_repeated()) {
      value = json::array();
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k)
        value.push_back(FieldJson(message, field, k));
    } else if (field.has_presence() && !reflection.HasField(message, &field)) {
      object.erase(field.name());
    } else {
      value = FieldJson(message, field, -1);
    }
  }
  return object;
}

}  // namespace

json ConfigJson(const config::ModelConfig& config) { return JsonOf(config); }

}  // namespace onward::serving
