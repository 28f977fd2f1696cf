// The side, host or device, of each node of a graph and of the values that it takes and gives.
#pragma once

#include <cstdint>
#include <vector>

namespace onward::executors {

// kEither: nobody reads it, or it is a constant or read by its dims alone.
enum class Side : uint8_t { kEither, kHost, kDevice };

struct BodySides;

struct NodeSides {
  Side node = Side::kHost;
  std::vector<Side> inputs, outputs;
  std::vector<BodySides> bodies;  // of nodes that the device runs
};

struct GraphSides {
  std::vector<NodeSides> nodes;  // by NodeId
  std::vector<Side> values;      // by ValueId: where each is made
  std::vector<bool> known;       // by ValueId: it follows from dims (DimArithmetic)
  bool on_device = false;        // some node runs there
};

struct BodySides {
  GraphSides graph;
  std::vector<Side> inputs, captures, outputs;
};

}  // namespace onward::executors
