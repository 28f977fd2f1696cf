#include "training/rewrite/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "onward/expr.h"
#include "onward/status.h"

namespace onward::training {
namespace {

constexpr int64_t kOpenDim = 32;

int64_t BytesOf(const Type& type) {
  if (!type.is_tensor() || !type.shape) return kOpenDim;
  int64_t count = 1;
  for (const Dim& dim : *type.shape) count *= dim.known() ? dim.value() : kOpenDim;
  return ByteSize(type.dtype, count);
}

bool CanRepeat(const Node& node) {
  if (!node.subgraphs.empty()) return false;
  return !IsRandom(node) || node.metadata.count(kStreamKey) > 0;
}

std::vector<ValueId> ReadsOf(const Node& node) {
  std::vector<ValueId> reads;
  ForEachRead(node, [&](ValueId read) { reads.push_back(read); });
  return reads;
}

// Copies of one segment's nodes, made as they are needed.
class SegmentCopy {
 public:
  SegmentCopy(Graph& graph, const std::set<NodeId>& nodes, ValueId token)
      : graph_(graph), nodes_(nodes), sink_(graph, "again/"), token_(sink_.Value(token)) {}

  bool Makes(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer.valid() && nodes_.count(producer) > 0;
  }

  // The value that stands for `id` in the copy. Copies are made in order, without recursion.
  absl::StatusOr<ValueId> CopyOf(ValueId wanted) {
    std::vector<ValueId> pending = {wanted};
    while (!pending.empty()) {
      const ValueId id = pending.back();
      if (copies_.count(id) > 0) {
        pending.pop_back();
        continue;
      }
      if (!Makes(id)) {
        ONWARD_ASSIGN_OR_RETURN(copies_[id], Kept(id));
        pending.pop_back();
        continue;
      }
      const NodeId producer = graph_.value(id).producer;
      const size_t before = pending.size();
      for (const ValueId input : graph_.node(producer).inputs)
        if (input.valid() && copies_.count(input) == 0) pending.push_back(input);
      if (pending.size() > before) continue;
      ONWARD_RETURN_IF_ERROR(CopyNode(producer));
    }
    return copies_.at(wanted);
  }

 private:
  // A value from outside the segment, from the time of the token on. Constants and inputs are there
  // anyway.
  absl::StatusOr<ValueId> Kept(ValueId id) {
    if (!graph_.value(id).producer.valid()) return id;
    const Expr after = sink_.Op("After", {sink_.Value(id), token_}, {}, kOnwardDomain);
    ONWARD_RETURN_IF_ERROR(sink_.status());
    return after.id();
  }

  absl::Status CopyNode(NodeId id) {
    Node copy;
    std::vector<ValueId> outputs;
    {
      const Node& node = graph_.node(id);
      copy.schema = node.schema;
      copy.domain = node.domain;
      copy.op_type = node.op_type;
      copy.name = absl::StrCat("again/", node.name);
      copy.attributes = node.attributes;
      copy.metadata = node.metadata;
      copy.origin = node.origin;
      for (const ValueId input : node.inputs)
        copy.inputs.push_back(input.valid() ? copies_.at(input) : ValueId());
      outputs = node.outputs;
    }
    for (const ValueId output : outputs) {
      if (!output.valid()) {
        copy.outputs.emplace_back();
        continue;
      }
      const std::string name = graph_.UniqueName(absl::StrCat("again/", graph_.value(output).name));
      const Type type = graph_.type(output);
      copy.outputs.push_back(GraphEdit(graph_).AddValue(name, type));
      copies_[output] = copy.outputs.back();
    }
    GraphEdit(graph_).AddNode(std::move(copy));
    return absl::OkStatus();
  }

  Graph& graph_;
  const std::set<NodeId>& nodes_;
  GraphSink sink_;
  Expr token_;
  std::map<ValueId, ValueId> copies_;
};

// A segment's nodes that may be copied, and what the forward pass needs of them elsewhere: that is
// kept anyway.
struct Part {
  std::set<NodeId> nodes;
  std::set<ValueId> kept;
};

Part PartOf(const Graph& graph, const Segment& segment, const std::set<NodeId>& forward) {
  Part part;
  for (const NodeId id : segment)
    if (CanRepeat(graph.node(id))) part.nodes.insert(id);
  for (const NodeId id : part.nodes) {
    for (const ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      const std::vector<NodeId>& users = graph.users(output);
      const bool crosses = std::any_of(users.begin(), users.end(), [&](NodeId user) {
        return forward.count(user) > 0 && part.nodes.count(user) == 0;
      });
      if (crosses || graph.is_output(output)) part.kept.insert(output);
    }
  }
  return part;
}

// `time`: the place of a node in the forward pass or, of other nodes, of the last forward value
// that they are computed of. What is computed of a segment alone (masks, shapes) has a time within
// it, the backward pass that comes to it a later one.
struct Passes {
  std::vector<NodeId> order;
  std::set<NodeId> forward;
  std::map<NodeId, int> time;
};

Passes PassesOf(const Graph& graph, std::vector<NodeId> order, const std::vector<NodeId>& forward) {
  Passes passes{std::move(order), {forward.begin(), forward.end()}, {}};
  for (const NodeId id : forward) {
    const auto place = static_cast<int>(passes.time.size());
    passes.time[id] = place;
  }
  for (const NodeId id : passes.order) {
    if (passes.forward.count(id) > 0) continue;
    int time = -1;
    for (const ValueId read : ReadsOf(graph.node(id))) {
      const NodeId producer = graph.value(read).producer;
      if (producer.valid()) time = std::max(time, passes.time.at(producer));
    }
    passes.time[id] = time;
  }
  return passes;
}

// Returns whether anything reads the copy.
absl::StatusOr<bool> RecomputeSegment(Graph& graph, const Part& part, const Passes& passes) {
  int end = -1;
  for (const NodeId id : part.nodes) end = std::max(end, passes.time.at(id));
  std::set<NodeId> beside;  // computed of the segment's values, beside the backward pass
  const auto is_wanted = [&](ValueId id) {
    const NodeId producer = graph.value(id).producer;
    return producer.valid() && part.nodes.count(producer) > 0 && part.kept.count(id) == 0;
  };
  // When the first of the backward pass needs the segment, what was made just before is the token.
  ValueId token;
  bool reached = false;
  std::vector<NodeId> readers;
  for (const NodeId id : passes.order) {
    if (passes.forward.count(id) > 0) continue;
    const std::vector<ValueId> reads = ReadsOf(graph.node(id));
    const bool direct = std::any_of(reads.begin(), reads.end(), is_wanted);
    if (direct) readers.push_back(id);
    const bool needs = direct || std::any_of(reads.begin(), reads.end(), [&](ValueId read) {
                         return beside.count(graph.value(read).producer) > 0;
                       });
    if (passes.time.at(id) <= end) {
      if (needs) beside.insert(id);
      continue;
    }
    reached |= needs;
    if (reached) continue;
    for (const ValueId output : graph.node(id).outputs)
      if (output.valid() && graph.type(output).is_tensor()) token = output;
  }
  if (!token.valid()) return false;  // the last segment: its values are still there
  SegmentCopy copy(graph, part.nodes, token);
  bool copied = false;
  for (const NodeId reader : readers) {
    if (!graph.node(reader).subgraphs.empty()) continue;
    for (size_t i = 0; i < graph.node(reader).inputs.size(); ++i) {
      const ValueId read = graph.node(reader).inputs[i];
      if (!read.valid() || !is_wanted(read)) continue;
      ONWARD_ASSIGN_OR_RETURN(const ValueId again, copy.CopyOf(read));
      GraphEdit(graph).SetInput(reader, static_cast<int>(i), again);
      copied = true;
    }
  }
  return copied;
}

}  // namespace

absl::StatusOr<std::vector<NodeId>> ForwardNodes(const Graph& graph, ValueId loss) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  std::set<NodeId> wanted;
  std::vector<ValueId> pending = {loss};
  while (!pending.empty()) {
    const NodeId producer = graph.value(pending.back()).producer;
    pending.pop_back();
    if (!producer.valid() || !wanted.insert(producer).second) continue;
    for (const ValueId read : ReadsOf(graph.node(producer))) pending.push_back(read);
  }
  std::vector<NodeId> forward;
  for (const NodeId id : order)
    if (wanted.count(id) > 0) forward.push_back(id);
  return forward;
}

absl::StatusOr<std::vector<Segment>> NamedSegments(const Graph& graph, ValueId loss,
                                                   absl::Span<const std::string> patterns) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> forward, ForwardNodes(graph, loss));
  std::vector<Segment> segments;
  for (const std::string& pattern : patterns) {
    Segment segment;
    for (const NodeId id : forward) {
      const Node& node = graph.node(id);
      const bool matches =
          MatchesPattern(node.name, pattern) ||
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
            return output.valid() && MatchesPattern(graph.value(output).name, pattern);
          });
      if (matches) segment.push_back(id);
    }
    if (segment.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no node of the forward pass is named as '", pattern, "'"));
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

absl::StatusOr<std::vector<Segment>> EvenSegments(const Graph& graph, ValueId loss, int count) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> forward, ForwardNodes(graph, loss));
  const std::set<NodeId> is_forward(forward.begin(), forward.end());
  const size_t n = forward.size();
  std::map<NodeId, size_t> place;
  for (size_t i = 0; i < n; ++i) place[forward[i]] = i;
  // made[i]: bytes up to node i; crossing[i]: bytes that a cut after node i would keep.
  std::vector<int64_t> made(n, 0), crossing(n + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    made[i] = i == 0 ? 0 : made[i - 1];
    for (const ValueId output : graph.node(forward[i]).outputs) {
      if (!output.valid()) continue;
      const int64_t bytes = BytesOf(graph.type(output));
      made[i] += bytes;
      size_t last = i;
      for (const NodeId user : graph.users(output))
        if (is_forward.count(user) > 0) last = std::max(last, place[user]);
      crossing[i] += bytes;
      crossing[last] -= bytes;
    }
  }
  for (size_t i = 1; i < n; ++i) crossing[i] += crossing[i - 1];
  std::vector<Segment> segments;
  size_t begin = 0;
  for (int k = 1; k <= count && begin < n; ++k) {
    // The cheapest cut near the even one.
    size_t end = n;
    if (k < count) {
      const auto share = [&](double parts) {
        const auto bytes = static_cast<int64_t>(static_cast<double>(made[n - 1]) * parts / count);
        return static_cast<size_t>(std::lower_bound(made.begin(), made.end(), bytes) -
                                   made.begin());
      };
      const size_t low = std::max(begin, share(k - 0.4)), high = std::min(n - 1, share(k + 0.4));
      size_t best = low;
      for (size_t i = low; i <= high; ++i)
        if (crossing[i] < crossing[best]) best = i;
      end = best + 1;
    }
    if (end > begin) segments.emplace_back(forward.begin() + begin, forward.begin() + end);
    begin = end;
  }
  return segments;
}

absl::StatusOr<int> Recompute(Graph& graph, ValueId loss, absl::Span<const Segment> segments,
                              int& budget) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> forward, ForwardNodes(graph, loss));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  const Passes passes = PassesOf(graph, order, forward);
  int patches = 0;
  for (const Segment& segment : segments) {
    if (budget <= 0) break;
    ONWARD_ASSIGN_OR_RETURN(
        const bool copied, RecomputeSegment(graph, PartOf(graph, segment, passes.forward), passes));
    patches += copied;
    budget -= copied;
  }
  return patches;
}

Pass RecomputePass(size_t loss_output, std::vector<std::string> patterns, int count) {
  Pass pass{.name = "recompute", .run = nullptr, .in_bodies = false};
  pass.run = [loss_output, patterns = std::move(patterns), count](
                 Graph& graph, const PassOptions&, int& budget) -> absl::StatusOr<int> {
    const ValueId loss = graph.outputs()[loss_output];
    ONWARD_ASSIGN_OR_RETURN(
        const std::vector<Segment> segments,
        patterns.empty() ? EvenSegments(graph, loss, count) : NamedSegments(graph, loss, patterns));
    return Recompute(graph, loss, segments, budget);
  };
  return pass;
}

}  // namespace onward::training
