// What a stranger sends by gRPC.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "serving/grpc/messages/infer_reply_message.h"
#include "serving/grpc/messages/infer_request_message.h"
#include "serving/grpc/messages/text_message.h"
#include "serving/grpc/messages/unary_methods.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

using namespace serving;  // NOLINT: the harness is all of it

constexpr const char* kMethods[] = {"ServerLive",
                                    "ServerReady",
                                    "ServerMetadata",
                                    "ModelReady",
                                    "ModelMetadata",
                                    "ModelConfig",
                                    "ModelStatistics",
                                    "RepositoryIndex",
                                    "RepositoryModelLoad",
                                    "RepositoryModelUnload",
                                    "TraceSetting",
                                    "LogSettings",
                                    "/grpc.health.v1.Health/Check"};

void Require(bool holds) {
  if (!holds) std::abort();
}

// What was read is written and reads the same.
void WriteAndReadBack(const InferRequest& request) {
  InferReply reply{"m", "1", request.id};
  for (const auto& [name, value] : request.inputs)
    reply.outputs.push_back({name, value.tensor(), request.binary_output});
  const auto written = WriteInferMessage(reply);
  Require(written.ok());
  std::string bytes;
  for (const BodyPart& part : *written) bytes += part.bytes;
  inference::ModelInferResponse message;
  Require(message.ParseFromString(bytes));
  inference::ModelInferRequest again;
  for (const auto& output : message.outputs()) {
    auto& input = *again.add_inputs();
    input.set_name(output.name());
    input.set_datatype(output.datatype());
    *input.mutable_shape() = output.shape();
    if (output.has_contents()) *input.mutable_contents() = output.contents();
  }
  *again.mutable_raw_input_contents() = message.raw_output_contents();
  const auto read = ReadInferMessage(again);
  Require(read.ok() && read->inputs.size() == request.inputs.size());
  for (const auto& [name, value] : request.inputs)
    Require(SameBits(read->inputs.at(name).tensor(), value.tensor()));
}

void Infer(std::string_view bytes, int piece) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()), piece);
  const auto head = ReadInferHead(in);
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  if (head.ok()) Require(head->model == message.model_name() && head->id == message.id());
  if (AsksForText(message)) (void)ReadTextMessage(message);
  const auto request = ReadInferMessage(message);
  if (request.ok()) WriteAndReadBack(*request);
}

}  // namespace

// The first byte chooses a method, or in what pieces the head of an inference is read.
void GrpcMessageBytes(const uint8_t* data, size_t size) {
  FuzzBytes first(data, size);
  const size_t choice = first.Byte();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + (size > 0), size - (size > 0));
  if (choice >= std::size(kMethods)) return Infer(bytes, static_cast<int>(choice));
  const UnaryMethod* const method = UnaryMethodAt(absl::StrCat(
      *kMethods[choice] == '/' ? "" : "/inference.GRPCInferenceService/", kMethods[choice]));
  Require(method != nullptr);
  const auto request = method->request(bytes);
  if (request.ok()) Require(!request->segments.empty());
}

}  // namespace onward::fuzz
