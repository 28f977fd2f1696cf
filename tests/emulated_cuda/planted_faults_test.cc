// The emulated device finds the faults that it is there to find: each is planted here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/emulated_cuda/device.h"
#include "tests/emulated_cuda/device_code.h"

namespace onward::emulated_cuda {
namespace {

constexpr int kThreads = 256;

cudaError_t Launch(void (*kernel)(const float*, float*, int), const float* in, float* out, int n,
                   cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, in, out, n);
}

// The sum of the block's values, in all elements of `out`.
template <bool kBarrier, Order kOrder = Order::kEager>
__global__ void BlockSum(const float* in, float* out, int) {
  __shared__ float partial[kThreads / 32];
  float sum = in[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  if (kBarrier) __syncthreads();
  float total = 0;
  for (int i = 0; i < kThreads / 32; ++i) total += partial[i];
  out[threadIdx.x] = total;
}

__global__ void PastTheEnd(const float*, float* out, int n) {
  if (threadIdx.x == 0) out[n] = 1;
}
__global__ void EarlyEnd(const float* in, float* out, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  out[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
}
__global__ void HalfOfAWarp(const float* in, float* out, int) {
  if (threadIdx.x % 32 < 16)
    out[threadIdx.x] = __shfl_xor_sync(~0u, in[threadIdx.x], 1);
  else
    __syncthreads();
}

class PlantedFaultsTest : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    Configure({.order = GetParam(), .seed = 3});
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&in_), sizeof(float) * kThreads), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out_), sizeof(float) * kThreads), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(in_), cudaSuccess);
    EXPECT_EQ(cudaFree(out_), cudaSuccess);
    Configure({});
  }
  void Upload(cudaStream_t stream) {
    const std::vector<float> ones(kThreads, 1.0f);
    ASSERT_EQ(
        cudaMemcpyAsync(in_, ones.data(), sizeof(float) * kThreads, cudaMemcpyHostToDevice, stream),
        cudaSuccess);
  }
  void LaunchAndWait(void (*kernel)(const float*, float*, int), int n) {
    (void)Launch(kernel, in_, out_, n, stream_);
    (void)cudaStreamSynchronize(stream_);
  }
  std::vector<float> Download() {
    std::vector<float> values(kThreads);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), out_, sizeof(float) * kThreads, cudaMemcpyDeviceToHost,
                              stream_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return values;
  }

  float* in_ = nullptr;
  float* out_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_P(PlantedFaultsTest, ARightKernelIsRight) {
  Upload(stream_);
  ASSERT_EQ(Launch(BlockSum<true>, in_, out_, kThreads, stream_), cudaSuccess);
  EXPECT_EQ(Download(), std::vector<float>(kThreads, kThreads));
}

TEST_P(PlantedFaultsTest, AMissingBarrierShows) {
  if (GetParam() == Order::kEager) return;  // warps in their order may hide it
  Upload(stream_);
  // Each has shared memory of its own, which holds zeros in the beginning.
  const auto kernel =
      GetParam() == Order::kLate ? BlockSum<false, Order::kLate> : BlockSum<false, Order::kRandom>;
  ASSERT_EQ(Launch(kernel, in_, out_, kThreads, stream_), cudaSuccess);
  EXPECT_NE(Download(), std::vector<float>(kThreads, kThreads));
}

TEST_P(PlantedFaultsTest, AWritePastTheEndIsNamed) {
  EXPECT_DEATH(LaunchAndWait(PastTheEnd, kThreads),
               "a kernel wrote 4 bytes behind the end of an allocation of 1024");
}

TEST_P(PlantedFaultsTest, AThreadThatEndsBeforeABarrierIsNamed) {
  EXPECT_DEATH(LaunchAndWait(EarlyEnd, kThreads - 1), "ended before a barrier");
}

TEST_P(PlantedFaultsTest, LanesThatWaitForEachOtherForEverAreNamed) {
  EXPECT_DEATH(LaunchAndWait(HalfOfAWarp, kThreads), "wait for each other at different places");
}

TEST_P(PlantedFaultsTest, HostCodeCannotReadTheDevice) {
  EXPECT_DEATH(std::fprintf(stderr, "%f", static_cast<double>(*in_)), "");
}

// The copy lies on the legacy stream, for which a stream that does not block does not wait.
TEST_P(PlantedFaultsTest, ACopyThatNobodyWaitsForIsLate) {
  if (GetParam() != Order::kLate) return;
  Upload(nullptr);
  ASSERT_EQ(Launch(BlockSum<true>, in_, out_, kThreads, stream_), cudaSuccess);
  EXPECT_NE(Download()[0], kThreads);
}

TEST_P(PlantedFaultsTest, CallsFailWhereTheyAreTold) {
  Configure({.order = GetParam(), .fail_call = "cudaMalloc", .fail_at = 2});
  void *first = nullptr, *second = nullptr;
  EXPECT_EQ(cudaMalloc(&first, 8), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 8), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&second, 8), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaErrorInvalidValue);
}

INSTANTIATE_TEST_SUITE_P(Orders, PlantedFaultsTest,
                         ::testing::Values(Order::kEager, Order::kLate, Order::kRandom));

}  // namespace
}  // namespace onward::emulated_cuda
