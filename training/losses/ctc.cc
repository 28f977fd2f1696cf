// Connectionist temporal classification (Graves et al. 2006): the forward recursion over the target
// with blanks between its labels, in logarithms. Its gradient is the recursion's own.
#include <limits>

#include "absl/strings/str_cat.h"
#include "onward/dtype.h"
#include "training/losses/operands.h"
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

// Stands for the logarithm of 0: sums of it stay finite in float, so that no gradient is NaN.
constexpr double kNever = -1e30;

// 0, 1, ..., count - 1.
Expr Positions(const Expr& count) {
  ExprSink& sink = *count.sink();
  return expr::Op("Range", {sink.Scalar(0, DType::kInt64), count, sink.Scalar(1, DType::kInt64)});
}

// `index`, of which Gather refuses what is not in [0, count): no number counts from the end.
Expr Within(const Expr& index, const Expr& count) {
  const Expr none = Reshape(count, std::vector<int64_t>());
  const Expr checked = Where(Less(index, ScalarLike(index, 0)), none, index);
  return Gather(Positions(none), checked);
}

// Labels [batch, longest] of labels in a row; what is beyond a target's length is any label.
Expr Padded(const Expr& row, const Expr& lengths, int64_t blank) {
  const Expr sums = expr::Op("CumSum", {lengths, lengths.sink()->Scalar(0, DType::kInt64)});
  const Expr ends = Within(sums, Size(row) + 1.0);
  const Expr longest = ReduceMax(lengths, {}, false);
  const Expr index = Unsqueeze(ends - lengths, {1}) + Unsqueeze(Positions(longest), {0});
  // There is a label to point at where the row is empty.
  const Expr labels = expr::Concat({row, row.sink()->Ints({blank})}, 0);
  return Gather(labels, Min(index, Size(row)));
}

// The target with blanks around its labels [batch, 2 * longest + 1], and where a step may pass
// over the blank before a label: where that differs from the label before.
struct Track {
  Expr labels, passes;
};

Track MakeTrack(const Expr& targets, const Expr& lengths, int64_t blank) {
  ExprSink& sink = *targets.sink();
  const Expr batch = Shape(targets, 0, 1), longest = Shape(targets, 1, 2);
  const Expr places = Positions(Squeeze(longest, {0}));
  const Expr real = Less(Unsqueeze(places, {0}), Unsqueeze(lengths, {1}));
  const Expr blanks = ScalarLike(targets, static_cast<double>(blank));
  const Expr labels = Where(real, targets, blanks);
  const Expr pairs =
      expr::Concat({Unsqueeze(Expand(blanks, Shape(targets)), {2}), Unsqueeze(labels, {2})}, 2);
  const Expr rows = Reshape(pairs, expr::Concat({batch, longest * 2.0}, 0), true);
  const Expr end = Expand(blanks, expr::Concat({batch, sink.Ints({1})}, 0));
  Track track;
  track.labels = expr::Concat({rows, end}, 1);
  const Expr before = expr::Op("Pad", {track.labels, sink.Ints({0, 2, 0, -2}), blanks});
  // The first label comes after nothing: whatever passes there comes from nowhere.
  track.passes = Not(Equal(track.labels, before));
  return track;
}

Expr LogSumExp(const std::vector<Expr>& parts) {
  std::vector<Expr> rows;
  for (const Expr& part : parts) rows.push_back(Unsqueeze(part, {0}));
  Attributes attributes;
  attributes.Set("keepdims", Attribute(int64_t{0}));
  return expr::Op("ReduceLogSumExp", {expr::Concat(rows, 0), parts[0].sink()->Ints({0})},
                  std::move(attributes));
}

// The logarithms of the probabilities to be at each place of the track after the last frame.
Expr Forward(const Expr& emissions, const Track& track, const Expr& lengths) {
  ExprSink& sink = *emissions.sink();
  const Expr never = ScalarLike(emissions, kNever);
  const Expr place = Positions(Squeeze(Shape(track.labels, 1, 2), {0}));
  const Expr at_first = Equal(place, sink.Scalar(0, DType::kInt64));
  const Expr begin = Expand(Where(at_first, ScalarLike(emissions, 0), never), Shape(track.labels));
  const Expr frames = Positions(Squeeze(Shape(emissions, 0, 1), {0}));
  const Expr stops = Unsqueeze(lengths, {1});
  const Expr one = sink.Ints({0, 1, 0, -1}), two = sink.Ints({0, 2, 0, -2});
  const auto frame = [&](ExprSink&, const std::vector<Expr>& carried,
                         const std::vector<Expr>& elements) {
    const Expr& at = carried[0];
    const Expr from_label = Where(track.passes, expr::Op("Pad", {at, two, never}), never);
    const Expr next = LogSumExp({at, expr::Op("Pad", {at, one, never}), from_label}) + elements[0];
    const Expr counts = Less(elements[1], stops);
    return expr::BodyResult{{}, {Where(counts, AtLeast(next, kNever), at)}, {}};
  };
  return sink.Scan({begin}, {emissions, frames}, frame)[0];
}

// One loss per target.
Expr Losses(const Expr& log_probabilities, const Expr& labels, const Expr& frames,
            const Expr& lengths, int64_t blank) {
  ExprSink& sink = *labels.sink();
  const Track track = MakeTrack(labels, lengths, blank);
  const Expr places =
      Expand(Unsqueeze(Within(track.labels, Shape(log_probabilities, 2, 3)), {0}),
             expr::Concat({Shape(log_probabilities, 0, 1), Shape(track.labels)}, 0));
  Attributes classes;
  classes.Set("axis", Attribute(int64_t{2}));
  const Expr emissions =
      AtLeast(expr::Op("GatherElements", {log_probabilities, places}, std::move(classes)), kNever);
  const Expr last = Forward(emissions, track, frames);
  Attributes place;
  place.Set("axis", Attribute(int64_t{1}));
  const Expr end = Unsqueeze(lengths * 2.0, {1});
  const Expr at_blank = expr::Op("GatherElements", {last, end}, place);
  const Expr before = Max(end - 1.0, sink.Ints({0}));
  const Expr empty = Equal(end, sink.Ints({0}));
  const Expr at_label =
      Where(empty, ScalarLike(last, kNever), expr::Op("GatherElements", {last, before}, place));
  return -Squeeze(LogSumExp({at_blank, at_label}), {1});
}

}  // namespace

Expr Ctc(const Expr& log_probabilities, const Expr& targets, const Expr& given_frames,
         const Expr& given_lengths, const CtcOptions& options) {
  const auto& shape = log_probabilities.type().shape;
  if (shape && shape->size() != 3)
    return Refused(log_probabilities,
                   absl::StrCat("loss ctc: the scores are ", log_probabilities.type().ToString(),
                                ", must be [frames, batch, classes]"));
  if (!IsInteger("ctc", targets, "the target") || !IsInteger("ctc", given_frames, "frames") ||
      !IsInteger("ctc", given_lengths, "lengths"))
    return {};
  const Expr frames = OnePer("ctc", log_probabilities, 1, given_frames, "frames");
  const Expr lengths = OnePer("ctc", log_probabilities, 1, given_lengths, "lengths");
  if (!frames.valid() || !lengths.valid()) return {};
  const DType dtype = log_probabilities.dtype();
  const Expr logs =
      dtype == DType::kFloat64 ? log_probabilities : Cast(log_probabilities, DType::kFloat32);
  const bool in_a_row = targets.type().shape && targets.type().shape->size() == 1;
  const Expr given = Cast(in_a_row ? targets : RowPer("ctc", lengths, targets), DType::kInt64);
  if (!given.valid()) return {};
  const Expr stops = Within(Cast(frames, DType::kInt64), Shape(logs, 0, 1) + 1.0);
  const Expr longest = in_a_row ? Size(given) : Shape(given, 1, 2);
  const Expr sizes = Within(Cast(lengths, DType::kInt64), longest + 1.0);
  const Expr labels = in_a_row ? Padded(given, sizes, options.blank) : given;
  Expr loss = Losses(logs, labels, stops, sizes, options.blank);
  const Expr impossible = Greater(loss, ScalarLike(loss, -kNever / 2));
  const double instead = options.zero_infinity ? 0 : std::numeric_limits<double>::infinity();
  loss = Where(impossible, ScalarLike(loss, instead), loss);
  if (options.reduction == Reduction::kMean || options.per_label)
    loss = loss / Cast(Max(sizes, ScalarLike(sizes, 1)), loss.dtype());
  return Cast(Reduced(loss, options.reduction), dtype);
}

}  // namespace onward::loss
