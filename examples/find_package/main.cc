// Builds a model in C++ and runs it: y = relu(x w + b).
#include <onward/builder.h>
#include <onward/functions.h>
#include <onward/session.h>
#include <onward/status.h>

#include <cstdio>

namespace {

absl::Status Run() {
  using onward::Tensor;
  onward::GraphBuilder builder;
  const auto x = builder.Input("x", onward::DType::kFloat32, {"batch", 2});
  const auto w = builder.Constant(Tensor::Of<float>({2, 2}, {1, 0, 0, -1}), "w");
  const auto b = builder.Constant(Tensor::Of<float>({2}, {0.5f, 0.5f}), "b");
  builder.Output("y", Relu(MatMul(x, w) + b));
  ONWARD_ASSIGN_OR_RETURN(onward::Model model, builder.Build());
  ONWARD_ASSIGN_OR_RETURN(const auto session, onward::Session::Create(std::move(model)));
  ONWARD_ASSIGN_OR_RETURN(const auto outputs,
                          session->Run({{"x", Tensor::Of<float>({1, 2}, {3, 4})}}));
  const Tensor& y = outputs.at("y").tensor();
  std::printf("y = [%g, %g]\n", y.data<float>()[0], y.data<float>()[1]);
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
