#include "serving/grpc/messages/infer_reply_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/grpc/messages/typed_contents.h"
#include "serving/protocol/binary_tensor.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

constexpr size_t kMostCopied = 16 * 1024;  // bytes of an output that join the message's others

size_t SizeOf(const std::vector<BodyPart>& parts) {
  size_t size = 0;
  for (const BodyPart& part : parts) size += part.bytes.size();
  return size;
}

// The bytes before those of a field.
std::string FieldHead(int number, size_t size) {
  uint8_t bytes[16];
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteTagToArray(
      static_cast<uint32_t>(number) << 3 | 2, bytes);
  end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(size, end);
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes)};
}

BodyPart PartOf(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {*owner, owner};
}

// The message less its raw contents.
inference::ModelInferResponse Described(const InferReply& reply, bool typed) {
  inference::ModelInferResponse message;
  message.set_model_name(reply.model);
  message.set_model_version(reply.version);
  message.set_id(reply.id.value_or(""));
  for (const ReplyOutput& output : reply.outputs) {
    auto& described = *message.add_outputs();
    described.set_name(output.name);
    described.set_datatype(std::string(DatatypeName(output.tensor.dtype())));
    for (const int64_t dim : output.tensor.dims()) described.add_shape(dim);
    if (typed) WriteTypedContents(output.tensor, *described.mutable_contents());
  }
  return message;
}

absl::StatusOr<BodyPart> RawContents(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    ONWARD_ASSIGN_OR_RETURN(std::string bytes, LengthPrefixed(tensor));
    return PartOf(std::move(bytes));
  }
  const std::string_view bytes(static_cast<const char*>(tensor.raw_data()),
                               static_cast<size_t>(tensor.byte_size()));
  return BodyPart{bytes, tensor.buffer()};
}

bool CanBeTyped(const InferReply& reply) {
  return std::none_of(reply.outputs.begin(), reply.outputs.end(), [](const ReplyOutput& output) {
    return output.binary || !HasTypedContents(output.tensor.dtype());
  });
}

// So many bytes at most that typed elements do not overflow the lengths of messages.
bool IsHuge(const InferReply& reply) {
  int64_t bytes = 0;
  for (const ReplyOutput& output : reply.outputs) bytes += output.tensor.byte_size();
  return bytes > std::numeric_limits<int>::max() / 16;
}

}  // namespace

absl::StatusOr<std::vector<BodyPart>> WriteInferMessage(const InferReply& reply) {
  const bool typed = CanBeTyped(reply) && !IsHuge(reply);
  std::vector<BodyPart> parts;
  std::string text = Described(reply, typed).SerializeAsString();
  for (const ReplyOutput& output : reply.outputs) {
    if (typed) break;
    ONWARD_ASSIGN_OR_RETURN(BodyPart raw, RawContents(output.tensor));
    text +=
        FieldHead(inference::ModelInferResponse::kRawOutputContentsFieldNumber, raw.bytes.size());
    if (raw.bytes.size() <= kMostCopied) {
      text += raw.bytes;
    } else {
      parts.push_back(PartOf(std::exchange(text, std::string())));
      parts.push_back(std::move(raw));
    }
  }
  if (!text.empty()) parts.push_back(PartOf(std::move(text)));
  if (SizeOf(parts) < static_cast<size_t>(std::numeric_limits<int>::max())) return parts;
  return absl::OutOfRangeError(
      "the reply has 2 GiB or more, which no message can have: ask for fewer rows or outputs");
}

std::vector<BodyPart> AsStreamed(std::vector<BodyPart> reply, bool is_final) {
  inference::ModelInferResponse marked;
  (*marked.mutable_parameters())["triton_final_response"].set_bool_param(is_final);
  reply.push_back(PartOf(marked.SerializeAsString()));
  reply.insert(reply.begin(),
               PartOf(FieldHead(inference::ModelStreamInferResponse::kInferResponseFieldNumber,
                                SizeOf(reply))));
  return reply;
}

}  // namespace onward::serving
