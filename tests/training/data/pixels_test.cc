// What torchvision makes of an image (make_images.py).
#include "training/data/pixels.h"

#include <cmath>
#include <map>

#include "files/npy.h"
#include "gtest/gtest.h"

namespace onward::training {
namespace {

class PixelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto arrays = files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/data/images/pixels.npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = *std::move(arrays);
    auto affine = files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/data/images/affine.npz");
    ASSERT_TRUE(affine.ok()) << affine.status();
    arrays_.merge(*affine);
    const Tensor& image = arrays_.at("pixels");
    pixels_ = {image.dims()[1], image.dims()[2],
               std::vector<uint8_t>(static_cast<size_t>(image.num_elements()))};
    const int64_t count = pixels_.height * pixels_.width;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < 3; ++c)
        pixels_.rgb[static_cast<size_t>(3 * i + c)] = image.data<uint8_t>()[c * count + i];
  }

  // At most `off` away anywhere, and equal nearly everywhere.
  void ExpectNear(const Pixels& got, const std::string& name, int off = 1) {
    const Tensor& expected = arrays_.at(name);
    ASSERT_EQ(got.height, expected.dims()[1]) << name;
    ASSERT_EQ(got.width, expected.dims()[2]) << name;
    const int64_t count = got.height * got.width;
    int64_t unequal = 0;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < 3; ++c) {
        const int difference =
            got.rgb[static_cast<size_t>(3 * i + c)] - expected.data<uint8_t>()[c * count + i];
        EXPECT_LE(std::abs(difference), off) << name << " pixel " << i << " channel " << c;
        unequal += difference != 0;
      }
    }
    EXPECT_LE(unequal, off == 0 ? 0 : 3 * count / 20) << name;
  }

  template <typename F>
  Pixels After(F change) {
    Pixels copy = pixels_;
    change(copy);
    return copy;
  }

  std::map<std::string, Tensor> arrays_;
  Pixels pixels_;
};

TEST_F(PixelsTest, Colors) {
  ExpectNear(After([](Pixels& p) { AdjustBrightness(p, 1.4f); }), "brightness");
  ExpectNear(After([](Pixels& p) { AdjustContrast(p, 0.45f); }), "contrast");
  ExpectNear(After([](Pixels& p) { AdjustSaturation(p, 1.8f); }), "saturation");
  ExpectNear(After([](Pixels& p) { AdjustHue(p, 0.3f); }), "hue");
  ExpectNear(After([](Pixels& p) { AdjustHue(p, -0.15f); }), "hue_negative");
}

TEST_F(PixelsTest, Sizes) {
  ExpectNear(Resize(pixels_, 7, 11), "smaller");
  ExpectNear(Resize(pixels_, 31, 40), "larger");
  ExpectNear(Resize(pixels_, 40, 9), "mixed");
  EXPECT_EQ(Resize(pixels_, pixels_.height, pixels_.width).rgb, pixels_.rgb);
}

TEST_F(PixelsTest, CropsAndFlips) {
  ExpectNear(Crop(pixels_, 2 - 4, 21 - 4, 16, 13), "padded_crop", 0);
  EXPECT_EQ(Crop(pixels_, 100, -50, 2, 2).rgb, std::vector<uint8_t>(12, 0));
  const Pixels flipped = After(FlipHorizontally);
  EXPECT_EQ(flipped.rgb[0], pixels_.rgb[static_cast<size_t>(3 * (pixels_.width - 1))]);
  const Pixels turned = After([](Pixels& p) {
    FlipVertically(p);
    FlipHorizontally(p);
  });
  for (size_t i = 0; i < pixels_.rgb.size(); i += 3)
    EXPECT_EQ(turned.rgb[i + 1], pixels_.rgb[pixels_.rgb.size() - 3 - i + 1]);
}

TEST_F(PixelsTest, Motions) {
  const std::map<std::string, AffineMotion> motions = {
      {"turned", {37, 0, 0, 1, 0, 0}},
      {"moved", {-11, 3, -2, 0.8, 0, 0}},
      {"sheared", {5, 0, 1, 1.3, 12, -7}},
  };
  for (const auto& [name, motion] : motions) {
    // Pillow rounds places to 1/65536 of a pixel, so that a few fall on the other side of an edge.
    ExpectNear(Affine(pixels_, motion, false), name + "_nearest", 255);
    ExpectNear(Affine(pixels_, motion, true), name + "_bilinear");
  }
}

TEST_F(PixelsTest, Rectangles) {
  const Pixels filled = After([](Pixels& p) { Fill(p, 2, 3, 4, 5, {7, 8, 9}); });
  for (int64_t i = 0; i < pixels_.height * pixels_.width; ++i) {
    const int64_t y = i / pixels_.width, x = i % pixels_.width;
    const bool inside = y >= 2 && y < 6 && x >= 3 && x < 8;
    for (int64_t c = 0; c < 3; ++c) {
      const auto at = static_cast<size_t>(3 * i + c);
      EXPECT_EQ(filled.rgb[at], inside ? 7 + c : pixels_.rgb[at]);
    }
  }
}

TEST_F(PixelsTest, Tensors) {
  const Tensor& expected = arrays_.at("normalized");
  const auto got = ToTensor(pixels_, false,
                            NormalizedChannels({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}));
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->dims(), expected.dims());
  for (int64_t i = 0; i < got->num_elements(); ++i)
    EXPECT_NEAR(got->data<float>()[i], expected.data<float>()[i], 1e-6);
  const auto gray = ToTensor(pixels_, true, NormalizedChannels({}, {}));
  ASSERT_EQ(gray->dims(), arrays_.at("gray").dims());
  for (int64_t i = 0; i < gray->num_elements(); ++i)
    EXPECT_FLOAT_EQ(gray->data<float>()[i], arrays_.at("gray").data<uint8_t>()[i] / 255.0f);
}

}  // namespace
}  // namespace onward::training
