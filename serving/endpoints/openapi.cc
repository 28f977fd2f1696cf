// The description that client generators read.
#include "serving/openapi.h"

#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"

namespace onward::serving {

void OpenApiDescription(ServerState& state, Call call) {
  call.respond(JsonReply(
      OpenApi(Routes(), {state.version, state.keys.api.has_value(), state.models.Ready()})));
}

}  // namespace onward::serving
