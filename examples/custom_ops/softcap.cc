// A library with one operator of its own, my.ops.Softcap: Y = cap * tanh(X / cap), which keeps
// scores within (-cap, cap). It has a formula, which gives its types and runs for any float dtype;
// a kernel for float32 on the CPU; and a gradient. Use it with
//   onward run model.onnx --custom-ops libsoftcap.so
#include <onward/custom_ops.h>
#include <onward/gradient.h>

#include <cmath>

namespace {

using onward::Expr;

constexpr char kDomain[] = "my.ops";

std::vector<Expr> Softcap(const onward::FormulaCall& call) {
  const double cap = call.Float("cap");
  return {Tanh(call.input(0) / cap) * cap};
}

class SoftcapKernel : public onward::Kernel {
 public:
  explicit SoftcapKernel(float cap) : cap_(cap) {}

  // From shapes to shapes, once per set of input shapes.
  absl::Status Bind(onward::BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }

  absl::Status Run(onward::RunContext& context) const override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    constexpr int64_t kGrain = 1024;  // elements worth another thread
    context.ParallelFor(context.input(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = cap_ * std::tanh(x[i] / cap_);
    });
    return absl::OkStatus();
  }

 private:
  float cap_;
};

// Unimplemented sends the node on to the next kernel, and to the formula after the last one.
absl::StatusOr<std::unique_ptr<onward::Kernel>> MakeSoftcap(const onward::NodeSpec& spec) {
  if (spec.input_dtype(0) != onward::DType::kFloat32) {
    return absl::UnimplementedError("float32 only");
  }
  return std::make_unique<SoftcapKernel>(spec.attributes().Float("cap", 0));
}

// dX = dY * (1 - (Y / cap)^2).
absl::StatusOr<std::vector<Expr>> SoftcapGradient(const onward::GradientScope& scope) {
  const Expr ratio = scope.output(0) / static_cast<double>(scope.attributes().Float("cap", 0));
  return std::vector<Expr>{scope.upstream(0) * (1.0 - ratio * ratio)};
}

}  // namespace

extern "C" {

const char* onward_custom_ops_version() { return onward::kCustomOpsVersion; }

void onward_register_custom_ops(absl::Status* status) {
  *status = onward::RegisterCustomOp(
      {.domain = kDomain,
       .signature = "Softcap <cap: float> (X: T) -> (Y: T) where T = float16|bfloat16|float|double",
       .formula = Softcap,
       .kernels = {{"cpu", "softcap", MakeSoftcap}}});
  if (status->ok()) onward::RegisterGradient(kDomain, "Softcap", SoftcapGradient);
}

}  // extern "C"
