#include "files/tar.h"
#include "google/protobuf/text_format.h"
#include "onward/dataset.h"
#include "onward/vocabulary.h"
#include "tests/fuzz/harnesses.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/manifest.h"

namespace onward::fuzz {
namespace {

constexpr const char* kConfigs[] = {
    "mnist { images: 'x' labels: 'x' }",
    "text { path: 'x' window: 2 tokens: CHARACTERS }",
    "text { path: 'x' window: 3 tokens: VOCABULARY vocabulary: 'x' }",
    "images { archive: 'x' }",
    "images { list: 'x' }",
    "csv { path: 'x' header: false field { name: '*' } }",
    "csv { path: 'x' delimiter: ';' field { name: 's' column: '*' element: STRING } }",
    "jsonl { path: 'x' field { name: 'x' dim: -1 dim: -1 missing: 0 } }",
    "jsonl { path: 'x' field { name: 'a' column: 'a.b' element: INT32 } }",
    "csv { path: 'x' header: false tokens { column: '0' column: '1' tokenizer: '.' } }",
    "jsonl { path: 'x' tokens { column: 'a' column: 'b' tokenizer: '.' next: 'label' } }",
    "jsonl { path: 'x' tokens { column: 'm' tokenizer: '.' chat: true next: 'label' } }",
};
constexpr char kTokenizer[] = R"({"model":{"type":"BPE","byte_fallback":true,"unk_token":"u",
    "vocab":{"u":0,"a":1,"b":2,"ab":3},"merges":["a b"]}})";
constexpr char kTemplate[] =
    "{% for m in messages %}{{ m.role }}:{{ m['content'] | trim }};{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

}  // namespace

void DataFile(const uint8_t* data, size_t size) {
  static const auto* directory = [] {
    auto* made = new testing::ScratchDirectory();
    made->Write("tokenizer.json", kTokenizer);
    made->Write("chat_template.jinja", kTemplate);
    return made;
  }();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string path = directory->Write("x", bytes);
  (void)training::ParseManifest(bytes);
  (void)files::ListTar(bytes);
  if (const auto vocabulary = Vocabulary::Read(path); vocabulary.ok())
    (void)vocabulary->Encode(bytes);
  for (const char* text : kConfigs) {
    DataConfig config;
    google::protobuf::TextFormat::ParseFromString(text, &config);
    const auto opened = OpenDataset(config, directory->path());
    if (!opened.ok()) continue;
    for (int64_t i = 0; i < std::min<int64_t>((*opened)->size(), 20); ++i)
      (void)(*opened)->Read(i, static_cast<uint64_t>(i));
  }
}

}  // namespace onward::fuzz
