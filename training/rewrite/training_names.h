// Names of the values that training adds to a model, and models that use them for others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

// "loss", "gradient_norm", "optimizer/step": one value in all phases (training/step/phases.h); and
// names of what belongs to a parameter: "average/fc.weight".
bool IsTrainingName(std::string_view name);

// The name of a value of the model, or of a field of the data, where its own is another value's:
// UserName() is the name that its user gave it.
std::string NameInTraining(const Graph& graph, std::string_view user_name);
std::string UserName(std::string_view name);
// The same for messages: "output 'y'" for a value of the model that gave its name to a field.
std::string QuotedUserName(std::string_view name);

// Gives the model's inputs and what it computes under such names others (NameInTraining), its
// outputs included, which a training leaves out; `scored` are the outputs that losses are of, and
// the result their names from now on. InvalidArgument: one of the `initializers`, which configs and
// checkpoints know by their names, is called like a value that training adds.
absl::StatusOr<std::vector<std::string>> FreeTrainingNames(
    Graph& graph, std::vector<std::string> scored, absl::Span<const std::string> initializers);

// Makes `value` an output called `name`; what had the name has another one then. Returns its id.
ValueId AddNamedOutput(Graph& graph, ValueId value, const std::string& name);

// Adds an input for a field of the data. What the model computes under the field's name has another
// one then; where the name is a weight's (`of_weight`) or one of training, the input has it.
ValueId AddFieldInput(Graph& graph, const std::string& field, Type type, bool of_weight);

}  // namespace onward::training
