// SessionOptions::device_values: what cannot stay on a device is refused when the session is made.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onward/device_tensor.h"
#include "onward/session.h"
#include "onward/status.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

absl::StatusOr<std::unique_ptr<Session>> SessionThatKeeps(const std::vector<std::string>& names) {
  ONWARD_ASSIGN_OR_RETURN(
      Model model,
      testing::ModelFromText("g (float[n] x, string[n] words) => (float[n] y, "
                             "string[n] same) { y = Neg (x) same = Identity (words) }"));
  SessionOptions options;
  options.device_values = names;
  return Session::Create(std::move(model), options);
}

TEST(DeviceValues, AnUnknownNameIsNamedWithTheClosest) {
  const absl::Status status = SessionThatKeeps({"y", "word"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "'word' cannot stay on the device: the model has no such input or output; did you mean "
            "'words'? (they are: x, words, y, same)");
}

TEST(DeviceValues, StringsStayOnTheHost) {
  const absl::Status status = SessionThatKeeps({"words"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "'words' cannot stay on the device: it is string[n], and only tensors of numbers can");
}

TEST(DeviceValues, LieOnTheHostOfTheCpuProvider) {
  const auto session = SessionThatKeeps({"*"});
  ASSERT_TRUE(session.ok()) << session.status();
  Tensor words(DType::kString, Dims{2});
  const auto outputs = (*session)->Run(
      {{"x", Value(*ToDevice(Tensor::Of<float>({2}, {1, 2}), "cpu"))}, {"words", Value(words)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const Tensor y = outputs->at("y").tensor();
  EXPECT_TRUE(y.device().is_host());
  EXPECT_TRUE(SameBits(y, Tensor::Of<float>({2}, {-1, -2})));
  EXPECT_EQ(ToHost(y)->raw_data(), y.raw_data());
}

TEST(DeviceTensor, AnUnknownProviderIsNamed) {
  const absl::Status status = ToDevice(Tensor::Of<float>({1}, {1}), "tpu").status();
  EXPECT_NE(status.message().find("tpu"), std::string::npos) << status;
}

}  // namespace
}  // namespace onward
