// Adagrad, Adam and Momentum of ai.onnx.preview.training. Inputs are R, T, then the tensors in
// groups: all X, all G, then one group for each kind of moment; outputs are X and the moments.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

struct AdagradRule {
  static constexpr int kMoments = 1;
  float norm, decay, epsilon;
  explicit AdagradRule(const Attributes& a)
      : norm(a.Float("norm_coefficient", 0)),
        decay(a.Float("decay_factor", 0)),
        epsilon(a.Float("epsilon", 1e-6f)) {}
  double Rate(double rate, double step) const {
    return rate / (1 + step * static_cast<double>(decay));
  }
  template <typename T>
  void Update(T rate, bool, T x, T g, const T* moments, T* out) const {
    const T gradient = T(norm) * x + g;
    out[1] = moments[0] + gradient * gradient;
    out[0] = x - rate * gradient / (std::sqrt(out[1]) + T(epsilon));
  }
};

struct AdamRule {
  static constexpr int kMoments = 2;
  float norm, norm_post, alpha, beta, epsilon;
  explicit AdamRule(const Attributes& a)
      : norm(a.Float("norm_coefficient", 0)),
        norm_post(a.Float("norm_coefficient_post", 0)),
        alpha(a.Float("alpha", 0.9f)),
        beta(a.Float("beta", 0.999f)),
        epsilon(a.Float("epsilon", 1e-6f)) {}
  double Rate(double rate, double step) const {
    if (step <= 0) return rate;
    return rate * std::sqrt(1 - std::pow(static_cast<double>(beta), step)) /
           (1 - std::pow(static_cast<double>(alpha), step));
  }
  template <typename T>
  void Update(T rate, bool, T x, T g, const T* moments, T* out) const {
    const T gradient = T(norm) * x + g;
    out[1] = T(alpha) * moments[0] + (1 - T(alpha)) * gradient;
    out[2] = T(beta) * moments[1] + (1 - T(beta)) * gradient * gradient;
    out[0] = (1 - T(norm_post)) * (x - rate * out[1] / (std::sqrt(out[2]) + T(epsilon)));
  }
};

struct MomentumRule {
  static constexpr int kMoments = 1;
  float norm, alpha, beta;
  bool nesterov;
  explicit MomentumRule(const Attributes& a)
      : norm(a.Float("norm_coefficient", 0)),
        alpha(a.Float("alpha", 0)),
        beta(a.Float("beta", 0)),
        nesterov(a.String("mode", "") == "nesterov") {}
  double Rate(double rate, double) const { return rate; }
  template <typename T>
  void Update(T rate, bool first, T x, T g, const T* moments, T* out) const {
    const T gradient = T(norm) * x + g;
    out[1] = T(alpha) * moments[0] + (first ? T(1) : T(beta)) * gradient;
    out[0] = x - rate * (nesterov ? gradient + T(alpha) * out[1] : out[1]);
  }
};

template <typename Rule>
class Optimizer : public Kernel {
 public:
  Optimizer(Rule rule, int tensors) : rule_(rule), tensors_(tensors) {}

  absl::Status Bind(BindContext& context) const override {
    for (int i : {0, 1}) {
      if (NumElements(context.input_dims(i)) != 1) {
        return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "R" : "T", " has shape ",
                                                       DimsString(context.input_dims(i)),
                                                       ", must have one element"));
      }
    }
    for (int t = 0; t < tensors_; ++t) {
      const DimsView dims = context.input_dims(2 + t);
      for (int group = 1; group < 2 + Rule::kMoments; ++group) {
        const int at = 2 + group * tensors_ + t;
        if (context.input_dims(at) == dims) continue;
        return absl::InvalidArgumentError(absl::StrCat("input ", at, " has shape ",
                                                       DimsString(context.input_dims(at)),
                                                       ", its tensor has ", DimsString(dims)));
      }
      for (int group = 0; group < 1 + Rule::kMoments; ++group) {
        const int out = group * tensors_ + t;
        if (!context.has_output(out)) continue;
        context.SetOutput(out, dims);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const double step = static_cast<double>(*context.in<int64_t>(1));
    double rate = 0;
    DispatchDType(Types(), context.input(0).dtype, [&](auto tag) {
      rate = static_cast<double>(*context.in<Element<decltype(tag)>>(0));
    });
    rate = rule_.Rate(rate, step);
    for (int t = 0; t < tensors_; ++t) {
      DispatchDType(Types(), context.input(2 + t).dtype, [&](auto tag) {
        UpdateTensor<Element<decltype(tag)>>(context, t, rate, step <= 0);
      });
    }
    return absl::OkStatus();
  }

 private:
  using Types = TypeList<float, double>;
  template <typename Tag>
  using Element = typename Tag::type;

  template <typename T>
  void UpdateTensor(const RunContext& context, int t, double rate, bool first) const {
    constexpr int kMoments = Rule::kMoments;
    const T* in[2 + kMoments];
    T* out[1 + kMoments];
    for (int group = 0; group < 2 + kMoments; ++group)
      in[group] = context.in<T>(2 + group * tensors_ + t);
    for (int group = 0; group < 1 + kMoments; ++group) {
      const int at = group * tensors_ + t;
      out[group] = context.has_output(at) ? context.out<T>(at) : nullptr;
    }
    context.ParallelFor(
        context.input(2 + t).num_elements(), kMathGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            T moments[kMoments], updated[1 + kMoments];
            for (int m = 0; m < kMoments; ++m) moments[m] = in[2 + m][i];
            rule_.Update(static_cast<T>(rate), first, in[0][i], in[1][i], moments, updated);
            for (int m = 0; m < 1 + kMoments; ++m)
              if (out[m] != nullptr) out[m][i] = updated[m];
          }
        });
  }

  Rule rule_;
  int tensors_;
};

// The number of optimized tensors; every group must have the dtypes of the first.
absl::StatusOr<int> CountTensors(const NodeSpec& spec, int groups) {
  const int given = spec.num_inputs() - 2;
  if (given <= 0 || given % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " tensors after R and T are not ", groups, " groups of equal size"));
  }
  const int tensors = given / groups;
  for (int i = 0; i < given; ++i) {
    const DType dtype = spec.input_dtype(2 + i);
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return NoLoopFor(dtype);
    if (dtype != spec.input_dtype(2 + i % tensors)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", 2 + i, " is ", std::string(DTypeName(dtype)), ", its tensor is ",
                       std::string(DTypeName(spec.input_dtype(2 + i % tensors)))));
    }
  }
  return tensors;
}

template <typename Rule>
Made Make(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const int tensors, CountTensors(spec, 2 + Rule::kMoments));
  return std::make_unique<Optimizer<Rule>>(Rule(spec.attributes()), tensors);
}

Made MakeMomentum(const NodeSpec& spec) {
  const std::string mode = spec.attributes().String("mode", "");
  if (mode != "nesterov" && mode != "standard") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is '", mode, "', not nesterov or standard"));
  }
  return Make<MomentumRule>(spec);
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr KernelEntry kKernels[] = {
    {kTraining, "Adagrad", "adagrad_reference", Make<AdagradRule>},
    {kTraining, "Adam", "adam_reference", Make<AdamRule>},
    {kTraining, "Momentum", "momentum_reference", MakeMomentum},
};

}  // namespace

KernelList ReferenceOptimizers() { return kKernels; }

}  // namespace onward::kernels::cpu
