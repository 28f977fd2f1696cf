// Tensors on a device that other libraries share.
#include "onward/dlpack.h"

#include <dlpack/dlpack.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/device_tensor.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

TEST(DLPackOnDevice, SharesMemoryOfADevice) {
  Settings settings;
  settings.devices = 2;
  Configure(settings);
  const absl::StatusOr<Tensor> tensor = ToDevice(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}), "cuda:1");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  ResetCounters();
  DLManagedTensor* const shared = *ToDLPack(*tensor);
  EXPECT_EQ(shared->dl_tensor.data, tensor->raw_data());
  EXPECT_EQ(shared->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(shared->dl_tensor.device.device_id, 1);
  const absl::StatusOr<Tensor> back = FromDLPack(shared);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->device(), tensor->device());
  EXPECT_EQ(Counted().copies_to_host + Counted().copies_to_device, 0);
  EXPECT_THAT(ToHost(*back)->span<float>(), ::testing::ElementsAre(1, 2, 3, 4));
  Configure({});
}

}  // namespace
}  // namespace onward::emulated_cuda
