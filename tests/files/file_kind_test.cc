// Files of other formats are named, with what to do, where a model, weights or a config is read.
#include "files/file_kind.h"

#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/import.h"
#include "onward/train_config.h"
#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

std::string Repeated(std::string_view begin, size_t size = 200) {
  std::string bytes(begin);
  bytes.resize(size, '\0');
  return bytes;
}

// As torch.save begins: a zip file whose first member is <name>/data.pkl, or the older pickles.
const std::string kTorch = Repeated(std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10) +
                                    std::string(20, '\0') + "model/data.pkl");
const std::string kTorchLegacy = Repeated("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M");
const std::string kPickle = Repeated("\x80\x04\x95\x10");
const std::string kHdf5 = Repeated("\x89HDF\r\n\x1a\n");
const std::string kIndex = R"({"metadata": {}, "weight_map": {"a": "model-00001.safetensors"}})";
const std::string kLfs = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";

template <typename Result>
std::string Message(const Result& result) {
  return std::string(result.status().message());
}

TEST(FileKind, WhereAModelIsRead) {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& bytes) {
    return Message(ImportFile(scratch.Write("m.onnx", bytes)));
  };
  for (const std::string& torch : {kTorch, kTorchLegacy}) {
    EXPECT_THAT(error(torch), AllOf(HasSubstr("m.onnx': not an ONNX model but a PyTorch file"),
                                    HasSubstr("torch.onnx.export(")));
  }
  EXPECT_THAT(error(kHdf5), HasSubstr("a Keras or HDF5 file; write the model with tf2onnx"));
  EXPECT_THAT(error(kLfs), HasSubstr("`git lfs pull` fetches it"));
  EXPECT_THAT(error("GGUF" + std::string(80, '\3')), HasSubstr("a GGUF file of llama.cpp"));
  EXPECT_THAT(error(Repeated("\x89PNG\r\n")), HasSubstr("an image; it is an input"));
  EXPECT_THAT(error("<!DOCTYPE html><p>404"), HasSubstr("a web page"));
  Safetensors weights;
  weights.tensors["w"] = Tensor::Of<float>({2}, {1, 2});
  ASSERT_TRUE(WriteSafetensors(weights, scratch.path("w.safetensors")).ok());
  EXPECT_THAT(Message(ImportFile(scratch.path("w.safetensors"))),
              HasSubstr("a safetensors file, which has weights and no graph"));
}

TEST(FileKind, WhereWeightsAreRead) {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& bytes) {
    return Message(ReadSafetensors(scratch.Write("w.pt", bytes)));
  };
  for (const std::string& torch : {kTorch, kTorchLegacy, kPickle}) {
    EXPECT_THAT(error(torch), AllOf(HasSubstr("w.pt': not a safetensors file but a P"),
                                    HasSubstr("safetensors.torch.save_file(model.state_dict(), ")));
  }
  EXPECT_THAT(error(kIndex), HasSubstr("the index of a checkpoint in several files"));
  EXPECT_THAT(error(kHdf5), HasSubstr("safetensors.numpy.save_file"));
  EXPECT_THAT(error(std::string("\x08\x07\x12\x04test\x00\x3a\x02", 12)),
              HasSubstr("an ONNX model; it brings its weights itself"));
  // What is unknown stays what it was.
  EXPECT_THAT(error("abc"), HasSubstr("shorter than 8 bytes"));
  EXPECT_THAT(error(std::string(100, '\7')),
              HasSubstr("not a safetensors file, or a truncated one"));
}

TEST(FileKind, WhereAConfigIsRead) {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& bytes) {
    return Message(ReadTrainConfig(scratch.Write("c.textproto", bytes)));
  };
  EXPECT_THAT(error(kTorch), AllOf(HasSubstr("c.textproto' is not a config but a PyTorch file"),
                                   HasSubstr("a config names a model")));
  EXPECT_THAT(error(std::string("\x08\x07\x12\x04test\x00\x3a\x02", 12)),
              HasSubstr("an ONNX model; a config names it as `model: \"...\"`"));
}

}  // namespace
}  // namespace onward::files
