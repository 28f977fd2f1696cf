// Sessions of one model on the emulated device and on the CPU, whose runs are compared.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "onward/session.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward::emulated_cuda {

// Null, with a failure of the test, where the model has no session.
inline std::unique_ptr<Session> SessionOn(const std::string& provider, const char* text) {
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

// Both give the same output "y" for the inputs.
inline void ExpectEqualOutputs(Session& device, Session& host, const Session::Inputs& inputs) {
  const auto expected = host.Run(inputs), actual = device.Run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 1e-5, 1e-5),
            "");
}

}  // namespace onward::emulated_cuda
