// Merges the types that two sources declare for one value.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward {

// The more precise of both in each place: a size before a symbol, `inferred`'s symbol before
// `declared`'s, a symbol before nothing. InvalidArgument when they contradict each other.
absl::StatusOr<Type> MergeTypes(const Type& declared, const Type& inferred);

// The narrowest type that both are: what differs becomes unknown. `a` where they are of different
// kinds or dtypes.
Type WidenType(const Type& a, const Type& b);

// Ranks unknown, in sequences and optionals too.
void ForgetShapes(Type& type);

// Symbols for sizes that depend on data are named after the value that has them: "nonzero#1" is
// axis 1 of `nonzero`. Fills the unknown dims of a tensor value's type. With `search_all` every
// value is searched for an earlier use of the name (by a value that a rewrite has replaced since),
// otherwise only captures are, whose names are another graph's.
void NameUnknownDims(Graph& graph, ValueId id, bool search_all = false);

// `type` with dims unknown that name symbols other than `allowed`.
Type KeepSymbols(const Type& type, const std::set<std::string>& allowed);
void AddSymbols(const Type& type, std::set<std::string>& symbols);

}  // namespace onward
