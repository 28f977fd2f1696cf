#include "onward/dlpack.h"

#include <dlpack/dlpack.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A tensor of another library, which counts how often it is freed.
struct Foreign {
  alignas(kTensorAlignment) float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int freed = 0;
  DLManagedTensor managed = {};

  Foreign() {
    managed.dl_tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->freed;
    };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
};

std::string ErrorOf(Foreign& foreign) {
  const absl::StatusOr<Tensor> tensor = FromDLPack(&foreign.managed);
  EXPECT_FALSE(tensor.ok());
  EXPECT_EQ(foreign.freed, 0) << "the caller keeps it";
  return std::string(tensor.status().message());
}

TEST(DLPackTest, AnotherLibraryReadsTheSameMemory) {
  const Tensor tensor = Tensor::Of<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const absl::StatusOr<DLManagedTensor*> shared = ToDLPack(tensor);
  ASSERT_TRUE(shared.ok()) << shared.status();
  const DLTensor& seen = (*shared)->dl_tensor;
  EXPECT_EQ(seen.data, tensor.raw_data());
  EXPECT_EQ(seen.device.device_type, kDLCPU);
  EXPECT_EQ(seen.dtype.code, kDLInt);
  EXPECT_EQ(seen.dtype.bits, 64);
  ASSERT_EQ(seen.ndim, 2);
  EXPECT_EQ(seen.shape[0], 2);
  EXPECT_EQ(seen.shape[1], 3);
  EXPECT_EQ(seen.strides[0], 3);
  EXPECT_EQ(seen.strides[1], 1);
  (*shared)->deleter(*shared);
}

TEST(DLPackTest, MemoryOutlivesTheTensor) {
  DLManagedTensor* shared = nullptr;
  {
    const Tensor tensor = Tensor::Of<float>({3}, {1, 2, 3});
    shared = *ToDLPack(tensor);
  }
  const absl::StatusOr<Tensor> back = FromDLPack(shared);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->span<float>(), ElementsAre(1, 2, 3));
}

TEST(DLPackTest, EveryTypeComesBack) {
  for (const DType dtype :
       {DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8,
        DType::kUint16, DType::kUint32, DType::kUint64, DType::kFloat16, DType::kFloat32,
        DType::kFloat64, DType::kBFloat16, DType::kComplex64, DType::kComplex128}) {
    const absl::StatusOr<DLManagedTensor*> shared = ToDLPack(Tensor::Zeros(dtype, {2, 2}));
    ASSERT_TRUE(shared.ok()) << DTypeName(dtype);
    const absl::StatusOr<Tensor> back = FromDLPack(*shared);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_THAT(back->dims(), ElementsAre(2, 2));
  }
  for (const DType dtype : {DType::kString, DType::kFloat8E4M3FN, DType::kInt4})
    EXPECT_EQ(ToDLPack(Tensor::Zeros(dtype, {2})).status().code(),
              absl::StatusCode::kUnimplemented);
}

TEST(DLPackTest, ForeignMemoryIsUsedInPlaceAndFreedOnce) {
  Foreign foreign;
  {
    const absl::StatusOr<Tensor> tensor = FromDLPack(&foreign.managed);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->raw_data(), foreign.values);
    const Tensor copy = *tensor;
    EXPECT_EQ(foreign.freed, 0);
  }
  EXPECT_EQ(foreign.freed, 1);
}

TEST(DLPackTest, TransposedMemoryIsCopied) {
  Foreign foreign;
  foreign.shape[0] = 3, foreign.shape[1] = 2;
  foreign.strides[0] = 1, foreign.strides[1] = 3;
  const absl::StatusOr<Tensor> tensor = FromDLPack(&foreign.managed);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(foreign.freed, 1);
  EXPECT_THAT(tensor->span<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(DLPackTest, AnOffsetThatBreaksTheAlignmentIsCopied) {
  Foreign foreign;
  foreign.managed.dl_tensor.byte_offset = 4;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.shape[0] = 1;
  const absl::StatusOr<Tensor> tensor = FromDLPack(&foreign.managed);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->span<float>(), ElementsAre(2, 3, 4));
}

TEST(DLPackTest, ScalarsAndEmptyTensors) {
  Foreign scalar;
  scalar.managed.dl_tensor.ndim = 0;
  EXPECT_THAT(FromDLPack(&scalar.managed)->span<float>(), ElementsAre(1));
  Foreign empty;
  empty.shape[0] = 0;
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_THAT(FromDLPack(&empty.managed)->dims(), ElementsAre(0, 3));
  EXPECT_EQ(empty.freed, 1);
}

TEST(DLPackTest, WhatCannotBeTakenIsRefusedAndKept) {
  Foreign lanes;
  lanes.managed.dl_tensor.dtype.lanes = 4;
  EXPECT_THAT(ErrorOf(lanes), HasSubstr("code 2, 32 bits and 4 lanes"));
  Foreign device;
  device.managed.dl_tensor.device = {kDLVulkan, 1};
  EXPECT_THAT(ErrorOf(device), HasSubstr("device 1 of kind 7 is neither the host nor a CUDA"));
  Foreign negative;
  negative.shape[1] = -1;
  EXPECT_THAT(ErrorOf(negative), HasSubstr("-1"));
  Foreign huge;
  huge.shape[0] = huge.shape[1] = int64_t{1} << 40;
  ErrorOf(huge);
  Foreign nothing;
  nothing.managed.dl_tensor.data = nullptr;
  EXPECT_THAT(ErrorOf(nothing), HasSubstr("has elements, and no memory"));
  Foreign gaps;
  gaps.managed.dl_tensor.device = {kDLCUDA, 0};
  gaps.strides[0] = 4;
  EXPECT_THAT(ErrorOf(gaps), HasSubstr("on cuda:0 has gaps between its elements"));
}

}  // namespace
}  // namespace onward
