#include "files/npy.h"
#include "files/safetensors.h"
#include "onnx_io/tensor_proto.h"
#include "onward/read_image.h"
#include "tests/fuzz/harnesses.h"
#include "tests/support/scratch_directory.h"

namespace onward::fuzz {
namespace {

// The bytes as a file, written anew for every input.
std::string AsFile(const uint8_t* data, size_t size, std::string_view name) {
  static const auto* directory = new testing::ScratchDirectory();
  return directory->Write(name, {reinterpret_cast<const char*>(data), size});
}

}  // namespace

void Npy(const uint8_t* data, size_t size) {
  const std::string path = AsFile(data, size, "x.npy");
  (void)files::ReadNpy(path);
  (void)files::ReadNpy(path, DType::kBFloat16);
}

void Npz(const uint8_t* data, size_t size) { (void)files::ReadNpz(AsFile(data, size, "x.npz")); }

void SafetensorsFile(const uint8_t* data, size_t size) {
  (void)files::ReadSafetensors(AsFile(data, size, "x.safetensors"));
}

void TensorFile(const uint8_t* data, size_t size) {
  const std::string path = AsFile(data, size, "x.pb");
  (void)onnx_io::ReadTensorFile(path);
  for (const Type& type : {Type::Sequence(Type::Tensor(DType::kFloat32)),
                           Type::Optional(Type::Tensor(DType::kInt64))}) {
    (void)onnx_io::ReadValueFile(path, type);
  }
  Type map;
  map.kind = Type::Kind::kMap;
  (void)onnx_io::ReadValueFile(path, map);
}

void Image(const uint8_t* data, size_t size) {
  (void)ReadImage(AsFile(data, size, "x.png"), false);
  (void)ReadImage(AsFile(data, size, "x.jpg"), true);
}

}  // namespace onward::fuzz
