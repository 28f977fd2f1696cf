#include "onnx_io/payloads.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "onnx/onnx_pb.h"
#include "onward/dtype.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// The messages that may hold tensors or many small parts.
enum class Message : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kFunction,
  kTraining,
  kValue,
  kType,
  kTensorType,
  kElementType,
  kMapType,
  kShape,
  kLeaf,
};

struct Child {
  Message message;
  uint32_t field;
  Message child;
};

// Field numbers of onnx.proto.
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 8, Message::kLeaf},
    {Message::kModel, 14, Message::kLeaf},
    {Message::kModel, 20, Message::kTraining},
    {Message::kModel, 25, Message::kFunction},
    {Message::kTraining, 1, Message::kGraph},
    {Message::kTraining, 2, Message::kGraph},
    {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 9, Message::kLeaf},
    {Message::kFunction, 11, Message::kAttribute},
    {Message::kFunction, 12, Message::kValue},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 11, Message::kValue},
    {Message::kGraph, 12, Message::kValue},
    {Message::kGraph, 13, Message::kValue},
    {Message::kGraph, 14, Message::kLeaf},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kGraph, 16, Message::kLeaf},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kNode, 9, Message::kLeaf},
    {Message::kNode, 10, Message::kLeaf},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 14, Message::kType},
    {Message::kAttribute, 15, Message::kType},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
    {Message::kValue, 2, Message::kType},
    {Message::kValue, 4, Message::kLeaf},
    {Message::kType, 1, Message::kTensorType},
    {Message::kType, 4, Message::kElementType},
    {Message::kType, 5, Message::kMapType},
    {Message::kType, 8, Message::kTensorType},
    {Message::kType, 9, Message::kElementType},
    {Message::kElementType, 1, Message::kType},
    {Message::kMapType, 2, Message::kType},
    {Message::kTensorType, 2, Message::kShape},
    {Message::kShape, 1, Message::kLeaf},
};

constexpr uint32_t kTensorDataType = 2;
constexpr uint32_t kTensorSegment = 3;
constexpr uint32_t kTensorFloatData = 4;
constexpr uint32_t kTensorRawData = 9;
constexpr uint32_t kTensorDoubleData = 10;
constexpr size_t kSmallestPayload = 256;

// Memory that parsing takes besides the bytes: an object in a block of its own, and a pointer
// to it.
constexpr int64_t kBlockBytes = 24;
constexpr int64_t kStringBytes = sizeof(std::string) + kBlockBytes;

constexpr int64_t BytesOf(Message message) {
  switch (message) {
    case Message::kGraph:
      return sizeof(onnx::GraphProto) + kBlockBytes;
    case Message::kNode:
      return sizeof(onnx::NodeProto) + kBlockBytes;
    case Message::kAttribute:
      return sizeof(onnx::AttributeProto) + kBlockBytes;
    case Message::kTensor:
      return sizeof(onnx::TensorProto) + kBlockBytes;
    case Message::kFunction:
      return sizeof(onnx::FunctionProto) + kBlockBytes;
    case Message::kTraining:
      return sizeof(onnx::TrainingInfoProto) + kBlockBytes;
    default:  // small ones
      return sizeof(onnx::ValueInfoProto) + kBlockBytes;
  }
}

constexpr int64_t kParsedBytesFree = int64_t{52} << 20;
constexpr int64_t kParsedBytesPerByte = 2;
constexpr int kDeepestMessage = 192;

constexpr int kVarint = 0;
constexpr int kFixed64 = 1;
constexpr int kBytes = 2;
constexpr int kFixed32 = 5;

struct Field {
  uint32_t number = 0;
  int wire_type = 0;
  uint64_t varint = 0;     // of kVarint
  std::string_view bytes;  // contents of kBytes
  std::string_view whole;  // with its tag
};

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendBytes(uint32_t number, std::string_view bytes, std::string& out) {
  AppendVarint(number << 3 | kBytes, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

class PayloadTaker {
 public:
  PayloadTaker(std::string_view model, const ImportOptions& options)
      : model_(model),
        options_(options),
        default_limit_(kParsedBytesFree +
                       kParsedBytesPerByte * static_cast<int64_t>(model.size())) {}

  absl::Status Walk(Message message, std::string_view bytes, int depth, int graphs,
                    std::string& out);

 private:
  int64_t Offset(std::string_view at) const { return at.data() - model_.data(); }
  absl::Status Malformed(std::string_view at, std::string_view what) const;
  // Reads one field from the front of `rest`, which is not empty.
  absl::Status Next(std::string_view& rest, Field& field) const;
  absl::Status ReadVarint(std::string_view& rest, uint64_t& value) const;
  absl::Status WalkTensor(std::string_view bytes, std::string& out);
  absl::Status Count(Message message);
  absl::Status Add(int64_t bytes);  // to what parsing would take

  const std::string_view model_;
  const ImportOptions& options_;
  const int64_t default_limit_;
  int64_t nodes_ = 0;
  int64_t parsed_bytes_ = 0;
};

absl::Status PayloadTaker::Malformed(std::string_view at, std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("not a valid ONNX file: ", std::string(what),
                                                 " at byte ", Offset(at), " of ", model_.size()));
}

absl::Status PayloadTaker::ReadVarint(std::string_view& rest, uint64_t& value) const {
  value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (i >= rest.size()) return Malformed(rest, "it ends inside a number (cut off?)");
    const auto byte = static_cast<uint8_t>(rest[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest.remove_prefix(i + 1);
      return absl::OkStatus();
    }
  }
  return Malformed(rest, "malformed number");
}

absl::Status PayloadTaker::Next(std::string_view& rest, Field& field) const {
  const std::string_view start = rest;
  uint64_t tag = 0;
  ONWARD_RETURN_IF_ERROR(ReadVarint(rest, tag));
  field.number = static_cast<uint32_t>(tag >> 3);
  field.wire_type = static_cast<int>(tag & 7);
  if (tag >> 32 != 0 || field.number == 0) return Malformed(start, "malformed field");
  uint64_t size = 0;
  switch (field.wire_type) {
    case kVarint:
      ONWARD_RETURN_IF_ERROR(ReadVarint(rest, field.varint));
      break;
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kBytes:
      ONWARD_RETURN_IF_ERROR(ReadVarint(rest, size));
      break;
    default:
      return Malformed(start, absl::StrCat("malformed field (wire type ", field.wire_type, ")"));
  }
  if (size > rest.size()) {
    return Malformed(start, absl::StrCat("a field of ", size, " bytes ends outside (cut off?)"));
  }
  field.bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  field.whole = start.substr(0, start.size() - rest.size());
  return absl::OkStatus();
}

absl::Status PayloadTaker::Count(Message message) {
  if (message == Message::kNode && ++nodes_ > options_.max_nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has more than ", options_.max_nodes, " nodes"));
  }
  return Add(BytesOf(message));
}

absl::Status PayloadTaker::Add(int64_t bytes) {
  parsed_bytes_ += bytes;
  const int64_t limit = options_.max_parsed_bytes > 0 ? options_.max_parsed_bytes : default_limit_;
  if (parsed_bytes_ <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the model's ", model_.size(),
                                                 " bytes would need more than ", limit,
                                                 " bytes when parsed "
                                                 "(ImportOptions::max_parsed_bytes)"));
}

absl::Status PayloadTaker::Walk(Message message, std::string_view bytes, int depth, int graphs,
                                std::string& out) {
  ONWARD_RETURN_IF_ERROR(Count(message));
  if (message == Message::kGraph && graphs > options_.max_subgraph_depth) {
    return absl::InvalidArgumentError(absl::StrCat("subgraphs are nested deeper than the limit of ",
                                                   options_.max_subgraph_depth));
  }
  if (depth > kDeepestMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("messages are nested deeper than the limit of ", kDeepestMessage));
  }
  if (message == Message::kTensor) return WalkTensor(bytes, out);
  while (!bytes.empty()) {
    Field field;
    ONWARD_RETURN_IF_ERROR(Next(bytes, field));
    const auto* child = std::find_if(
        std::begin(kChildren), std::end(kChildren),
        [&](const Child& row) { return row.message == message && row.field == field.number; });
    if (field.wire_type != kBytes || child == std::end(kChildren)) {
      if (field.wire_type == kBytes) ONWARD_RETURN_IF_ERROR(Add(kStringBytes));
      out.append(field.whole);
      continue;
    }
    std::string inner;
    ONWARD_RETURN_IF_ERROR(Walk(child->child, field.bytes, depth + 1,
                                graphs + (child->child == Message::kGraph ? 1 : 0), inner));
    AppendBytes(field.number, inner, out);
  }
  return absl::OkStatus();
}

absl::Status PayloadTaker::WalkTensor(std::string_view bytes, std::string& out) {
  Field payload;
  uint64_t dtype = 0;
  int payloads = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    Field field;
    ONWARD_RETURN_IF_ERROR(Next(rest, field));
    if (field.number == kTensorSegment) {
      return Malformed(field.whole, "a tensor stored in segments (not supported)");
    }
    if (field.number == kTensorDataType) dtype = field.varint;
    if (field.wire_type != kBytes) continue;
    ONWARD_RETURN_IF_ERROR(Add(kStringBytes));
    if (field.number == kTensorRawData || field.number == kTensorFloatData ||
        field.number == kTensorDoubleData) {
      payload = field;
      ++payloads;
    }
  }
  const auto is = [&](DType wanted) { return dtype == static_cast<uint64_t>(wanted); };
  bool take = payloads == 1 && payload.bytes.size() >= kSmallestPayload;
  if (payload.number == kTensorFloatData) take &= is(DType::kFloat32) || is(DType::kComplex64);
  if (payload.number == kTensorDoubleData) take &= is(DType::kFloat64) || is(DType::kComplex128);
  if (!take) {
    out.append(bytes);
    return absl::OkStatus();
  }
  out.append(bytes.data(), static_cast<size_t>(payload.whole.data() - bytes.data()));
  const char* after = payload.whole.data() + payload.whole.size();
  out.append(after, static_cast<size_t>(bytes.data() + bytes.size() - after));
  std::string segment;
  const auto begin = static_cast<uint64_t>(Offset(payload.bytes));
  AppendVarint(1 << 3 | kVarint, segment);
  AppendVarint(begin, segment);
  AppendVarint(2 << 3 | kVarint, segment);
  AppendVarint(begin + payload.bytes.size(), segment);
  AppendBytes(kTensorSegment, segment, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> TakePayloadsOut(std::string_view model, const ImportOptions& options) {
  std::string out;
  PayloadTaker taker(model, options);
  ONWARD_RETURN_IF_ERROR(taker.Walk(Message::kModel, model, 0, -1, out));
  return out;
}

}  // namespace onward::onnx_io
