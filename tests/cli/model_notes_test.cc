// A trained model says how images become its input and what its classes are called, and the
// commands go by it.
#include "training/data/model_notes.h"

#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/import.h"
#include "onward/read_image.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kHeight = 19, kWidth = 26, kPixels = 3 * kHeight * kWidth;
const std::string kFolders = std::string(ONWARD_SOURCE_DIR) + "/tests/training/data/images/folders";
const std::string kCat = kFolders + "/cat/a.png";

// A model whose two scores are elements 100 and 700 of its image, trained at a rate of 0 on a
// folder of cats and one of dogs.
class ModelNotesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder builder("picks");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 3, kHeight, kWidth});
    Tensor weight(DType::kFloat32, {kPixels, 2});
    std::fill_n(weight.mutable_data<float>(), weight.num_elements(), 0.0f);
    weight.mutable_data<float>()[100 * 2] = weight.mutable_data<float>()[700 * 2 + 1] = 1;
    builder.Output("logits", MatMul(Op("Flatten", {image}), builder.Constant(weight, "weight")));
    ASSERT_TRUE(ExportFile(*builder.Build(), directory_.path("picks.onnx")).ok());
    model_ = directory_.path("out/model.onnx");
  }

  // What `onward ARGUMENTS` prints; error_ has the standard error.
  std::string Output(const std::string& arguments, int code = 0) {
    const int status =
        std::system(absl::StrCat(ONWARD_PROGRAM, " ", arguments, " >", directory_.path("stdout"),
                                 " 2>", directory_.path("stderr"))
                        .c_str());
    const auto read = [&](const char* name) {
      std::ifstream file(directory_.path(name));
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    error_ = read("stderr");
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code) << arguments << "\n" << error_;
    return read("stdout");
  }
  void Train(const std::string& images, const std::string& more = "") {
    const std::string config = directory_.Write(
        "train.textproto",
        absl::StrCat(R"(model: "picks.onnx" loss { cross_entropy {} } steps: 1 batch_size: 3
            optimizer { sgd { lr: 0 } }
            data { images { directory: ")",
                     kFolders, "\" ", images, "} } ", more,
                     " evaluation { data { images { directory: \"", kFolders, "\" ", images,
                     "} } }"));
    log_ = Output(absl::StrCat("train ", config, " --output-dir ", directory_.path("out")));
  }
  training::Notes Metadata(const std::string& path) {
    const auto metadata = ReadMetadata(path);
    EXPECT_TRUE(metadata.ok()) << metadata.status();
    return *metadata;
  }
  // Pixel `at` of the image by another decoder, channels first.
  static double Pixel(const std::string& path, int at) {
    const Tensor image = *ReadImage(path, false);
    const int place = at % (kHeight * kWidth), channel = at / (kHeight * kWidth);
    return image.data<uint8_t>()[place * 3 + channel];
  }

  testing::ScratchDirectory directory_;
  std::string model_, error_, log_;
};

TEST_F(ModelNotesTest, RunPreparesImagesAsTheTrainingDid) {
  Train("mean: [0.5, 0.4, 0.3] deviation: [0.25, 0.2, 0.5]");
  EXPECT_THAT(log_, AllOf(HasSubstr("cat"), HasSubstr("dog"), HasSubstr("recall")));
  const json note = json::parse(Metadata(model_).at("onward.image"));
  EXPECT_EQ(note["inputs"], json({"image"}));
  EXPECT_EQ(note["channels"], 3);
  EXPECT_NEAR(note["scale"].get<double>(), 1.0 / 255, 1e-9);
  EXPECT_NEAR(note["mean"][1].get<double>(), 0.4, 1e-6);
  EXPECT_EQ(note["steps"], json::parse(R"([{"resize": {"height": 19, "width": 26}}])"));

  const json ran = json::parse(Output(absl::StrCat("run ", model_, " --json --output-dir ",
                                                   directory_.path("o"), " --input image=", kCat)));
  EXPECT_THAT(error_, HasSubstr("is prepared for input 'image': resized to 19 x 26, (pixel / 255 - "
                                "[0.5, 0.4, 0.3]) / [0.25, 0.2, 0.5]"));
  const double first = (Pixel(kCat, 100) / 255 - 0.5) / 0.25;
  const double second = (Pixel(kCat, 700) / 255 - 0.4) / 0.2;
  const json& scores = ran["outputs"][0];
  EXPECT_NEAR(scores["min"].get<double>(), std::min(first, second), 1e-5);
  EXPECT_NEAR(scores["max"].get<double>(), std::max(first, second), 1e-5);
  EXPECT_EQ(scores["classes"][0][0]["class"], first > second ? "cat" : "dog");
  EXPECT_NEAR(scores["classes"][0][0]["score"].get<double>(), std::max(first, second), 1e-5);
  EXPECT_THAT(Output(absl::StrCat("run ", model_, " --input image=", kCat)),
              AllOf(HasSubstr("row 0: "), HasSubstr("cat "), HasSubstr("dog ")));
}

TEST_F(ModelNotesTest, StepsThatDrawAreLeftOut) {
  Train(
      "step { flip {} } step { resize { height: 30 width: 40 } } "
      "step { random_crop { height: 19 width: 26 padding: 2 } } gray: false");
  EXPECT_EQ(json::parse(Metadata(model_).at("onward.image"))["steps"],
            json::parse(R"([{"resize": {"height": 30, "width": 40}},
                            {"resize": {"height": 19, "width": 26}}])"));
}

TEST_F(ModelNotesTest, OptimizeAndGradientKeepThem) {
  Train("mean: 0.5 deviation: 0.25");
  const training::Notes notes = Metadata(model_);
  EXPECT_EQ(json::parse(notes.at("onward.classes")),
            json::parse(R"({"output": "logits", "names": ["cat", "dog"]})"));
  const std::string optimized = directory_.path("optimized.onnx");
  Output(absl::StrCat("optimize ", model_, " -o ", optimized));
  const std::string gradient = directory_.path("gradient.onnx");
  Output(absl::StrCat("gradient ", model_, " -o ", gradient, " --of logits --wrt image"));
  for (const std::string& path : {optimized, gradient}) {
    EXPECT_EQ(Metadata(path).at("onward.image"), notes.at("onward.image")) << path;
    EXPECT_EQ(Metadata(path).at("onward.classes"), notes.at("onward.classes")) << path;
  }
  // Of another head they are not the names.
  EXPECT_THAT(Output(absl::StrCat("run ", optimized, " --input image=", kCat)),
              HasSubstr("row 0: "));
}

TEST_F(ModelNotesTest, EvaluateGoesByThem) {
  Train("mean: 0.5 deviation: 0.25");
  const json by_config = json::parse(Output(
      absl::StrCat("evaluate ", directory_.path("train.textproto"), " --json --model ", model_)));
  const json by_model = json::parse(Output(absl::StrCat(
      "evaluate ", model_, " --json --data 'images { directory: \"", kFolders, "\" }'")));
  EXPECT_THAT(error_, HasSubstr("images are prepared as the model says"));
  EXPECT_EQ(by_model["loss"], by_config["loss"]);
  EXPECT_EQ(by_model["classes"], json({"cat", "dog"}));
  EXPECT_EQ(by_model["confusion"], by_config["confusion"]);
  EXPECT_TRUE(by_model["confusion"][0]["target"].is_string());
  // A folder of dogs alone is not a folder of class 0.
  std::filesystem::create_directories(directory_.path("some/dog"));
  std::filesystem::copy(kFolders + "/dog/b.jpg", directory_.path("some/dog/b.jpg"));
  const json dogs = json::parse(Output(absl::StrCat("evaluate ", model_,
                                                    " --json --data 'images { "
                                                    "directory: \"",
                                                    directory_.path("some"), "\" }'")));
  EXPECT_EQ(dogs["confusion"][0]["target"], "dog");
  // A path that is typed is relative to where it is typed.
  EXPECT_EQ(
      std::system(absl::StrCat("cd ", directory_.path("some"), " && ", ONWARD_PROGRAM, " evaluate ",
                               model_, " --data 'images { directory: \".\" }' >/dev/null 2>&1")
                      .c_str()),
      0);
}

TEST_F(ModelNotesTest, WithoutThemANoteNamesTheRange) {
  const std::string bare = directory_.path("picks.onnx");
  const json ran = json::parse(Output(absl::StrCat("run ", bare, " --json --input image=", kCat)));
  EXPECT_THAT(error_, AllOf(HasSubstr("gets the pixels of '"), HasSubstr("as 0 to 255"),
                            HasSubstr("--image 'mean: ")));
  EXPECT_NEAR(ran["outputs"][0]["max"].get<double>(), std::max(Pixel(kCat, 100), Pixel(kCat, 700)),
              1e-4);
  EXPECT_FALSE(ran["outputs"][0].contains("classes"));
  const json prepared = json::parse(Output(absl::StrCat(
      "run ", bare, " --json --image 'mean: 0.5 deviation: 0.25' --input image=", kCat)));
  EXPECT_NEAR(prepared["outputs"][0]["max"].get<double>(),
              (std::max(Pixel(kCat, 100), Pixel(kCat, 700)) / 255 - 0.5) / 0.25, 1e-4);
  EXPECT_THAT(error_, Not(HasSubstr("0 to 255")));
  Output(absl::StrCat("run ", bare, " --image 'men: 3' --input image=", kCat), 1);
  EXPECT_THAT(error_, HasSubstr("is not an onward.ImageData"));
  Output(absl::StrCat("run ", bare, " --image 'deviation: 0' --input image=", kCat), 1);
  EXPECT_THAT(error_, HasSubstr("deviation must be positive"));
}

// Whoever writes a model can write anything into its metadata.
TEST_F(ModelNotesTest, DamagedNotesAreNamed) {
  const auto error = [&](const std::string& key, const std::string& value) {
    auto model = ImportFile(directory_.path("picks.onnx"));
    model->metadata[key] = value;
    EXPECT_TRUE(ExportFile(*model, directory_.path("noted.onnx")).ok());
    Output(absl::StrCat("run ", directory_.path("noted.onnx"), " --input image=", kCat), 1);
    return error_;
  };
  EXPECT_THAT(error("onward.image", "[1]"), HasSubstr("'onward.image' is not a JSON object"));
  EXPECT_THAT(error("onward.image", R"({"mean": "x"})"), HasSubstr("'onward.image': "));
  EXPECT_THAT(error("onward.image", R"({"mean": [1, 2]})"), HasSubstr("one per channel"));
  EXPECT_THAT(error("onward.image", R"({"scale": 0})"), HasSubstr("scale must be above 0"));
  EXPECT_THAT(error("onward.image", R"({"steps": [{"spin": 3}]})"), HasSubstr("spin"));
  EXPECT_THAT(error("onward.image", R"({"steps": [{"resize": {"height": 1e9, "width": 3}}]})"),
              HasSubstr("sizes must be of 1 to"));
  EXPECT_THAT(error("onward.classes", R"({"names": 3})"), HasSubstr("'onward.classes': "));
}

// mean and deviation of pixels in [0, 255].
TEST_F(ModelNotesTest, OtherScales) {
  auto model = ImportFile(directory_.path("picks.onnx"));
  model->metadata["onward.image"] =
      R"({"inputs": ["image"], "scale": 1, "mean": [127.5], "deviation": [63.75]})";
  ASSERT_TRUE(ExportFile(*model, directory_.path("noted.onnx")).ok());
  const json ran = json::parse(
      Output(absl::StrCat("run ", directory_.path("noted.onnx"), " --json --input image=", kCat)));
  EXPECT_NEAR(ran["outputs"][0]["max"].get<double>(),
              (std::max(Pixel(kCat, 100), Pixel(kCat, 700)) - 127.5) / 63.75, 1e-4);
}

TEST_F(ModelNotesTest, TextBringsItsVocabulary) {
  directory_.Write("text", "abc abc abc abc abc abc abc abc abc abc abc abc abc");
  const std::string config = directory_.Write("text.textproto", R"(
      built { name: "gpt" options { key: "vocabulary" value: 4 } options { key: "layers" value: 1 }
              options { key: "width" value: 8 } options { key: "heads" value: 2 }
              options { key: "context" value: 8 } }
      loss { cross_entropy { class_axis: -1 } } steps: 2 batch_size: 2
      optimizer { sgd { lr: 0.1 } }
      data { text { path: "text" tokens: CHARACTERS window: 8 } }
      evaluation { data { text { path: "text" tokens: CHARACTERS window: 8 } } })");
  const std::string log =
      Output(absl::StrCat("train ", config, " --output-dir ", directory_.path("out")));
  EXPECT_THAT(log, Not(HasSubstr("taken for")));
  EXPECT_EQ(Metadata(model_).at("onward.vocabulary"), " \na\nb\nc\n");
  const std::string with = Output(absl::StrCat("generate ", model_, " --prompt 'abc a' --vocab ",
                                               directory_.path("out/vocabulary.txt")));
  EXPECT_EQ(Output(absl::StrCat("generate ", model_, " --prompt 'abc a'")), with);
  // Numbers stay numbers.
  EXPECT_THAT(Output(absl::StrCat("generate ", model_, " --prompt-ids 1,2,3")),
              ::testing::MatchesRegex("[0-9,]+\n"));
}

}  // namespace
}  // namespace onward
