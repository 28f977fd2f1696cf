#include "serving/http/message.h"

namespace onward::serving {

std::string_view FieldOf(const HttpFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return "";
}

}  // namespace onward::serving
