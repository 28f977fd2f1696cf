#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"
#include "training/data/loader.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

const std::string kFiles = ONWARD_SOURCE_DIR "/tests/training/data/images";

DataConfig Config(const std::string& images) {
  DataConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(absl::StrCat("images {", images, "}"),
                                                            &config));
  return config;
}

std::string Error(const std::string& images, const std::string& directory = kFiles) {
  const auto data = OpenDataset(Config(images), directory);
  return data.ok() ? "OK" : std::string(data.status().message());
}

std::string FileBytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST(ImagesTest, FoldersAreClasses) {
  const auto data = OpenDataset(Config("directory: 'folders'"), kFiles);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "float32[3,height,width]");
  const auto decoded = files::ReadNpz(kFiles + "/decoded.npz");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const std::pair<const char*, int64_t> expected[] = {
      {"cat/a.png", 0}, {"dog/b.jpg", 1}, {"dog/more/gray.png", 1}};
  for (int64_t i = 0; i < 3; ++i) {
    const auto example = (*data)->Read(i, 0);
    ASSERT_TRUE(example.ok()) << example.status();
    const Tensor& image = example->at(0);
    const Tensor& pixels = decoded->at(expected[i].first);
    ASSERT_EQ(image.dims(), (Dims{3, pixels.dims()[0], pixels.dims()[1]}));
    const int64_t count = image.dims()[1] * image.dims()[2];
    for (int64_t p = 0; p < count; ++p)
      for (int64_t c = 0; c < 3; ++c)
        EXPECT_NEAR(image.data<float>()[c * count + p] * 255, pixels.data<uint8_t>()[3 * p + c],
                    1.001);
    EXPECT_EQ(example->at(1).data<int64_t>()[0], expected[i].second);
    EXPECT_EQ((*data)->ReadField(i, 1)->data<int64_t>()[0], expected[i].second);
  }
}

TEST(ImagesTest, ClassesMayBeChosen) {
  const auto data = OpenDataset(Config("directory: 'folders' class: 'bird' class: 'dog'"), kFiles);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->ReadField(0, 1)->data<int64_t>()[0], 1);
  EXPECT_THAT(Error("directory: 'folders' class: 'bird'"), HasSubstr("no folder with images"));
  EXPECT_THAT(Error("directory: 'folders' class: 'a' class: 'a'"),
              HasSubstr("class 'a' appears twice"));
}

TEST(ImagesTest, Lists) {
  const ScratchDirectory scratch;
  scratch.Write("list",
                absl::StrCat("cat/a.png,1\r\n\ndog/b.jpg 0\n", kFiles, "/folders/dog/b.jpg\tdog"));
  const std::string list = absl::StrCat("list: '", scratch.path("list"), "' directory: 'folders' ");
  const auto data = OpenDataset(Config(list + "class: 'cat' class: 'dog'"), kFiles);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  const int64_t labels[] = {1, 0, 1};
  for (int64_t i = 0; i < 3; ++i) {
    const auto example = (*data)->Read(i, 0);
    ASSERT_TRUE(example.ok()) << example.status();
    EXPECT_EQ(example->at(1).data<int64_t>()[0], labels[i]);
  }
  EXPECT_THAT(Error(list), HasSubstr("list' line 4: 'dog' is not a class"));
  EXPECT_THAT(Error(list + "class: 'dog'"), HasSubstr("list' line 1: '1' is not a class"));
  scratch.Write("list", "a.png 0\nb.png\n");
  EXPECT_THAT(Error(list), HasSubstr("list' line 2: needs a path and a class"));
  scratch.Write("list", "\n");
  EXPECT_THAT(Error(list), HasSubstr("has no images"));
}

TEST(ImagesTest, BrokenAndMissingFilesAreDataLoss) {
  const ScratchDirectory scratch;
  const std::string jpeg = FileBytes(kFiles + "/folders/dog/b.jpg");
  scratch.Write("x/a.jpg", jpeg.substr(0, jpeg.size() / 2));
  scratch.Write("x/b.png", "no image");
  scratch.Write("x/c.jpg", jpeg);
  scratch.Write("x/notes.txt", "not read");
  const auto data = OpenDataset(Config("directory: '.'"), scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  for (const auto& [index, why] : {std::pair(0, "x/a.jpg': Premature end"),
                                   std::pair(1, "x/b.png': the file is not an image")}) {
    const absl::Status status = (*data)->Read(index, 0).status();
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  auto loader = Loader::Create(*data, {.batch_size = 2, .skip_broken = true});
  EXPECT_EQ((*loader)->Next()->at("image").dims()[0], 1);
  EXPECT_EQ((*loader)->broken_examples(), 2);
  std::filesystem::remove(scratch.path("x/c.jpg"));
  const absl::Status gone = (*data)->Read(2, 0).status();
  EXPECT_TRUE(absl::IsDataLoss(gone));
  EXPECT_THAT(std::string(gone.message()), HasSubstr("x/c.jpg'"));
}

TEST(ImagesTest, StepsDrawFromTheNumberAlone) {
  const std::string config =
      "directory: 'folders' step { random_resized_crop { height: 8 width: 9 } } step { flip {} } "
      "step { color_jitter { brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1 } } "
      "step { random_affine { degrees: 30 shear_y: 5 interpolation: BILINEAR } } "
      "step { random_erasing {} } gray: true mean: 0.5";
  const auto data = OpenDataset(Config(config), kFiles);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "float32[1,8,9]");
  std::set<std::string> images;
  for (uint64_t random = 0; random < 50; ++random) {
    const Tensor image = (*data)->Read(1, random)->at(0);
    EXPECT_EQ(image.dims(), (Dims{1, 8, 9}));
    EXPECT_TRUE(SameBits(image, (*data)->Read(1, random)->at(0)));
    images.insert(std::string(static_cast<const char*>(image.raw_data()),
                              static_cast<size_t>(image.byte_size())));
  }
  EXPECT_EQ(images.size(), 50u);
}

// The limits of what RandomAffine draws, by an image that moves alone: 26 columns, 19 rows.
TEST(ImagesTest, AffineStepsMoveByWholePixels) {
  const auto still = OpenDataset(Config("directory: 'folders'"), kFiles);
  const auto moved = OpenDataset(
      Config("directory: 'folders' step { random_affine { translate_x: 0.1 } }"), kFiles);
  ASSERT_TRUE(moved.ok()) << moved.status();
  const Tensor image = (*still)->Read(0, 0)->at(0);
  std::set<int> moves;
  for (uint64_t random = 0; random < 600; ++random) {
    const Tensor other = (*moved)->Read(0, random)->at(0);
    ASSERT_EQ(other.dims(), image.dims());
    for (int by = -4; by <= 4; ++by) {
      bool equal = true;
      for (int64_t i = 0; i < image.num_elements(); ++i) {
        const int64_t column = i % 26 - by;
        const float want = column < 0 || column >= 26 ? 0 : image.data<float>()[i - by];
        equal = equal && other.data<float>()[i] == want;
      }
      if (equal) moves.insert(by);
    }
  }
  EXPECT_EQ(moves, (std::set<int>{-3, -2, -1, 0, 1, 2, 3}));  // 2.6 at most, rounded
}

// One rectangle of zeros after the normalization, inside the shares and ratios that are asked for.
TEST(ImagesTest, ErasingLeavesZeros) {
  const std::string mean = "mean: [0.2, 0.4, 0.6] deviation: [0.1, 0.2, 0.3] ";
  const auto whole = OpenDataset(Config("directory: 'folders' " + mean), kFiles);
  const auto erased = OpenDataset(
      Config(absl::StrCat("directory: 'folders' ", mean,
                          "step { random_erasing { least_area: 0.1 most_area: 0.3 } }")),
      kFiles);
  ASSERT_TRUE(erased.ok()) << erased.status();
  const Tensor image = (*whole)->Read(0, 0)->at(0);
  const int64_t count = 19 * 26;
  int times = 0;
  for (uint64_t random = 0; random < 400; ++random) {
    const Tensor other = (*erased)->Read(0, random)->at(0);
    int64_t top = 99, bottom = -1, left = 99, right = -1;
    for (int64_t i = 0; i < count; ++i) {
      bool zero = true, same = true;
      for (int64_t c = 0; c < 3; ++c) {
        // 255 times each mean is a whole number.
        zero = zero && std::abs(other.data<float>()[c * count + i]) < 1e-6f;
        same = same && other.data<float>()[c * count + i] == image.data<float>()[c * count + i];
      }
      ASSERT_TRUE(zero || same) << random;
      if (same) continue;
      top = std::min(top, i / 26);
      bottom = std::max(bottom, i / 26);
      left = std::min(left, i % 26);
      right = std::max(right, i % 26);
    }
    if (bottom < 0) continue;
    ++times;
    const auto height = static_cast<double>(bottom - top + 1);
    const auto width = static_cast<double>(right - left + 1);
    EXPECT_NEAR(height * width / static_cast<double>(count), 0.2, 0.1 + 0.03);  // whole pixels
    for (int64_t y = top; y <= bottom; ++y)
      for (int64_t x = left; x <= right; ++x) EXPECT_NEAR(other.data<float>()[y * 26 + x], 0, 1e-6);
  }
  EXPECT_NEAR(times, 200, 40);  // 4 sigma
}

TEST(ImagesTest, Archives) {
  const auto folders = OpenDataset(Config("directory: 'folders'"), kFiles);
  for (const char* name : {"gnu.tar", "pax.tar.gz"}) {
    const std::string archive = absl::StrCat("archive: '", name, "' directory: 'some/folders' ");
    const auto data = OpenDataset(Config(archive), kFiles);
    ASSERT_TRUE(data.ok()) << data.status();
    ASSERT_EQ((*data)->size(), 4);
    for (int64_t i = 0; i < 3; ++i) {
      const auto a = (*data)->Read(i, 0), b = (*folders)->Read(i, 0);
      ASSERT_TRUE(a.ok() && b.ok()) << a.status();
      EXPECT_TRUE(SameBits(a->at(0), b->at(0)));
      EXPECT_TRUE(SameBits(a->at(1), b->at(1)));
    }
    // The last one's path has more than 100 bytes.
    EXPECT_TRUE((*data)->Read(3, 0).ok());
    EXPECT_THAT(Error(absl::StrCat("directory: 'none' archive: '", name, "'")),
                HasSubstr("'none' in it has no folder"));
    const ScratchDirectory scratch;
    scratch.Write("list", "dog/b.jpg 1\n");
    const auto listed =
        OpenDataset(Config(absl::StrCat(archive, "list: '", scratch.path("list"), "'")), kFiles);
    ASSERT_TRUE(listed.ok()) << listed.status();
    EXPECT_TRUE(SameBits((*listed)->Read(0, 0)->at(0), (*folders)->Read(1, 0)->at(0)));
    scratch.Write("list", "\ndog/none.jpg 1\n");
    EXPECT_THAT(Error(absl::StrCat(archive, "list: '", scratch.path("list"), "'")),
                HasSubstr("list' line 2: '"));
  }
}

TEST(ImagesTest, DamagedArchives) {
  const ScratchDirectory scratch;
  const std::string whole = FileBytes(kFiles + "/gnu.tar");
  const auto error = [&](const std::string& bytes) {
    scratch.Write("x.tar", bytes);
    return Error("archive: 'x.tar' directory: 'some/folders'", scratch.path());
  };
  EXPECT_EQ(error(whole), "OK");
  EXPECT_THAT(error(whole.substr(0, 700)),
              HasSubstr("x.tar': not a tar archive, or a damaged one: the archive ends early"));
  EXPECT_THAT(error(std::string(600, 'x')), HasSubstr("wrong checksum at byte 0"));
  std::string flipped = whole;
  flipped[3] ^= 1;
  EXPECT_THAT(error(flipped), HasSubstr("wrong checksum at byte 0"));
  EXPECT_THAT(error(""), HasSubstr("no folder with images"));
}

// The numbers of images and the means that everybody knows of CIFAR-10.
TEST(ImagesTest, Cifar10) {
  const std::string root = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(root, "ONWARD_DATA_DIR");
  const std::string archive = "archive: 'data/cifar10/cifar10_images.tar.gz' ";
  const auto test = OpenDataset(Config(archive + "directory: 'test'"), root);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ((*test)->size(), 10000);
  EXPECT_EQ((*test)->ReadField(9999, 1)->data<int64_t>()[0], 9);
  const auto train = OpenDataset(Config(archive + "directory: 'train'"), root);
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_EQ((*train)->size(), 50000);
  double sums[3] = {};
  for (int64_t i = 0; i < 50000; i += 10) {
    const auto example = (*train)->Read(i, 0);
    ASSERT_TRUE(example.ok()) << example.status();
    ASSERT_EQ(example->at(0).dims(), (Dims{3, 32, 32}));
    for (int64_t k = 0; k < 3072; ++k) sums[k / 1024] += example->at(0).data<float>()[k];
  }
  EXPECT_NEAR(sums[0] / 5000 / 1024, 0.4914, 0.006);
  EXPECT_NEAR(sums[1] / 5000 / 1024, 0.4822, 0.006);
  EXPECT_NEAR(sums[2] / 5000 / 1024, 0.4465, 0.006);
}

// All places of the crop and both sides come equally often.
TEST(ImagesTest, RandomCropsAreUniform) {
  const ScratchDirectory scratch;
  std::string pnm = "P6 3 1 255\n";
  pnm += {1, 1, 1, 2, 2, 2, 3, 3, 3};
  scratch.Write("x/a.ppm", pnm);
  const auto data = OpenDataset(
      Config(
          "directory: '.' step { random_crop { height: 1 width: 2 padding: 0 } } step { flip {} }"),
      scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  std::map<std::pair<int, int>, int> counts;
  for (uint64_t random = 0; random < 4000; ++random) {
    const Tensor image = (*data)->Read(0, random)->at(0);
    ++counts[{std::lround(image.data<float>()[0] * 255),
              std::lround(image.data<float>()[1] * 255)}];
  }
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [pixels, count] : counts) EXPECT_NEAR(count, 1000, 110);  // 4 sigma
}

TEST(ImagesTest, BadConfigs) {
  EXPECT_THAT(Error(""), HasSubstr("needs a directory, a list or an archive"));
  EXPECT_THAT(Error("directory: 'nowhere'"), HasSubstr("cannot read the folder"));
  const auto step = [](const std::string& text) {
    return Error(absl::StrCat("directory: 'folders' step {", text, "}"));
  };
  EXPECT_EQ(step("flip {}"), "OK");
  EXPECT_THAT(step(""), HasSubstr("step 0 is empty"));
  EXPECT_THAT(step("flip { probability: 2 }"), HasSubstr("step 0 needs a probability of 0 to 1"));
  EXPECT_THAT(step("resize { height: 4 }"), HasSubstr("got 4 x 0"));
  EXPECT_THAT(step("random_crop { height: 4 width: 99999 }"), HasSubstr("got 4 x 99999"));
  EXPECT_THAT(step("random_crop { height: 4 width: 4 padding: -1 }"), HasSubstr("padding >= 0"));
  EXPECT_THAT(step("random_resized_crop { height: 4 width: 4 least_area: 2 }"),
              HasSubstr("most_area <= 1"));
  EXPECT_THAT(step("color_jitter { hue: 0.6 }"), HasSubstr("hue of 0 to 0.5"));
  EXPECT_THAT(step("random_affine { degrees: -3 }"), HasSubstr("step 0 needs degrees of 0 to 180"));
  EXPECT_THAT(step("random_affine { translate_y: nan }"), HasSubstr("translate_y of 0 to 1"));
  EXPECT_THAT(step("random_affine { shear_x: 90 }"), HasSubstr("shear_y of 0 to 90"));
  EXPECT_THAT(step("random_affine { least_scale: 2 }"), HasSubstr("least_scale <= most_scale"));
  EXPECT_THAT(step("random_erasing { probability: -1 }"), HasSubstr("a probability of 0 to 1"));
  EXPECT_THAT(step("random_erasing { most_area: 0.01 }"), HasSubstr("most_area <= 1"));
  EXPECT_THAT(step("random_erasing { least_ratio: 0 }"), HasSubstr("least_ratio <= most_ratio"));
  EXPECT_THAT(step("random_erasing { value: 2 }"), HasSubstr("a value of 0 to 1"));
  EXPECT_THAT(step("random_erasing { value: [0, 1] }"), HasSubstr("one number or three"));
  EXPECT_THAT(Error("directory: 'folders' mean: 0 mean: 1"), HasSubstr("one per channel"));
  EXPECT_THAT(Error("directory: 'folders' deviation: 0"), HasSubstr("deviation must be positive"));
  const auto small = OpenDataset(
      Config("directory: 'folders' step { random_crop { height: 99 width: 4 } }"), kFiles);
  EXPECT_THAT(std::string((*small)->Read(0, 0).status().message()),
              HasSubstr("a.png': an image of 19 x 26 is too small"));
}

}  // namespace
}  // namespace onward::training
