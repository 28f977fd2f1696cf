// Every case of every family on the emulated device, and every kernel of the device by a case.
#include "tests/cases/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "onward/session.h"
#include "tests/cases/case_model.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

// Kernels of ops that have no cases, and the tests that run them on the device.
const std::map<std::string, std::string> kTestedElsewhere = {
    {"adadelta_step_cuda", "optimizer_steps_test"},
    {"add_layer_normalization_cuda", "rows_test"},
    {"add_rms_normalization_cuda", "rows_test"},
    {"adagrad_step_cuda", "optimizer_steps_test"},
    {"adam_step_cuda", "optimizer_steps_test"},
    {"after_cuda", "elementwise_test"},
    {"all_reduce_cuda", "cli/launch_cuda_test"},
    {"attention_cudnn", "attention_test"},
    {"attention_gradient_cuda", "attention_gradient_test"},
    {"attention_gradient_cudnn", "attention_gradient_test"},
    {"batch_normalization_gradient_cuda", "batch_normalization_test"},
    {"bernoulli_cuda", "random_test"},
    {"clip_gradient_cuda", "gradients_test"},
    {"conv_transpose_cublaslt", "conv_transpose_test"},
    {"conv_weight_gradient_cudnn", "conv_weight_gradient_test"},
    {"elementwise_nvrtc", "fused_elementwise_test"},
    {"fused_conv_cudnn", "images_test"},
    {"fused_depthwise_conv_cuda", "images_test"},
    {"fused_matmul_cublaslt", "products_test"},
    {"fused_pointwise_conv_cublaslt", "images_test"},
    {"if_cuda", "bodies_test"},
    {"layer_normalization_gradient_cuda", "rows_test"},
    {"lion_step_cuda", "optimizer_steps_test"},
    {"loop_cuda", "bodies_test"},
    {"max_pool_gradient_cuda", "gradients_test"},
    {"nadam_step_cuda", "optimizer_steps_test"},
    {"narrow_layer_normalization_cuda", "rows_test"},
    {"narrow_rms_normalization_cuda", "rows_test"},
    {"radam_step_cuda", "optimizer_steps_test"},
    {"random_normal_cuda", "random_test"},
    {"random_normal_like_cuda", "random_test"},
    {"random_uniform_cuda", "random_test"},
    {"random_uniform_like_cuda", "random_test"},
    {"relu_gradient_cuda", "gradients_test"},
    {"require_shape_cuda", "require_shape_test"},
    {"rmsprop_step_cuda", "optimizer_steps_test"},
    {"scan_cuda", "bodies_test"},
    {"sgd_step_cuda", "optimizer_steps_test"},
    {"softmax_cross_entropy_loss_gradient_cuda", "losses_test"},
    {"wide_softmax_cross_entropy_loss_cuda", "losses_test"},
};

absl::StatusOr<std::unique_ptr<Session>> SessionOf(const cases::OpCase& c) {
  SessionOptions options;
  options.provider = "cuda";
  options.num_threads = 1;
  options.optimize = false;
  return Session::Create(cases::CaseModel(c, 0), options);
}

// Runs the case and notes the device's kernels that it ran.
void RunCase(const cases::OpCase& c, std::set<std::string>& ran) {
  SCOPED_TRACE(absl::StrCat(c.domain, " ", c.op, " ", c.name));
  auto session = SessionOf(c);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const NodeExplanation& node : (*session)->Explain())
    if (node.provider == "cuda") ran.insert(node.kernel);
  EXPECT_EQ(cases::CaseDifference(c, **session), "");
}

TEST(DeviceCases, HaveTheExpectedValuesAndReachEveryKernel) {
  Configure({.order = Order::kLate});
  std::set<std::string> ran;
  for (const cases::OpCase& c : cases::AllCases()) RunCase(c, ran);
  Configure({});
  const auto provider = executors::FindProvider("cuda");
  ASSERT_TRUE(provider.ok()) << provider.status();
  for (const KernelEntry& entry : (*provider)->kernels()) {
    const std::string name(entry.name);
    EXPECT_EQ(ran.count(name) + kTestedElsewhere.count(name), 1u)
        << name << (ran.count(name) ? " has a case after all" : " has no case in tests/cases");
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
