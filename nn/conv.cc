#include "onward/nn/conv.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

Dims WeightDims(int64_t first, int64_t second, const std::vector<int64_t>& kernel) {
  Dims dims = {first, second};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

// Returns the error in the numbers; empty when there is none.
std::string Wrong(int64_t rank, int64_t in, int64_t out, int64_t groups, const Sizes& kernel,
                  std::initializer_list<const Sizes*> others) {
  if (in < 1 || out < 1)
    return absl::StrCat("needs at least one channel on each side, got ", in, " to ", out);
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    return absl::StrCat(groups, " groups do not divide channels ", in, " to ", out);
  for (const Sizes* each : others) {
    const std::vector<int64_t> values = each->For(rank);
    if (values.empty())
      return absl::StrCat("give one number or ", rank, ", got ", each->values.size());
    if (*std::min_element(values.begin(), values.end()) < 0) return "sizes must not be negative";
  }
  const std::vector<int64_t> sizes = kernel.For(rank);
  if (sizes.empty() || *std::min_element(sizes.begin(), sizes.end()) < 1)
    return absl::StrCat("the kernel needs ", rank, " sizes of at least 1");
  return "";
}

const char* PadMode(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::kReflect:
      return "reflect";
    case PaddingMode::kReplicate:
      return "edge";
    case PaddingMode::kCircular:
      return "wrap";
    default:
      return "constant";
  }
}

}  // namespace

std::vector<int64_t> Sizes::For(int64_t rank) const {
  if (values.size() == 1) return std::vector<int64_t>(static_cast<size_t>(rank), values[0]);
  return static_cast<int64_t>(values.size()) == rank ? values : std::vector<int64_t>();
}

Conv::Conv(Module& parent, std::string_view name, int64_t rank, int64_t in, int64_t out,
           Sizes kernel, const ConvOptions& options)
    : Layer(parent, name), rank_(rank), in_(in), options_(options) {
  const std::string wrong = Wrong(rank, in, out, options.groups, kernel,
                                  {&options.stride, &options.padding, &options.dilation});
  if (!Require(wrong.empty(), wrong)) return;
  const std::vector<int64_t> sizes = kernel.For(rank), dilation = options.dilation.For(rank);
  begins_ = ends_ = options.padding.For(rank);
  if (options.same) {
    const std::vector<int64_t> stride = options.stride.For(rank);
    if (!Require(*std::max_element(stride.begin(), stride.end()) == 1,
                 "the same sizes need a stride of 1"))
      return;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t total = dilation[i] * (sizes[i] - 1);
      begins_[i] = total / 2;
      ends_[i] = total - begins_[i];
    }
  }
  const Dims dims = WeightDims(out, in / options.groups, sizes);
  weight = AddParameter("weight", dims, init::KaimingUniform(std::sqrt(5.0)));
  const double bound = 1 / std::sqrt(init::FansOf(dims).in);
  if (options.bias) bias = AddParameter("bias", {out}, init::Uniform(-bound, bound));
}

Expr Conv::Forward(const Expr& x) {
  if (!weight.valid() || !HasChannels(x, in_, rank_ + 2, "a convolution")) return {};
  Expr padded = x;
  std::vector<int64_t> pads(begins_);
  pads.insert(pads.end(), ends_.begin(), ends_.end());
  if (options_.padding_mode != PaddingMode::kZeros) {
    // Over every axis of the input: batch and channels have none.
    std::vector<int64_t> all = {0, 0};
    all.insert(all.end(), begins_.begin(), begins_.end());
    all.insert(all.end(), {0, 0});
    all.insert(all.end(), ends_.begin(), ends_.end());
    padded = Op("Pad", {x, x.sink()->Ints(all)},
                {{"mode", std::string(PadMode(options_.padding_mode))}});
    pads.assign(pads.size(), 0);
  }
  Attributes attributes = {{"strides", options_.stride.For(rank_)},
                           {"dilations", options_.dilation.For(rank_)},
                           {"pads", pads},
                           {"group", options_.groups}};
  std::vector<Expr> inputs = {padded, weight};
  if (bias.valid()) inputs.push_back(bias);
  return Op("Conv", inputs, std::move(attributes));
}

ConvTranspose::ConvTranspose(Module& parent, std::string_view name, int64_t rank, int64_t in,
                             int64_t out, Sizes kernel, const ConvTransposeOptions& options)
    : Layer(parent, name), rank_(rank), in_(in), options_(options) {
  const std::string wrong =
      Wrong(rank, in, out, options.groups, kernel,
            {&options.stride, &options.padding, &options.dilation, &options.output_padding});
  if (!Require(wrong.empty(), wrong)) return;
  const Dims dims = WeightDims(in, out / options.groups, kernel.For(rank));
  weight = AddParameter("weight", dims, init::KaimingUniform(std::sqrt(5.0)));
  const double bound = 1 / std::sqrt(init::FansOf(dims).in);
  if (options.bias) bias = AddParameter("bias", {out}, init::Uniform(-bound, bound));
}

Expr ConvTranspose::Forward(const Expr& x) {
  if (!weight.valid() || !HasChannels(x, in_, rank_ + 2, "a transposed convolution")) return {};
  std::vector<int64_t> pads = options_.padding.For(rank_);
  pads.insert(pads.end(), pads.begin(), pads.begin() + rank_);
  Attributes attributes = {{"strides", options_.stride.For(rank_)},
                           {"dilations", options_.dilation.For(rank_)},
                           {"output_padding", options_.output_padding.For(rank_)},
                           {"pads", pads},
                           {"group", options_.groups}};
  std::vector<Expr> inputs = {x, weight};
  if (bias.valid()) inputs.push_back(bias);
  return Op("ConvTranspose", inputs, std::move(attributes));
}

}  // namespace onward::nn
