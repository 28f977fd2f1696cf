// Every value and every parameter of a model, for onward inspect.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onward/graph.h"
#include "onward/nn/parameters.h"

namespace onward::cli {

// Prints the types of the values, with those of bodies under their nodes; `where` is "" or "body of
// [Loop 'l']".
void PrintValues(const Graph& graph, const std::string& where);

// Returns {"values": {name: type}, "bodies": {"body of [Loop 'l']": {...}}}.
nlohmann::json TypesJson(const Graph& graph);

// Returns the parameters with what a training of all would train, as far as no loss is needed to
// tell.
std::vector<nn::ParameterInfo> ParametersOf(const Model& model,
                                            const std::vector<std::string>& initializers);
nlohmann::json ParametersJson(const std::vector<nn::ParameterInfo>& parameters);

}  // namespace onward::cli
