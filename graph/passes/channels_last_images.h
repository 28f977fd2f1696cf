// Images between the ops of put_floats_channels_last: float32 with their channels first, or float32
// or bfloat16 with their channels last, which ToChannelsFirst makes float32 with theirs first.
#pragma once

#include "absl/types/span.h"
#include "graph/rewrite/rule.h"

namespace onward {

// Float32, two spatial axes.
bool IsFloatImage(const Graph& graph, ValueId value);

// [batch, channels, 1, 1]
bool IsOnePixel(const Type& type);

// x of ToChannelsFirst(x), where that makes the value; else invalid.
ValueId LastOf(const Graph& graph, ValueId value);
ValueId ToFirst(Patch& patch, ValueId last);
// Attributes of an op that makes images of a type with their channels last.
Attributes WithType(Attributes attributes, DType image);

// Returns whether a convolution reads the value, or a follower whose result one reads, or it is
// turned, or its means are taken.
bool IsTaken(const Graph& graph, ValueId value);
// Returns whether a convolution or a follower makes the value.
bool MayComeLast(const Graph& graph, ValueId value);

// Followers work in either layout: their results come last where their images do.
bool IsFollower(const Graph& graph, const Node& node);
// Returns whether a follower of `image` is taken, or means of it.
bool FollowsImage(const Graph& graph, const Node& node, ValueId image);
absl::Span<const Rule> FollowerRules();

}  // namespace onward
