#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
};
constexpr Row kRows[] = {
    {DType::kBool, "BOOL"},     {DType::kUint8, "UINT8"},   {DType::kUint16, "UINT16"},
    {DType::kUint32, "UINT32"}, {DType::kUint64, "UINT64"}, {DType::kInt8, "INT8"},
    {DType::kInt16, "INT16"},   {DType::kInt32, "INT32"},   {DType::kInt64, "INT64"},
    {DType::kFloat16, "FP16"},  {DType::kBFloat16, "BF16"}, {DType::kFloat32, "FP32"},
    {DType::kFloat64, "FP64"},  {DType::kString, "BYTES"},
};

}  // namespace

std::string_view DatatypeName(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row.name;
  return "";
}

std::optional<DType> DTypeOfDatatype(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::vector<int64_t> ShapeOf(const Type& type, int64_t varying) {
  std::vector<int64_t> shape;
  if (!type.shape) return {varying};
  for (const Dim& dim : *type.shape) shape.push_back(dim.known() ? dim.value() : varying);
  return shape;
}

}  // namespace onward::serving
