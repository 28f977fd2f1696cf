// Modules whose input features are those of what they are first called on. Their parameters are
// made there; names and starts are those of the modules that they become.
#pragma once

#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "onward/nn/conv.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"

namespace onward::nn {

template <typename M>
class Lazy : public Layer {
 public:
  Expr Forward(const Expr& x) override {
    if (module_ == nullptr && x.valid()) Make(x);
    return module_ == nullptr ? Expr() : module_->Forward(x);
  }
  // Null before the first call.
  M* module() const { return module_.get(); }

 protected:
  using Maker = std::function<std::unique_ptr<M>(Module& self, int64_t features)>;
  // The features are dim `axis` of the input, from the end where it is negative.
  Lazy(Module& parent, std::string_view name, int64_t axis, Maker make)
      : Layer(parent, name), axis_(axis), make_(std::move(make)) {}

 private:
  void Make(const Expr& x) {
    const auto& shape = x.type().shape;
    const auto rank = shape ? static_cast<int64_t>(shape->size()) : 0;
    const int64_t at = axis_ < 0 ? axis_ + rank : axis_;
    const bool known = at >= 0 && at < rank && (*shape)[static_cast<size_t>(at)].known();
    if (!Require(known, absl::StrCat("needs to know dim ", axis_, " of its input, which is ",
                                     x.type().ToString())))
      return;
    module_ = make_(*this, (*shape)[static_cast<size_t>(at)].value());
  }

  const int64_t axis_;
  const Maker make_;
  std::unique_ptr<M> module_;
};

struct LazyLinear : Lazy<Linear> {
  LazyLinear(Module& parent, std::string_view name, int64_t out,
             const Linear::Options& options = {true})
      : Lazy(parent, name, -1, [=](Module& self, int64_t in) {
          return std::make_unique<Linear>(self, "", in, out, options);
        }) {}
};

template <int64_t rank>
struct LazyConvNd : Lazy<Conv> {
  LazyConvNd(Module& parent, std::string_view name, int64_t out, Sizes kernel,
             const ConvOptions& options = {})
      : Lazy(parent, name, 1, [=](Module& self, int64_t in) {
          return std::make_unique<Conv>(self, "", rank, in, out, kernel, options);
        }) {}
};
template <int64_t rank>
struct LazyConvTransposeNd : Lazy<ConvTranspose> {
  LazyConvTransposeNd(Module& parent, std::string_view name, int64_t out, Sizes kernel,
                      const ConvTransposeOptions& options = {})
      : Lazy(parent, name, 1, [=](Module& self, int64_t in) {
          return std::make_unique<ConvTranspose>(self, "", rank, in, out, kernel, options);
        }) {}
};
using LazyConv1d = LazyConvNd<1>;
using LazyConv2d = LazyConvNd<2>;
using LazyConv3d = LazyConvNd<3>;
using LazyConvTranspose1d = LazyConvTransposeNd<1>;
using LazyConvTranspose2d = LazyConvTransposeNd<2>;
using LazyConvTranspose3d = LazyConvTransposeNd<3>;

struct LazyBatchNorm : Lazy<BatchNorm> {
  LazyBatchNorm(Module& parent, std::string_view name, const BatchNormOptions& options = {})
      : Lazy(parent, name, 1, [=](Module& self, int64_t channels) {
          return std::make_unique<BatchNorm>(self, "", channels, options);
        }) {}
};
using LazyBatchNorm1d = LazyBatchNorm;
using LazyBatchNorm2d = LazyBatchNorm;
using LazyBatchNorm3d = LazyBatchNorm;

// By default affine and with running statistics, as PyTorch's.
struct LazyInstanceNorm : Lazy<InstanceNorm> {
  LazyInstanceNorm(Module& parent, std::string_view name,
                   const InstanceNormOptions& options = {1e-5, true, 0.1, true})
      : Lazy(parent, name, 1, [=](Module& self, int64_t channels) {
          return std::make_unique<InstanceNorm>(self, "", channels, options);
        }) {}
};
using LazyInstanceNorm1d = LazyInstanceNorm;
using LazyInstanceNorm2d = LazyInstanceNorm;
using LazyInstanceNorm3d = LazyInstanceNorm;

}  // namespace onward::nn
