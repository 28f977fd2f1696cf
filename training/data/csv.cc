// Comma-separated values (RFC 4180). Where records begin is found when the file is opened, what is
// in them when they are read.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "graph/base/checked.h"
#include "graph/base/name_pattern.h"
#include "onward/status.h"
#include "training/data/record_field.h"
#include "training/data/record_tokens.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using Values = std::vector<std::string>;

// Takes one record and the line end after it off the front of `rest`; false when a quoted value is
// not closed, or continues after its closing quote. `values` may be null.
bool TakeRecord(std::string_view& rest, char delimiter, Values* values) {
  size_t i = 0;
  bool good = true;
  while (true) {
    std::string value;
    if (i < rest.size() && rest[i] == '"') {
      for (++i; i < rest.size(); ++i) {
        if (rest[i] == '"' && (i + 1 == rest.size() || rest[i + 1] != '"')) break;
        if (rest[i] == '"') ++i;
        if (values != nullptr) value.push_back(rest[i]);
      }
      good = good && i < rest.size();
      if (i < rest.size()) ++i;
      if (i < rest.size() && rest[i] == '\r') ++i;
      good = good && (i >= rest.size() || rest[i] == delimiter || rest[i] == '\n');
    }
    const size_t begin = i;
    while (i < rest.size() && rest[i] != delimiter && rest[i] != '\n') ++i;
    if (values != nullptr) {
      value.append(rest.substr(begin, i - begin));
      const bool at_end = i >= rest.size() || rest[i] == '\n';
      if (at_end && begin < i && value.back() == '\r') value.pop_back();
      values->push_back(std::move(value));
    }
    if (i >= rest.size() || rest[i] == '\n') break;
    ++i;
  }
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return good;
}

// A text's tokens, and where the texts are.
struct Texts {
  RecordTokens tokens;
  std::vector<size_t> positions;
};

struct Column {
  RecordElements elements;
  std::vector<size_t> positions;
  Dims dims;
};

absl::StatusOr<std::vector<size_t>> FindColumns(const RecordField& field, const Values& header,
                                                bool named) {
  std::vector<size_t> positions;
  std::vector<std::string> patterns(field.column().begin(), field.column().end());
  if (patterns.empty()) patterns.push_back(field.name());
  for (const std::string& pattern : patterns) {
    const size_t before = positions.size();
    for (size_t i = 0; i < header.size(); ++i) {
      const std::string name = named ? header[i] : absl::StrCat(i);
      if (name == pattern || MatchesPattern(name, pattern)) positions.push_back(i);
    }
    if (positions.size() == before)
      return absl::InvalidArgumentError(absl::StrCat("field '", field.name(), "': none of the ",
                                                     header.size(), " columns is named '", pattern,
                                                     "'"));
  }
  return positions;
}

// The one column of that name, or at that position.
absl::StatusOr<size_t> FindColumn(const std::string& wanted, const Values& header, bool named) {
  for (size_t i = 0; i < header.size(); ++i)
    if ((named ? header[i] : absl::StrCat(i)) == wanted) return i;
  return absl::InvalidArgumentError(
      absl::StrCat("tokens: none of the ", header.size(), " columns is named '", wanted, "'"));
}

absl::StatusOr<Column> MakeColumn(const RecordField& field, const Values& header, bool named) {
  Column column;
  ONWARD_ASSIGN_OR_RETURN(column.elements, RecordElements::Make(field));
  ONWARD_ASSIGN_OR_RETURN(column.positions, FindColumns(field, header, named));
  const auto count = static_cast<int64_t>(column.positions.size());
  column.dims.assign(field.dim().begin(), field.dim().end());
  if (column.dims.empty() && count > 1) column.dims.push_back(count);
  const absl::StatusOr<int64_t> needed = CheckedNumElements(column.dims);
  if (!needed.ok() || *needed != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "field '", field.name(), "': ", count, " columns do not make ", DimsString(column.dims)));
  }
  return column;
}

class Csv : public Dataset {
 public:
  Csv(std::shared_ptr<files::MappedFile> file, std::string path, char delimiter)
      : file_(std::move(file)), path_(std::move(path)), delimiter_(delimiter) {}

  absl::Status Open(const CsvData& config, const std::string& directory) {
    std::string_view rest = file_->bytes();
    if (rest.substr(0, 3) == "\xef\xbb\xbf") rest.remove_prefix(3);
    SkipBlankLines(rest);
    std::string_view first = rest;
    if (rest.empty()) return absl::InvalidArgumentError("the file is empty");
    if (!TakeRecord(first, delimiter_, &header_))
      return absl::InvalidArgumentError("line 1: a quoted value does not end as it should");
    if (config.header()) rest = first;
    for (const RecordField& field : config.field()) {
      ONWARD_ASSIGN_OR_RETURN(Column column, MakeColumn(field, header_, config.header()));
      fields_.push_back({field.name(),
                         Type::Tensor(column.elements.dtype(), column.dims),
                         {field.class_().begin(), field.class_().end()}});
      columns_.push_back(std::move(column));
    }
    for (const TokensField& field : config.tokens()) {
      if (field.chat()) return absl::InvalidArgumentError("tokens: chat is of JSON's messages");
      ONWARD_ASSIGN_OR_RETURN(RecordTokens tokens, RecordTokens::Make(field, directory));
      fields_.insert(fields_.end(), tokens.fields().begin(), tokens.fields().end());
      std::vector<size_t> positions;
      for (const std::string& name : tokens.columns()) {
        ONWARD_ASSIGN_OR_RETURN(const size_t at, FindColumn(name, header_, config.header()));
        positions.push_back(at);
      }
      texts_.push_back({std::move(tokens), std::move(positions)});
    }
    const char* begin = file_->bytes().data();
    for (SkipBlankLines(rest); !rest.empty(); SkipBlankLines(rest)) {
      records_.push_back(static_cast<size_t>(rest.data() - begin));
      TakeRecord(rest, delimiter_, nullptr);
    }
    return absl::OkStatus();
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
    return ReadFields(index, std::nullopt);
  }
  // Classes are read without the tokens of texts.
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    if (field >= columns_.size()) return Dataset::ReadField(index, field);
    ONWARD_ASSIGN_OR_RETURN(std::vector<Tensor> one, ReadFields(index, field));
    return std::move(one[0]);
  }
  std::string Place(int64_t index, uint64_t) const override {
    return absl::StrCat("'", path_, "' line ",
                        LineOf(file_->bytes(), records_[static_cast<size_t>(index)]));
  }

 private:
  static void SkipBlankLines(std::string_view& rest) {
    while (!rest.empty() && (rest[0] == '\n' || rest.substr(0, 2) == "\r\n"))
      rest.remove_prefix(rest[0] == '\n' ? 1 : 2);
  }

  // `only`: one of columns_, in place of all fields.
  absl::StatusOr<std::vector<Tensor>> ReadFields(int64_t index, std::optional<size_t> only) const {
    const size_t offset = records_[static_cast<size_t>(index)];
    absl::StatusOr<std::vector<Tensor>> example = Parse(file_->bytes().substr(offset), only);
    if (example.ok()) return example;
    return absl::DataLossError(absl::StrCat(Place(index, 0), ": ", example.status().message()));
  }

  absl::StatusOr<std::vector<Tensor>> Parse(std::string_view record,
                                            std::optional<size_t> only) const {
    Values values;
    values.reserve(header_.size());
    if (!TakeRecord(record, delimiter_, &values))
      return absl::InvalidArgumentError("a quoted value does not end as it should");
    if (values.size() != header_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(values.size(), " values where the first line has ", header_.size()));
    }
    std::vector<Tensor> example;
    for (size_t f = 0; f < columns_.size(); ++f) {
      if (only.has_value() && *only != f) continue;
      const Column& column = columns_[f];
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(column.elements.dtype(), column.dims));
      for (size_t i = 0; i < column.positions.size(); ++i) {
        const size_t position = column.positions[i];
        const absl::Status status =
            column.elements.FromText(values[position], static_cast<int64_t>(i), tensor);
        if (!status.ok())
          return Annotate(status,
                          absl::StrCat("column ", position, ", field '", fields_[f].name, "':"));
      }
      example.push_back(std::move(tensor));
    }
    if (only.has_value()) return example;
    for (const Texts& each : texts_) {
      std::vector<std::string_view> texts;
      for (const size_t position : each.positions) texts.push_back(values[position]);
      ONWARD_RETURN_IF_ERROR(Annotate(each.tokens.Append(texts, example),
                                      absl::StrCat("column ", each.positions[0], ":")));
    }
    return example;
  }

  std::shared_ptr<files::MappedFile> file_;
  std::string path_;
  char delimiter_;
  Values header_;  // of the first record, which counts the values of all
  std::vector<Field> fields_;
  std::vector<Column> columns_;
  std::vector<Texts> texts_;     // whose fields follow those of columns_
  std::vector<size_t> records_;  // where they begin
};

}  // namespace

OpenedDataset OpenCsv(const CsvData& config, const std::string& directory) {
  const std::string& delimiter = config.delimiter();
  if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
    return absl::InvalidArgumentError(
        "data.csv: the delimiter must be one character and not a quote");
  if (config.field().empty() && config.tokens().empty())
    return absl::InvalidArgumentError("data.csv: needs a field");
  const std::string path = PathBelow(directory, config.path());
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<files::MappedFile> file, files::MappedFile::Open(path));
  auto csv = std::make_shared<Csv>(std::move(file), path, delimiter[0]);
  ONWARD_RETURN_IF_ERROR(Annotate(csv->Open(config, directory), absl::StrCat("'", path, "':")));
  return csv;
}

}  // namespace onward::training
