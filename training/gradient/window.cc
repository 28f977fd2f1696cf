#include "training/gradient/window.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "training/gradient/parts.h"

namespace onward::gradient {

using namespace expr;  // NOLINT: formulas

namespace {

using Ints = std::vector<int64_t>;

std::optional<Ints> SpatialSizes(const Expr& x) {
  if (!x.type().shape) return std::nullopt;
  Ints sizes;
  for (size_t i = 2; i < x.type().shape->size(); ++i) {
    const Dim& dim = (*x.type().shape)[i];
    if (!dim.known()) return std::nullopt;
    sizes.push_back(dim.value());
  }
  return sizes;
}

Expr SpatialShape(const Expr& x) { return Op("Shape", {x}, {{"start", int64_t{2}}}); }

// The reach of the kernel, by axis.
Ints Extents(const Windows& w) {
  Ints extents;
  for (size_t i = 0; i < w.spatial(); ++i)
    extents.push_back((w.kernel[i] - 1) * w.dilations[i] + 1);
  return extents;
}

// Half of all padding, the smaller half first for SAME_UPPER.
void PlaceSame(const Expr& x, const Expr& y, bool upper, Windows& w) {
  const Expr strides = IntsLike(x, w.strides), extents = IntsLike(x, Extents(w));
  const Expr read = (SpatialShape(y) - 1.0) * strides + extents;
  const Expr total = Max(read - SpatialShape(x), IntsLike(x, {0}));
  const Expr small = total / 2.0;
  w.begin = upper ? small : total - small;
}

// The elements read after the last one, where sizes are open.
Expr OpenEnd(const Expr& x, const Expr& y, const Windows& w) {
  const Expr read = (SpatialShape(y) - 1.0) * IntsLike(x, w.strides) + IntsLike(x, Extents(w));
  return read - SpatialShape(x) - w.begin;
}

void PlaceFixed(const Ints& input, const Ints& output, const std::string& auto_pad, Ints pads,
                Windows& w) {
  const Ints extents = Extents(w);
  Ints end;
  for (size_t i = 0; i < w.spatial(); ++i) {
    const int64_t read = (output[i] - 1) * w.strides[i] + extents[i];
    const int64_t total = std::max<int64_t>(0, read - input[i]);
    if (auto_pad == "SAME_UPPER") pads[i] = total / 2;
    if (auto_pad == "SAME_LOWER") pads[i] = total - total / 2;
    end.push_back(read - input[i] - pads[i]);
  }
  pads.resize(w.spatial());
  w.fixed_begin = std::move(pads);
  w.fixed_end = std::move(end);
}

bool AllAre(const Ints& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

// `head`, then the axes from 2 on.
Ints WithBatch(Ints head, size_t spatial) {
  for (size_t i = 0; i < spatial; ++i) head.push_back(static_cast<int64_t>(2 + i));
  return head;
}

}  // namespace

Ints ListOr(const GradientScope& s, std::string_view name, Ints otherwise) {
  Ints list = s.attributes().Ints(name);
  return list.empty() ? std::move(otherwise) : std::move(list);
}

absl::Status CheckWindows(const GradientScope& s, const Ints& kernel, const Expr& x,
                          const Expr& y) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto check = [&](const char* name, const Ints& list, int64_t least, size_t length) {
    const bool fits =
        list.size() == length &&
        std::all_of(list.begin(), list.end(), [&](int64_t v) { return v >= least && v <= kMost; });
    if (fits || (list.empty() && &list != &kernel)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " is [", absl::StrJoin(list, ","),
                                                   "], must have ", length, " numbers of ", least,
                                                   " to 2^30"));
  };
  const size_t spatial = kernel.size();
  const Attributes& attributes = s.attributes();
  ONWARD_RETURN_IF_ERROR(check("kernel_shape", kernel, 1, std::max<size_t>(1, spatial)));
  ONWARD_RETURN_IF_ERROR(check("strides", attributes.Ints("strides"), 1, spatial));
  ONWARD_RETURN_IF_ERROR(check("dilations", attributes.Ints("dilations"), 1, spatial));
  ONWARD_RETURN_IF_ERROR(check("pads", attributes.Ints("pads"), -kMost, 2 * spatial));
  ONWARD_RETURN_IF_ERROR(check("output_padding", attributes.Ints("output_padding"), 0, spatial));
  for (const Expr& image : {x, y}) {
    if (!image.type().shape) continue;
    ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(image, 3));
    const auto sizes = SpatialSizes(image);
    const bool large = sizes && std::any_of(sizes->begin(), sizes->end(),
                                            [](int64_t size) { return size > kMost; });
    if (large || rank != static_cast<int64_t>(2 + spatial)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the windows are over ", spatial, " axes of up to 2^30 elements, ",
                       image.sink()->NameOf(image.id()), " is ", image.type().ToString()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Windows> WindowsOf(const GradientScope& s, const Expr& x, const Expr& y,
                                  Ints kernel) {
  ONWARD_RETURN_IF_ERROR(CheckWindows(s, kernel, x, y));
  const size_t spatial = kernel.size();
  Windows w;
  w.kernel = std::move(kernel);
  w.strides = ListOr(s, "strides", Ints(spatial, 1));
  w.dilations = ListOr(s, "dilations", Ints(spatial, 1));
  Ints pads = ListOr(s, "pads", Ints(2 * spatial, 0));
  const std::string auto_pad = s.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "VALID") pads.assign(2 * spatial, 0);
  // A window of one element needs no padding to keep the size.
  w.pointwise = AllAre(w.kernel, 1) && (auto_pad != "NOTSET" || AllAre(pads, 0));
  const auto input = SpatialSizes(x), output = SpatialSizes(y);
  if (input && output) {
    PlaceFixed(*input, *output, auto_pad, std::move(pads), w);
    w.begin = IntsLike(x, *w.fixed_begin);
    w.end = IntsLike(x, *w.fixed_end);
    return w;
  }
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PlaceSame(x, y, auto_pad == "SAME_UPPER", w);
  } else {
    pads.resize(spatial);
    w.begin = IntsLike(x, pads);
  }
  w.end = OpenEnd(x, y, w);
  return w;
}

void PlaceWindows(const Expr& x, const Expr& y, Ints before, Windows& w) {
  const auto input = SpatialSizes(x), output = SpatialSizes(y);
  if (input && output) {
    PlaceFixed(*input, *output, "NOTSET", std::move(before), w);
    w.begin = IntsLike(x, *w.fixed_begin);
    w.end = IntsLike(x, *w.fixed_end);
    return;
  }
  w.begin = IntsLike(x, before);
  w.end = OpenEnd(x, y, w);
}

absl::StatusOr<Ints> KernelOf(const GradientScope& s, int weight) {
  Ints kernel = s.attributes().Ints("kernel_shape");
  if (!kernel.empty()) return kernel;
  ONWARD_RETURN_IF_ERROR(RankOf(s.input(weight)).status());
  if (const auto sizes = SpatialSizes(s.input(weight))) return *sizes;
  return absl::UnimplementedError("the gradient needs the sizes of the kernel");
}

Expr PadForWindows(const Expr& x, const Windows& w) {
  const Expr axes = IntsLike(x, WithBatch({}, w.spatial()));
  return Op("Pad", {x, expr::Concat({w.begin, w.end}, 0), Expr(), axes});
}

Expr Convolve(const Expr& x, const Expr& weight, const Windows& w, int64_t groups) {
  Attributes attributes = {{"strides", w.strides}, {"dilations", w.dilations}, {"group", groups}};
  const auto negative = [](int64_t pad) { return pad < 0; };
  const bool plain = w.fixed_begin && w.fixed_end &&
                     std::none_of(w.fixed_begin->begin(), w.fixed_begin->end(), negative) &&
                     std::none_of(w.fixed_end->begin(), w.fixed_end->end(), negative);
  if (!plain) return Op("Conv", {PadForWindows(x, w), weight}, attributes);
  Ints pads = *w.fixed_begin;
  pads.insert(pads.end(), w.fixed_end->begin(), w.fixed_end->end());
  attributes.Set("pads", pads);
  return Op("Conv", {x, weight}, attributes);
}

Expr SpreadWindows(const Expr& dy, const Expr& weight, const Windows& w, int64_t groups) {
  Attributes attributes = {{"strides", w.strides}, {"dilations", w.dilations}, {"group", groups}};
  if (w.fixed_begin && w.fixed_end) {
    Ints pads = *w.fixed_begin, unread;
    for (const int64_t end : *w.fixed_end) {
      pads.push_back(std::max<int64_t>(end, 0));
      unread.push_back(std::max<int64_t>(-end, 0));
    }
    attributes.Set("pads", pads);
    attributes.Set("output_padding", unread);
    return Op("ConvTranspose", {dy, weight}, attributes);
  }
  const Expr all = Op("ConvTranspose", {dy, weight}, attributes);
  const Expr axes = IntsLike(dy, WithBatch({}, w.spatial()));
  return Op("Pad", {all, -expr::Concat({w.begin, w.end}, 0), Expr(), axes});
}

Expr SpreadEvenly(const Expr& dy, const Windows& w) {
  const Expr one = IntsLike(dy, {1}), channels = DimOf(dy, 0) * DimOf(dy, 1);
  const Expr flat = Reshape(dy, expr::Concat({channels, one, SpatialShape(dy)}, 0), true);
  Ints ones = {1, 1};
  ones.insert(ones.end(), w.kernel.begin(), w.kernel.end());
  const Expr weight = Expand(ScalarLike(dy, 1), IntsLike(dy, ones));
  const Expr spread = SpreadWindows(flat, weight, w, 1);
  const Expr batch = Shape(dy, 0, 2);
  return Reshape(spread, expr::Concat({batch, SpatialShape(spread)}, 0), true);
}

namespace {

// For windows of one element without padding: sums of products over the batch and all positions.
// The batch axes of one image are the kernel's axes.
Expr PointwiseWeightGradient(const Expr& x, const Expr& dy, const Windows& w) {
  const size_t spatial = w.spatial();
  const Ints axes = WithBatch({}, spatial);
  const Ints zeros(spatial, 0), ends(spatial, std::numeric_limits<int64_t>::max());
  const Expr read = AllAre(w.strides, 1) ? x : Slice(x, zeros, ends, axes, w.strides);
  const auto multiply = [&](std::string equation) {
    return Op("Einsum", {dy, read}, {{"equation", std::move(equation)}});
  };
  if (spatial == 2 && x.type().shape && (*x.type().shape)[0] == Dim(1))
    return multiply("kohw,lchw->ockl");
  const std::string positions = std::string("hwd").substr(0, spatial);
  return Unsqueeze(multiply(absl::StrCat("no", positions, ",nc", positions, "->oc")), axes);
}

}  // namespace

// A convolution of the input by the output's gradient: batch and channels are exchanged, and so are
// strides and dilations. The groups of channels, each with the batch, are the groups of it.
Expr WeightGradient(const Expr& x, const Expr& dy, const Windows& w, int64_t groups) {
  if (w.pointwise && groups == 1 && w.spatial() <= 3) return PointwiseWeightGradient(x, dy, w);
  const Ints exchange = WithBatch({1, 0}, w.spatial());
  const SymbolicDims dims = x.type().shape.value_or(SymbolicDims());
  const bool one_image = dims.size() > 1 && dims[0] == Dim(1) && dims[1] == Dim(groups);
  Expr images;
  if (groups == 1) {
    images = Transpose(x, exchange);
  } else if (one_image) {
    images = x;  // a group for each channel
  } else {
    const Expr group = IntsLike(x, {groups});
    const Expr channels = DimOf(x, 1) / group, sizes = SpatialShape(x);
    const Expr split = Reshape(x, expr::Concat({DimOf(x, 0), group, channels, sizes}, 0), true);
    Ints front = {2, 1, 0};
    for (size_t i = 0; i < w.spatial(); ++i) front.push_back(static_cast<int64_t>(3 + i));
    images = Reshape(Transpose(split, front),
                     expr::Concat({channels, group * DimOf(x, 0), sizes}, 0), true);
  }
  Attributes attributes = {{"strides", w.dilations}, {"dilations", w.strides}, {"group", groups}};
  const Expr filters = Transpose(dy, exchange);
  if (!w.fixed_begin || !w.fixed_end) {
    return Transpose(Op("Conv", {PadForWindows(images, w), filters}, attributes), exchange);
  }
  Ints pads = *w.fixed_begin;
  bool exact = true;
  for (const int64_t end : *w.fixed_end) {
    pads.push_back(std::max<int64_t>(end, 0));
    exact &= end >= 0;
  }
  attributes.Set("pads", pads);
  const Expr result = Transpose(Op("Conv", {images, filters}, attributes), exchange);
  return exact ? result : Slice(result, Ints(w.spatial(), 0), w.kernel, WithBatch({}, w.spatial()));
}

}  // namespace onward::gradient
