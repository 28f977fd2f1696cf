// A label or a token that is out of range is named by its place in the data, for every source.
#include "files/safetensors.h"
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::Idx;
using testing::kExamples;
using testing::Normal;

class BadLabelTest : public testing::TrainerTest {
 protected:
  // A linear classifier of 3 classes whose input is "x" of `features` numbers.
  void WriteModel(std::initializer_list<DimArg> dims, int64_t features) {
    GraphBuilder builder("linear");
    const Expr x = builder.Input("x", DType::kFloat32, dims);
    builder.Output("logits", MatMul(Op("Flatten", {x}),
                                    builder.Constant(Normal({features, 3}, 0.1, 1), "weight")));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("linear.onnx")).ok());
  }

  static TrainConfig Linear(const std::string& data, const std::string& more = "epochs: 1") {
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "linear.onnx" loss { cross_entropy {} } batch_size: 4
                        optimizer { sgd { lr: 0.1 } } data { shuffle: false )",
                     data, "} ", more),
        &config));
    return config;
  }
};

TEST_F(BadLabelTest, OfMnist) {
  std::string labels(kExamples, '\0');
  labels[5] = 7;
  scratch_.Write("labels", Idx({kExamples}, labels));
  const std::string place =
      absl::StrCat("is out of range for 3 classes; it is 'label' of example 5 of '",
                   scratch_.path("labels"), "'");
  EXPECT_THAT(Error(Config("epochs: 1")), HasSubstr(place));
  // Part of the data, in an order of its own, in several batches a step, and with other optimizers.
  TrainConfig config = Config("epochs: 1 accumulate: 2");
  config.mutable_data()->mutable_part()->set_seed(3);
  EXPECT_THAT(Error(config), HasSubstr(place));
  config.mutable_optimizer()->mutable_lbfgs();
  EXPECT_THAT(Error(config), HasSubstr(place));
}

// A negative label is not a class from behind.
TEST_F(BadLabelTest, OfEveryLossOfClasses) {
  WriteModel({"batch", 2}, 2);
  scratch_.Write("data.csv", "a,b,label\n1,2,0\n3,4,-2\n5,6,2\n7,8,1\n");
  for (const char* loss : {"cross_entropy {}", "nll {}", "multi_margin {}",
                           "cross_entropy { label_smoothing: 0.1 }"}) {
    SCOPED_TRACE(loss);
    TrainConfig config = Linear(R"(csv { path: "data.csv" field { name: "x" column: ["a", "b"] }
                        field { name: "label" element: INT64 } })");
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(loss, config.mutable_loss()));
    EXPECT_THAT(Error(config), HasSubstr("label -2 at position 1 is out of range for 3 classes; it "
                                         "is 'label' of '"));
  }
}

TEST_F(BadLabelTest, OfTheEvaluation) {
  std::string labels(kExamples, '\0');
  labels[95] = 3;
  scratch_.Write("other", Idx({kExamples}, labels));
  TrainConfig config = Config("epochs: 1");
  config.mutable_evaluation()->mutable_data()->mutable_mnist()->set_labels("other");
  EXPECT_THAT(Error(config),
              HasSubstr(absl::StrCat("label 3 at position 15 is out of range for 3 classes; it is "
                                     "'label' of example 95 of '",
                                     scratch_.path("other"), "'")));
}

TEST_F(BadLabelTest, OfCsv) {
  WriteModel({"batch", 2}, 2);
  scratch_.Write("data.csv", "a,b,label\n1,2,0\n3,4,1\n\n5,6,2\n7,8,-1\n9,8,1\n7,6,0\n");
  const TrainConfig config = Linear(R"(csv { path: "data.csv" field { name: "x" column: ["a", "b"] }
                      field { name: "label" element: INT64 } })");
  EXPECT_THAT(Error(config), HasSubstr(absl::StrCat("label -1 at position ")));
  EXPECT_THAT(Error(config), HasSubstr(absl::StrCat("; it is 'label' of '",
                                                    scratch_.path("data.csv"), "' line 6")));
}

TEST_F(BadLabelTest, OfJsonLines) {
  WriteModel({"batch", 2}, 2);
  scratch_.Write("data.jsonl",
                 "{\"x\": [1, 2], \"label\": 0}\nbroken\n{\"x\": [3, 4], \"label\": 9}\n"
                 "{\"x\": [1, 2], \"label\": 1}\n{\"x\": [1, 2], \"label\": 2}\n"
                 "{\"x\": [1, 2], \"label\": 2}\n");
  const TrainConfig config =
      Linear(R"(skip_broken: true jsonl { path: "data.jsonl" field { name: "x" dim: 2 }
                        field { name: "label" element: INT64 } })");
  EXPECT_THAT(Error(config), HasSubstr(absl::StrCat("; it is 'label' of '",
                                                    scratch_.path("data.jsonl"), "' line 3")));
}

TEST_F(BadLabelTest, OfArrays) {
  WriteModel({"batch", 2}, 2);
  const std::string path = scratch_.path("data.safetensors");
  files::Safetensors arrays;
  arrays.tensors = {{"x", Normal({4, 2}, 1, 5)}, {"label", Tensor::Of<int64_t>({4}, {0, 1, 5, 2})}};
  ASSERT_TRUE(files::WriteSafetensors(arrays, path).ok());
  EXPECT_THAT(Error(Linear("safetensors { path: 'data.safetensors' }")),
              HasSubstr(absl::StrCat("; it is 'label' of row 2 of '", path, "'")));
}

TEST_F(BadLabelTest, OfImages) {
  WriteModel({"batch", 3, 4, 4}, 48);
  const std::string folder = ONWARD_SOURCE_DIR "/tests/training/data/images/folders";
  scratch_.Write("list", "cat/a.png 1\ncat/a.png 2\ndog/b.jpg 8\ncat/a.png 0\n");
  EXPECT_THAT(Error(Linear(absl::StrCat("inputs { key: 'x' value: 'image' } images { list: '",
                                        scratch_.path("list"), "' directory: '", folder,
                                        "' step { resize { height: 4 width: 4 } } }"))),
              HasSubstr(absl::StrCat("; it is 'label' of '", folder, "/dog/b.jpg'")));
}

TEST_F(BadLabelTest, OfText) {
  GraphBuilder builder("characters");
  const Expr tokens = builder.Input("tokens", DType::kInt64, {"batch", 4});
  const Expr table = builder.Constant(Normal({100, 5}, 0.1, 1), "table");
  builder.Output(
      "logits",
      Op("Transpose",
         {MatMul(Gather(table, tokens), builder.Constant(Normal({5, 100}, 0.1, 1), "weight"))},
         {{"perm", std::vector<int64_t>{0, 2, 1}}}));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("linear.onnx")).ok());
  scratch_.Write("text", "AAAAAAAAAAAAAAAAAAAAzAAAAAAAAAAAA");
  const std::string error = Error(Linear("text { path: 'text' window: 4 }"));
  EXPECT_THAT(error,
              HasSubstr(absl::StrCat("of tokens 20 to 24 of '", scratch_.path("text"), "'")));
  EXPECT_THAT(error, HasSubstr("index 122 at position 4 is out of range for an axis of size 100"));
}

}  // namespace
}  // namespace onward::training
