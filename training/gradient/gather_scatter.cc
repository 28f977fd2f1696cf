// Gathers, scatters and what picks by index.
#include "onward/shape.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

const Attributes kAdd = {{"reduction", std::string("add")}};

Attributes With(int64_t axis, const std::string& reduction) {
  return {{"axis", axis}, {"reduction", reduction}};
}

// Rows of x, with the gathered axis first, get the sums of the rows taken from them.
Gradients GatherRule(const GradientScope& s) {
  const Expr x = s.input(0), indices = s.input(1);
  if (!x.type().shape || !indices.type().shape) {
    const Expr positions = Op("Gather", {FlatPositions(x), indices}, s.attributes());
    return {{ScatterFlat(x, positions, s.upstream(0)), Expr()}};
  }
  const auto rank = static_cast<int64_t>(x.type().shape->size()),
             taken = static_cast<int64_t>(indices.type().shape->size());
  int64_t axis = s.attributes().Int("axis", 0);
  if (axis < 0) axis += rank;
  std::vector<int64_t> rows, back, front = {axis};
  for (int64_t i = 0; i < taken; ++i) rows.push_back(axis + i);
  for (int64_t i = 0; i < rank - 1 + taken; ++i) {
    if (i < axis || i >= axis + taken) rows.push_back(i);
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) front.push_back(i);
    back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
  }
  const Expr sizes = axis == 0 ? Shape(x) : Gather(Shape(x), IntsLike(x, front));
  const Expr zeros = Expand(ScalarLike(x, 0), sizes);
  const Expr dy = axis == 0 ? s.upstream(0) : Transpose(s.upstream(0), rows);
  const Expr wide = indices.dtype() == DType::kInt64 ? indices : Cast(indices, DType::kInt64);
  const Expr sums = Op("ScatterND", {zeros, Unsqueeze(wide, {-1}), dy}, kAdd);
  return {{axis == 0 ? sums : Transpose(sums, back), Expr()}};
}

Gradients GatherElementsRule(const GradientScope& s) {
  const int64_t axis = s.attributes().Int("axis", 0);
  return {
      {Op("ScatterElements", {ZerosLike(s.input(0)), s.input(1), s.upstream(0)}, With(axis, "add")),
       Expr()}};
}

Gradients GatherNDRule(const GradientScope& s) {
  const Expr x = s.input(0);
  if (s.attributes().Int("batch_dims", 0) == 0)
    return {{Op("ScatterND", {ZerosLike(x), s.input(1), s.upstream(0)}, kAdd), Expr()}};
  const Expr positions = Op("GatherND", {FlatPositions(x), s.input(1)}, s.attributes());
  return {{ScatterFlat(x, positions, s.upstream(0)), Expr()}};
}

// The ops by which ScatterElements and ScatterND write and read at the node's indices.
struct Places {
  const GradientScope& s;
  bool elements;

  Expr Write(const Expr& data, const Expr& updates, const std::string& reduction) const {
    if (elements) {
      return Op("ScatterElements", {data, s.input(1), updates},
                With(s.attributes().Int("axis", 0), reduction));
    }
    return Op("ScatterND", {data, s.input(1), updates}, {{"reduction", reduction}});
  }
  Expr Read(const Expr& data) const {
    if (elements) {
      return Op("GatherElements", {data, s.input(1)}, {{"axis", s.attributes().Int("axis", 0)}});
    }
    return Op("GatherND", {data, s.input(1)});
  }
};

std::vector<Expr> ReplacedGradients(const Places& places) {
  const Expr dy = places.s.upstream(0);
  return {places.Write(dy, ZerosLike(places.s.input(2)), "none"), Expr(), places.Read(dy)};
}

std::vector<Expr> ProductGradients(const Places& places) {
  const ZeroFactors data(places.s.input(0)), updates(places.s.input(2));
  const Expr count = places.Write(data.count, updates.count, "add");
  const Expr zeros = places.Write(data.zeros, updates.zeros, "add");
  const Expr product = places.s.upstream(0) * places.Write(data.nonzero, updates.nonzero, "mul");
  return {data.Others(count, zeros, product), Expr(),
          updates.Others(places.Read(count), places.Read(zeros), places.Read(product))};
}

// Equal extremes share the gradient.
std::vector<Expr> ExtremeGradients(const Places& places) {
  const Expr data = places.s.input(0), updates = places.s.input(2), y = places.s.output(0);
  const Expr data_hits = Cast(Equal(data, y), y.dtype());
  const Expr update_hits = Cast(Equal(updates, places.Read(y)), y.dtype());
  const Expr share = places.s.upstream(0) / places.Write(data_hits, update_hits, "add");
  return {data_hits * share, Expr(), update_hits * places.Read(share)};
}

template <bool elements>
Gradients ScatterRule(const GradientScope& s) {
  const Places places{s, elements};
  const std::string reduction = s.attributes().String("reduction", "none");
  if (reduction == "none") return ReplacedGradients(places);
  if (reduction == "add") return {{s.upstream(0), Expr(), places.Read(s.upstream(0))}};
  if (reduction == "mul") return ProductGradients(places);
  return ExtremeGradients(places);
}

// Rows of the update lie one after the other from the batch's index on.
Gradients TensorScatterRule(const GradientScope& s) {
  const Expr update = s.input(1), dy = s.upstream(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(update, 2));
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(s.attributes().Int("axis", -2), rank));
  std::vector<int64_t> along(static_cast<size_t>(rank), 1), batches = along;
  along[static_cast<size_t>(axis)] = -1;
  batches[0] = -1;
  Expr rows = Reshape(Iota(DimOf(update, axis)), along);
  if (s.has_input(2)) rows = rows + Reshape(s.input(2), batches);
  if (s.attributes().String("mode", "linear") == "circular")
    rows = Mod(rows, ScalarOf(DimOf(dy, axis)));
  const Expr indices = Expand(rows, Shape(update));
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = Op("TensorScatter", {dy, ZerosLike(update), s.input(2)}, s.attributes());
  gradients[1] = Op("GatherElements", {dy, indices}, {{"axis", axis}});
  return gradients;
}

Gradients TopKRule(const GradientScope& s) {
  const Expr x = s.input(0);
  const Expr indices =
      s.output(1).valid() ? s.output(1) : Ops("TopK", {x, s.input(1)}, 2, s.attributes())[1];
  return {{Op("ScatterElements", {ZerosLike(x), indices, s.upstream(0)},
              With(s.attributes().Int("axis", -1), "none")),
           Expr()}};
}

// `values` holds what is off and what is on.
Gradients OneHotRule(const GradientScope& s) {
  const Expr dy = s.upstream(0), values = s.input(2);
  const Expr off_on = Cast(IntsLike(values, {0, 1}), values.dtype());
  const Expr hot = Op("OneHot", {s.input(0), s.input(1), off_on}, s.attributes());
  const Expr on = ReduceSum(dy * hot, {}, false), all = ReduceSum(dy, {}, false);
  return {{Expr(), Expr(), expr::Concat({Unsqueeze(all - on, {0}), Unsqueeze(on, {0})}, 0)}};
}

constexpr training::GradientEntry kRules[] = {
    {"Gather", GatherRule},
    {"GatherElements", GatherElementsRule},
    {"GatherND", GatherNDRule},
    {"OneHot", OneHotRule},
    {"ScatterElements", ScatterRule<true>},
    {"ScatterND", ScatterRule<false>},
    {"TensorScatter", TensorScatterRule},
    {"TopK", TopKRule},
};

}  // namespace

GradientList GatherScatterGradients() { return kRules; }

}  // namespace onward::gradient
