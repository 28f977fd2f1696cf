#include "serving/http/message.h"

namespace onward::serving {

std::string_view FieldOf(const HttpFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return "";
}

size_t BodySize(const HttpRequest& request) {
  return request.body.size() + request.tail.bytes.size();
}

size_t BodySize(const HttpReply& reply) {
  size_t size = reply.body.size();
  for (const BodyPart& part : reply.parts) size += part.bytes.size();
  return size;
}

}  // namespace onward::serving
