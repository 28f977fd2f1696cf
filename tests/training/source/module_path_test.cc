// The notes that PyTorch's exporters write beside nodes.
#include "training/source/module_path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string PathOf(const std::string& name) {
  Node node;
  node.name = name;
  return ModulePath(node);
}

TEST(ModulePath, IsInNamesOfTheOlderExporter) {
  EXPECT_EQ(PathOf("/fc/Gemm"), "fc");
  EXPECT_EQ(PathOf("/layers.0/self_attn/MatMul_1"), "layers.0.self_attn");
  // torchvision's ResNet: layer1 is a Sequential, which calls its children itself.
  EXPECT_EQ(PathOf("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(PathOf("/net/net.1/net.1.0/Relu"), "net.1.0");
  EXPECT_EQ(PathOf("/blk.0_2/fc_1/Gemm"), "blk.0.fc") << "later calls";
  EXPECT_EQ(PathOf("/Add"), "");
  EXPECT_EQ(PathOf("Conv_12"), "");
}

TEST(ModulePath, IsInTheMetadataOfTheNewerOne) {
  Node node;
  node.name = "node_conv2d";
  node.metadata["pkg.torch.onnx.name_scopes"] = "['', 'layer1', 'layer1.0', 'conv2d']";
  node.metadata["pkg.torch.onnx.class_hierarchy"] =
      "['net.Net', 'torch.nn.modules.container.Sequential', 'torch.nn.modules.conv.Conv2d', "
      "'aten.conv2d.default']";
  EXPECT_EQ(ModulePath(node), "layer1.0");
  EXPECT_THAT(ModuleClasses(node), ElementsAre(Pair("", "Net"), Pair("layer1", "Sequential"),
                                               Pair("layer1.0", "Conv2d")));
  node.metadata["pkg.torch.onnx.name_scopes"] = "['', 'add']";
  EXPECT_EQ(ModulePath(node), "");
  node.metadata["pkg.torch.onnx.name_scopes"] = "[";
  EXPECT_EQ(ModulePath(node), "");
  EXPECT_THAT(ModuleClasses(node), IsEmpty());
}

}  // namespace
}  // namespace onward::training
