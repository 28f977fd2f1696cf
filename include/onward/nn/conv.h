// Convolutions of one to three dimensions and their transposes.
#pragma once

#include <initializer_list>

#include "onward/nn/module.h"

namespace onward::nn {

// One number for every axis of a window, or one an axis.
struct Sizes {
  std::vector<int64_t> values;
  Sizes(int64_t value) : values{value} {}                        // NOLINT
  Sizes(int value) : values{value} {}                            // NOLINT
  Sizes(std::initializer_list<int64_t> list) : values(list) {}   // NOLINT
  Sizes(std::vector<int64_t> list) : values(std::move(list)) {}  // NOLINT
  // As many as there are axes; empty when the numbers are not 1 or `rank`.
  std::vector<int64_t> For(int64_t rank) const;
};

enum class PaddingMode : uint8_t { kZeros, kReflect, kReplicate, kCircular };

struct ConvOptions {
  Sizes stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  PaddingMode padding_mode = PaddingMode::kZeros;
  bool same = false;  // PyTorch's padding="same": the output has the input's sizes
};

// Weight [out, in / groups, kernel...].
class Conv : public Layer {
 public:
  Conv(Module& parent, std::string_view name, int64_t rank, int64_t in, int64_t out, Sizes kernel,
       const ConvOptions& options);
  Expr Forward(const Expr& x) override;

  Expr weight, bias;

 private:
  const int64_t rank_, in_;
  const ConvOptions options_;
  std::vector<int64_t> begins_, ends_;  // padding
};

struct ConvTransposeOptions {
  Sizes stride = 1, padding = 0, output_padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

// Weight [in, out / groups, kernel...].
class ConvTranspose : public Layer {
 public:
  ConvTranspose(Module& parent, std::string_view name, int64_t rank, int64_t in, int64_t out,
                Sizes kernel, const ConvTransposeOptions& options);
  Expr Forward(const Expr& x) override;

  Expr weight, bias;

 private:
  const int64_t rank_, in_;
  const ConvTransposeOptions options_;
};

template <int64_t rank>
struct ConvNd : Conv {
  ConvNd(Module& parent, std::string_view name, int64_t in, int64_t out, Sizes kernel,
         const ConvOptions& options = {})
      : Conv(parent, name, rank, in, out, std::move(kernel), options) {}
};
template <int64_t rank>
struct ConvTransposeNd : ConvTranspose {
  ConvTransposeNd(Module& parent, std::string_view name, int64_t in, int64_t out, Sizes kernel,
                  const ConvTransposeOptions& options = {})
      : ConvTranspose(parent, name, rank, in, out, std::move(kernel), options) {}
};

using Conv1d = ConvNd<1>;
using Conv2d = ConvNd<2>;
using Conv3d = ConvNd<3>;
using ConvTranspose1d = ConvTransposeNd<1>;
using ConvTranspose2d = ConvTransposeNd<2>;
using ConvTranspose3d = ConvTransposeNd<3>;

}  // namespace onward::nn
