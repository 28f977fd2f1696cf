// Cases of gradients with what PyTorch's autograd returns: tests/training/gradient/make_cases.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"

namespace onward::testing {

struct GradientCase {
  std::string family, name, text;
  std::vector<std::string> wrt, constants;
  std::vector<std::string> sizes;  // inputs whose sizes are always known
  bool smooth = true;              // finite differences are meaningful
  bool fixed = false;              // needs all sizes
  bool second = true;              // the gradient has a gradient
  bool floats = true;              // other float dtypes may stand for double
  bool narrow = true;              // 16-bit inputs give nearly the same
  DType dtype = DType::kFloat64;   // float for ops without double
  double rtol = 1e-9;
  std::map<std::string, Tensor> arrays;  // "x", "y", "d_y", "g_x"
};

// `folder` has <family>.txt and <family>.npz.
absl::StatusOr<std::vector<GradientCase>> GradientCases(const std::string& folder,
                                                        const std::string& family);

// The sizes that the graph's types state: all, symbols for those above 1, or not even the rank.
enum class Sizes { kKnown, kSymbols, kOpen };

// The variant in which the case's graph is made of its text.
struct GradientVariant {
  DType dtype = DType::kFloat64;
  Sizes sizes = Sizes::kKnown;
  bool onward_ops = false;  // rules may use them
};

// The forward graph. Integer inputs that shape the outputs are constants.
absl::StatusOr<Model> ForwardModel(const GradientCase& c, const GradientVariant& variant);

// The same with outputs "g_<input>", the gradients that come of the outputs' given cotangents.
absl::StatusOr<Model> DifferentiatedModel(const GradientCase& c, const GradientVariant& variant);

// The arrays of the session's inputs; floats in `dtype`.
Session::Inputs CaseInputs(const GradientCase& c, const Session& session, DType dtype);

// A tensor of floats in another float dtype.
Tensor ToFloat(const Tensor& tensor, DType dtype);

}  // namespace onward::testing
