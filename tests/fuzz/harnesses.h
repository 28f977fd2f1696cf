// The fuzzers' entries: each takes any bytes and must neither crash, hang, leak nor take more
// memory than its caps. libFuzzer drives them (fuzz_main.cc), and the ordinary tests replay the
// corpus and draw inputs of their own (replay_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace onward::fuzz {

// The bytes are a serialized model: import, also for inspection, then export of what was imported.
void ModelBytes(const uint8_t* data, size_t size);
// The bytes decide about a graph of random operators: inference over partly known types.
void ShapeInference(const uint8_t* data, size_t size);
// The same graphs and models by bytes, run with caps on memory and executed nodes.
void RunStructured(const uint8_t* data, size_t size);
void RunModelBytes(const uint8_t* data, size_t size);
// A case of the operators' tables with changed attributes, shapes, dtypes and values.
void RunMutatedCase(const uint8_t* data, size_t size);
// Files of tensors.
void Npy(const uint8_t* data, size_t size);
void Npz(const uint8_t* data, size_t size);
void SafetensorsFile(const uint8_t* data, size_t size);
void TensorFile(const uint8_t* data, size_t size);
void Image(const uint8_t* data, size_t size);
// Files that a training reads: vocabularies, archives, records of lines, manifests of checkpoints.
void DataFile(const uint8_t* data, size_t size);

// A tokenizer.json and, behind a zero byte, a text; a text for tokenizers of drawn parts.
void TokenizerBytes(const uint8_t* data, size_t size);
void TokenizerText(const uint8_t* data, size_t size);
// A tokenizer.model, which is the text, too.
void SentencePieceBytes(const uint8_t* data, size_t size);
// A chat template, run on a conversation.
void ChatTemplateText(const uint8_t* data, size_t size);

// A training's configuration: as bytes in text or JSON; the bytes change one that then trains.
void TrainConfigBytes(const uint8_t* data, size_t size);
void TrainConfigured(const uint8_t* data, size_t size);
// A checkpoint with changed bytes or, under right checksums, changed contents, resumed from.
void Checkpoint(const uint8_t* data, size_t size);
// The gradient of a random model, exported and run.
void GradientOfModel(const uint8_t* data, size_t size);
// Text of a changed decoder, by drawn tokens and options.
void GenerateTokens(const uint8_t* data, size_t size);

// The bytes that a client sends to the server.
void InferRequestBytes(const uint8_t* data, size_t size);
// A message of gRPC, for a method that the first byte chooses.
void GrpcMessageBytes(const uint8_t* data, size_t size);
void CompressedBody(const uint8_t* data, size_t size);
void HttpHead(const uint8_t* data, size_t size);
void HttpConnection(const uint8_t* data, size_t size);
// The bytes that a server sends to the client.
void ServerReplyBytes(const uint8_t* data, size_t size);
// The body of a request for text, and strings that end a text.
void TextRequestBytes(const uint8_t* data, size_t size);
// A schema of response_format, and the scores of a text.
void JsonSchemaBytes(const uint8_t* data, size_t size);

struct Harness {
  std::string_view name;
  void (*run)(const uint8_t* data, size_t size);
};

inline constexpr Harness kHarnesses[] = {
    {"model_bytes", ModelBytes},
    {"shape_inference", ShapeInference},
    {"run_structured", RunStructured},
    {"run_model_bytes", RunModelBytes},
    {"run_mutated_case", RunMutatedCase},
    {"npy", Npy},
    {"npz", Npz},
    {"safetensors_file", SafetensorsFile},
    {"tensor_file", TensorFile},
    {"image", Image},
    {"data_file", DataFile},
    {"tokenizer_bytes", TokenizerBytes},
    {"tokenizer_text", TokenizerText},
    {"sentence_piece_bytes", SentencePieceBytes},
    {"chat_template_text", ChatTemplateText},
    {"train_config_bytes", TrainConfigBytes},
    {"train_configured", TrainConfigured},
    {"checkpoint", Checkpoint},
    {"gradient_of_model", GradientOfModel},
    {"generate_tokens", GenerateTokens},
    {"infer_request_bytes", InferRequestBytes},
    {"grpc_message_bytes", GrpcMessageBytes},
    {"compressed_body", CompressedBody},
    {"http_head", HttpHead},
    {"http_connection", HttpConnection},
    {"server_reply_bytes", ServerReplyBytes},
    {"text_request_bytes", TextRequestBytes},
    {"json_schema_bytes", JsonSchemaBytes},
};

}  // namespace onward::fuzz
