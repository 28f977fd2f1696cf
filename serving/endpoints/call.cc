#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"

namespace onward::serving {

HttpReply JsonReply(const nlohmann::json& document, int status) {
  return {.status = status,
          .body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelOf(const ServerState& state, const Call& call) {
  return state.models.Find(call.names[0], call.names.size() > 1 ? call.names[1] : "");
}

}  // namespace onward::serving
