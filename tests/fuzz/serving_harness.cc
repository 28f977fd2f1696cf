// What a stranger sends to the server: heads, compressed bodies, inference requests; and to the
// client: replies.
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "serving/client/infer_call.h"
#include "serving/client/reply_reader.h"
#include "serving/http/compression.h"
#include "serving/http/framing.h"
#include "serving/protocol/classification.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/read_infer_request.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

using namespace serving;  // NOLINT: the harness is all of it

constexpr DType kRawTypes[] = {DType::kFloat32, DType::kBool, DType::kInt64, DType::kString};

std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

void Require(bool holds) {
  if (!holds) std::abort();
}

// What was read is written as bytes and reads the same. `room`: bytes of the request, which bound
// the dims that it may have.
void WriteAndReadBack(const InferRequest& request, size_t room) {
  InferReply reply{"m", "1", request.id};
  for (const auto& [name, value] : request.inputs)
    reply.outputs.push_back({name, value.tensor(), request.binary_output});
  const auto written = WriteInferReply(reply);
  Require(written.ok() || absl::IsFailedPrecondition(written.status()));
  for (ReplyOutput& output : reply.outputs) {
    (void)BestClasses(output.tensor, 3, {});
    output.binary = true;
  }
  const auto binary = WriteInferReply(reply);
  Require(binary.ok());
  if (reply.outputs.empty()) return;
  std::string json = binary->body, bytes;
  for (const BodyPart& part : binary->parts) bytes += part.bytes;
  const std::string_view length = binary->fields.at(0).second;
  const size_t end = std::strtoul(std::string(length).c_str(), nullptr, 10);
  bytes = json.substr(end) + bytes;
  json.resize(end);
  const size_t outputs = json.find("\"outputs\":[");
  Require(outputs != json.npos);
  // An id may have the same text: only without one the place is sure.
  if (request.id) return;
  json.replace(outputs, 9, "\"inputs\"");
  json.insert(0, room, ' ');
  const auto again = ReadInferRequest(absl::StrCat(json, bytes), json.size());
  Require(again.ok() && again->inputs.size() == request.inputs.size());
  for (const auto& [name, value] : request.inputs)
    Require(SameBits(value.tensor(), again->inputs.at(name).tensor()));
}

}  // namespace

// The first two bytes say where the JSON ends; 0: by the field of the whole.
void InferRequestBytes(const uint8_t* data, size_t size) {
  FuzzBytes head(data, size);
  const size_t length = size_t{head.Byte()} << 8 | head.Byte();
  const std::string_view body = Text(data, size).substr(std::min<size_t>(size, 2));
  const auto plain = ReadInferRequest(body);
  if (plain.ok()) WriteAndReadBack(*plain, body.size());
  if (length <= body.size()) {
    const auto binary = ReadInferRequest(body, length);
    if (binary.ok()) WriteAndReadBack(*binary, body.size());
  }
  ValueInfo input;
  input.name = "x";
  input.type = Type::Tensor(head.Pick(kRawTypes), SymbolicDims{Dim::Symbol("n"), Dim(3)});
  (void)ReadInferRequest({{"inference-header-content-length", "0"}}, body, {input});
}

// The first byte chooses coding and limit.
void CompressedBody(const uint8_t* data, size_t size) {
  FuzzBytes head(data, size);
  const uint8_t choice = head.Byte();
  const std::string_view bytes = Text(data, size).substr(std::min<size_t>(size, 1));
  const Coding coding = choice % 2 == 0 ? Coding::kGzip : Coding::kDeflate;
  const size_t most = choice < 128 ? size_t{1} << 20 : 100;
  const auto text = Decompress(coding, bytes, most);
  if (text.ok()) Require(text->size() <= most);
  const auto compressed = Compress(coding, {bytes});
  Require(compressed.ok());
  const auto back = Decompress(coding, *compressed, bytes.size());
  Require(back.ok() && *back == bytes);
  const HttpFields fields = {{"accept-encoding", std::string(bytes)},
                             {"content-encoding", std::string(bytes)}};
  (void)AcceptedCoding(fields);
  (void)CodingOf(fields);
}

void HttpHead(const uint8_t* data, size_t size) {
  const std::string_view head = Text(data, size);
  (void)CheckHead(head);
  const auto segments = SegmentsOf(head);
  if (segments.ok()) {
    for (const std::string& segment : *segments) Require(CanBeSegment(segment));
  }
  HttpFields fields;
  for (std::string_view rest = head; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const size_t colon = std::min(line.find(':'), line.size());
    fields.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  (void)CheckFields(fields, 10);
  (void)CheckFields(fields, 11);
  const auto length = JsonLengthOf(fields, 1000);
  Require(!length.ok() || length->value_or(0) <= 1000);
}

// The first byte says in what pieces the rest comes. Two replies may come on one connection.
void ServerReplyBytes(const uint8_t* data, size_t size) {
  FuzzBytes head(data, size);
  const size_t piece = size_t{head.Byte()} + 1;
  std::string_view rest = Text(data, size).substr(std::min<size_t>(size, 1));
  constexpr int64_t kMostBody = 1 << 16;
  ReplyReader reader({.head_bytes = 4096, .body_bytes = kMostBody});
  for (int replies = 0; replies < 2; ++replies) {
    reader.Begin();
    while (!reader.done() && !rest.empty()) {
      const absl::Span<char> room = reader.Room();
      const size_t count = std::min({piece, rest.size(), room.size()});
      rest.copy(room.data(), count);
      rest.remove_prefix(count);
      if (!reader.Take(count).ok()) return;
    }
    if (!reader.done() && !reader.End().ok()) return;
    const bool more = reader.keep_alive();
    const ServerReply reply = reader.TakeReply();
    Require(reply.body.size() <= static_cast<size_t>(kMostBody));
    (void)ReadModelInputs(reply.body);
    const auto outputs = ReadInferOutputs(reply);
    if (outputs.ok()) Require(CompareOutputs(*outputs, *outputs, 0).ok());
    if (!more) return;
  }
}

}  // namespace onward::fuzz
