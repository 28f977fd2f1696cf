// The names that a model file gives to sizes. Passes take equal names for equal sizes; these
// functions take back what a file does not promise.
#pragma once

#include <string_view>

#include "onward/graph.h"

namespace onward {

// Returns whether a name stands for one size: an identifier of letters, digits, '_' and '.', and
// none of the words that exporters write for "unknown" ("None", "unk__12").
bool NamesOneSize(std::string_view name);

// For a graph as its file declares it, before types are inferred. The declared name of a value that
// a node makes, or of a body's input, is a hint that no runtime checks: it stays where nothing else
// has the name.
void DropUncheckedNames(Graph& graph);

// Makes every open dim of every input a size of its own, and forgets what was inferred. For callers
// whose inputs have other sizes than the names say.
void SeparateInputNames(Graph& graph);

// Forgets the shapes of all values but inputs and constants, in bodies too, for callers who give
// the inputs other types.
void ForgetInferred(Graph& graph);

}  // namespace onward
