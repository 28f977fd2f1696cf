// Continues a text with a GPT of characters: continue_text MODEL.onnx VOCABULARY.txt TEXT
#include <onward/generation.h>
#include <onward/import.h>
#include <onward/status.h>

#include <cstdio>

absl::Status ContinueText(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) return absl::InvalidArgumentError("needs MODEL VOCABULARY TEXT");
  ONWARD_ASSIGN_OR_RETURN(const auto vocabulary, onward::Vocabulary::Read(arguments[1]));
  ONWARD_ASSIGN_OR_RETURN(auto model, onward::ImportFile(arguments[0]));
  ONWARD_ASSIGN_OR_RETURN(auto decoder,
                          onward::generation::Decoder::Create(std::move(model), {}, 64));
  ONWARD_ASSIGN_OR_RETURN(const auto prompt, vocabulary.Encode(arguments[2]));
  onward::generation::GenerateOptions options{.max_new_tokens = 200};
  options.sampling = {.greedy = false, .temperature = 0.8, .top_k = 20};
  ONWARD_ASSIGN_OR_RETURN(const auto generated, Generate(*decoder, prompt, options));
  ONWARD_ASSIGN_OR_RETURN(const std::string text, vocabulary.Decode(generated.tokens));
  return std::puts(text.c_str()) >= 0 ? absl::OkStatus() : absl::UnavailableError("stdout");
}

int main(int argc, char** argv) {
  const absl::Status status = ContinueText({argv + 1, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
