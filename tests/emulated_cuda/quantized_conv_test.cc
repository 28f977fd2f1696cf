// ConvInteger and QLinearConv: drawn images and filters of one to three axes.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kBytes[] = {DType::kInt8, DType::kUint8};

struct Drawn {
  Dims x, w, y, strides, dilations, pads;
  int64_t group;

  std::string Attributes() const {
    const auto list = [](const Dims& values) { return absl::StrJoin(values, ", "); };
    return absl::StrCat("<group = ", group, ", strides = [", list(strides), "], dilations = [",
                        list(dilations), "], pads = [", list(pads), "]>");
  }
};

Drawn DrawDims(CaseDraw& draw) {
  Drawn d;
  d.group = draw.From(1, 3);
  const int64_t channels = draw.From(1, 4), filters = draw.From(0, 9) == 0 ? 70 : draw.From(1, 6);
  const int64_t batch = draw.From(0, 9) == 0 ? 0 : draw.From(1, 2), axes = draw.From(1, 3);
  d.x = {batch, d.group * channels};
  d.w = {d.group * filters, channels};
  d.y = {batch, d.group * filters};
  Dims ends;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t kernel = draw.From(1, 3), room = draw.From(0, 7);
    d.strides.push_back(draw.From(1, 2));
    d.dilations.push_back(draw.From(1, 2));
    d.pads.push_back(draw.From(0, 2));
    ends.push_back(draw.From(0, 2));
    d.x.push_back((kernel - 1) * d.dilations.back() + 1 + room);
    d.w.push_back(kernel);
    d.y.push_back((room + d.pads.back() + ends.back()) / d.strides.back() + 1);
  }
  d.pads.insert(d.pads.end(), ends.begin(), ends.end());
  return d;
}

Tensor Bytes(CaseDraw& draw, DType dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(draw.From(0, 255));
  return tensor;
}

TEST(EmulatedConvInteger, IsTheCpus) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const Drawn d = DrawDims(draw);
    const DType x = draw.Of(kBytes), w = draw.Of(kBytes);
    std::vector<Tensor> inputs = {Bytes(draw, x, d.x), Bytes(draw, w, d.w)};
    if (seed % 3 > 0) inputs.push_back(Bytes(draw, x, {}));
    if (seed % 3 > 1) inputs.push_back(Bytes(draw, w, {seed % 2 == 0 ? 1 : d.w[0]}));
    const char* const names[] = {"a, b", "a, b, c", "a, b, c, d"};
    ExpectAsCpu(absl::StrCat("(", TextOf({DType::kInt32, d.y}), " y) { y = ConvInteger ",
                             d.Attributes(), " (", names[seed % 3], ") }"),
                inputs, 0);
  }
}

TEST(EmulatedConvInteger, MoreImagesThanAGridHasBlocksAreRefused) {
  const std::vector<Tensor> inputs = {Filled({DType::kUint8, {65536, 1, 1}}, 1, false),
                                      Filled({DType::kUint8, {1, 1, 1}}, 2, false)};
  const absl::Status status =
      RunOn("cuda", "(int32[65536, 1, 1] y) { y = ConvInteger (a, b) }", inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("use --provider cpu"), std::string::npos) << status;
}

TEST(EmulatedQLinearConv, IsTheCpus) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const Drawn d = DrawDims(draw);
    const DType x = draw.Of(kBytes), w = draw.Of(kBytes), y = draw.Of(kBytes);
    const Dims filters = {seed % 2 == 0 ? 1 : d.w[0]};
    std::vector<Tensor> inputs = {Bytes(draw, x, d.x),
                                  draw.Floats(DType::kFloat32, {}, 0.01, 0.1),
                                  Bytes(draw, x, {}),
                                  Bytes(draw, w, d.w),
                                  draw.Floats(DType::kFloat32, filters, 0.01, 0.1),
                                  Bytes(draw, w, filters),
                                  draw.Floats(DType::kFloat32, {}, 0.5, 4),
                                  Bytes(draw, y, {})};
    if (seed % 3 == 0) {
      Tensor bias(DType::kInt32, {d.w[0]});
      for (int64_t i = 0; i < d.w[0]; ++i)
        bias.mutable_data<int32_t>()[i] = static_cast<int32_t>(draw.From(-9999, 9999));
      inputs.push_back(bias);
    }
    ExpectAsCpu(absl::StrCat("(", TextOf({y, d.y}), " y) { y = QLinearConv ", d.Attributes(),
                             " (a, b, c, d, e, f, g, h", seed % 3 == 0 ? ", i" : "", ") }"),
                inputs, 0);
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
