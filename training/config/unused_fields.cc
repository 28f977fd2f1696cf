#include "training/config/unused_fields.h"

#include "absl/strings/str_cat.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

// `used`: whether the field has an effect, given that it is set.
template <typename M>
struct Row {
  const char* field;
  bool (*used)(const M& message);
  const char* reason;
};

bool IsSet(const proto::Message& message, const char* name) {
  const proto::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  const proto::Reflection* reflection = message.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(message, field) > 0
                              : reflection->HasField(message, field);
}

template <typename M, size_t kRows>
void Check(const M& message, const std::string& prefix, const Row<M> (&rows)[kRows],
           ConfigProblem& problem) {
  for (const Row<M>& row : rows) {
    if (!problem.field.empty()) return;
    if (IsSet(message, row.field) && !row.used(message))
      problem = {absl::StrCat(prefix, row.field), absl::StrCat("does nothing: ", row.reason)};
  }
}

template <typename M>
bool Never(const M&) {
  return false;
}

// --- the training

constexpr char kScales[] =
    "only `autocast: FLOAT16` scales the loss (`--set precision.loss_scale=` and the like take "
    "such "
    "fields away)";
bool Scales(const PrecisionConfig& config) { return config.autocast() == PrecisionConfig::FLOAT16; }
constexpr Row<PrecisionConfig> kPrecision[] = {{"loss_scale", Scales, kScales},
                                               {"growth", Scales, kScales},
                                               {"backoff", Scales, kScales},
                                               {"growth_interval", Scales, kScales},
                                               {"least_loss_scale", Scales, kScales}};

constexpr Row<AverageConfig> kAverage[] = {
    {"decay", [](const AverageConfig& config) { return config.kind() != AverageConfig::UNIFORM; },
     "a uniform average has no decay"}};

constexpr Row<LossConfig> kLoss[] = {
    {"target", [](const LossConfig& config) { return !config.has_from_model(); },
     "the loss is an output of the model, which has computed it"}};

constexpr char kBuilt[] = "a `built` model has the weights that its modules say";
bool Imported(const TrainConfig& config) { return !config.has_built(); }
constexpr Row<TrainConfig> kTraining[] = {{"shared", Imported, kBuilt},
                                          {"untied", Imported, kBuilt}};

// --- data

constexpr Row<TextData> kText[] = {
    {"vocabulary", [](const TextData& text) { return text.tokens() == TextData::VOCABULARY; },
     "only `tokens: VOCABULARY` reads it"},
    {"tokenizer", [](const TextData& text) { return text.tokens() == TextData::TOKENIZER; },
     "only `tokens: TOKENIZER` reads it"},
    {"stride", [](const TextData& text) { return !text.random(); },
     "windows begin at random, not one stride apart"}};

constexpr Row<ResizeStep> kResize[] = {
    {"height", [](const ResizeStep& step) { return !step.has_shorter(); },
     "`shorter` says the size of the shorter side, and the ratio stays"},
    {"width", [](const ResizeStep& step) { return !step.has_shorter(); },
     "`shorter` says the size of the shorter side, and the ratio stays"}};

bool IsFloat(const RecordField& field) {
  return field.class__size() == 0 &&
         (field.element() == RecordField::FLOAT32 || field.element() == RecordField::FLOAT64);
}
constexpr char kOfFloats[] = "only elements that are floats are normalised";
constexpr Row<RecordField> kRecord[] = {
    {"element",
     [](const RecordField& field) {
       return field.class__size() == 0 || field.element() == RecordField::INT64;
     },
     "the element is the position of the class, an INT64"},
    {"mean", IsFloat, kOfFloats},
    {"deviation", IsFloat, kOfFloats},
    {"missing", [](const RecordField& field) { return field.element() != RecordField::STRING; },
     "it is a number, the elements are strings"}};

constexpr char kOfCompletions[] = "with `next` the ids are what a language model completes";
constexpr Row<TokensField> kTokens[] = {
    {"special", [](const TokensField& tokens) { return tokens.next().empty(); }, kOfCompletions},
    {"tools", [](const TokensField& tokens) { return tokens.chat(); },
     "without `chat` no template shows them"}};

constexpr Row<DataConfig> kData[] = {
    {"prefetch", [](const DataConfig& data) { return data.workers() > 0; },
     "without workers a batch is read when it is asked for"},
    {"shuffle", [](const DataConfig& data) { return data.shuffle() || !data.has_sampling(); },
     "`sampling` draws the examples at random"}};
constexpr Row<DataConfig> kEvaluationData[] = {
    {"sampling", Never, "an evaluation looks at every example once"},
    {"group_by_length", Never, "an evaluation has its examples in the data's order"}};

// The fields and the tokens of records in csv or jsonl.
template <typename Records>
void CheckRecords(const Records& records, const std::string& prefix, ConfigProblem& problem) {
  for (int i = 0; i < records.field_size(); ++i)
    Check(records.field(i), absl::StrCat(prefix, "field[", i, "]."), kRecord, problem);
  for (int i = 0; i < records.tokens_size(); ++i)
    Check(records.tokens(i), absl::StrCat(prefix, "tokens[", i, "]."), kTokens, problem);
}

void CheckData(const DataConfig& data, const std::string& prefix, ConfigProblem& problem) {
  Check(data, prefix, kData, problem);
  if (data.has_text()) Check(data.text(), prefix + "text.", kText, problem);
  for (int i = 0; i < data.images().step_size(); ++i) {
    const ImageStep& step = data.images().step(i);
    if (step.has_resize())
      Check(step.resize(), absl::StrCat(prefix, "images.step[", i, "].resize."), kResize, problem);
  }
  CheckRecords(data.csv(), prefix + "csv.", problem);
  CheckRecords(data.jsonl(), prefix + "jsonl.", problem);
}

}  // namespace

ConfigProblem UnusedField(const TrainConfig& config) {
  ConfigProblem problem;
  Check(config, "", kTraining, problem);
  Check(config.precision(), "precision.", kPrecision, problem);
  Check(config.average(), "average.", kAverage, problem);
  Check(config.loss(), "loss.", kLoss, problem);
  for (int i = 0; i < config.auxiliary_loss_size(); ++i)
    Check(config.auxiliary_loss(i), absl::StrCat("auxiliary_loss[", i, "]."), kLoss, problem);
  CheckData(config.data(), "data.", problem);
  CheckData(config.evaluation().data(), "evaluation.data.", problem);
  Check(config.evaluation().data(), "evaluation.data.", kEvaluationData, problem);
  return problem;
}

}  // namespace onward::training
