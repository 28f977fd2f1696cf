// Parameters of messages as the JSON that requests over HTTP have.
#pragma once

#include <google/protobuf/map.h>

#include <nlohmann/json.hpp>
#include <string>

#include "serving/grpc/messages/inference.pb.h"

namespace onward::serving {

// The parameter by which a stream's request wants an empty reply after its last one.
inline constexpr char kWantsFinal[] = "triton_enable_empty_final_response";

nlohmann::json ParametersJson(
    const google::protobuf::Map<std::string, inference::InferParameter>& parameters);

}  // namespace onward::serving
