#include "graph/ops/signature.h"

#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;

struct AttributeKind {
  std::string_view name;
  AttributeProto::AttributeType type;
};
constexpr AttributeKind kKinds[] = {
    {"int", AttributeProto::INT},         {"float", AttributeProto::FLOAT},
    {"string", AttributeProto::STRING},   {"tensor", AttributeProto::TENSOR},
    {"ints", AttributeProto::INTS},       {"floats", AttributeProto::FLOATS},
    {"strings", AttributeProto::STRINGS},
};

class SignatureReader {
 public:
  explicit SignatureReader(std::string_view text) : text_(text) {}

  absl::StatusOr<OpSchema> Read(const std::string& domain) {
    OpSchema schema(Word(), __FILE__, __LINE__);
    schema.SetDomain(domain).SinceVersion(1);
    if (Take("<")) ONWARD_RETURN_IF_ERROR(ReadAttributes(schema));
    ONWARD_RETURN_IF_ERROR(ReadParameters(schema, /*inputs=*/true));
    ONWARD_RETURN_IF_ERROR(Expect("->"));
    ONWARD_RETURN_IF_ERROR(ReadParameters(schema, /*inputs=*/false));
    if (Take("where")) ONWARD_RETURN_IF_ERROR(ReadConstraints(schema));
    SkipSpace();
    if (at_ != text_.size()) return Wrong("the end");
    return schema;
  }

 private:
  absl::Status Wrong(std::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("the signature '", std::string(text_), "' has '",
                                                   std::string(text_.substr(at_, 20)), "' where ",
                                                   std::string(expected), " is expected"));
  }
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  absl::Status Expect(std::string_view token) {
    return Take(token) ? absl::OkStatus() : Wrong(absl::StrCat("'", std::string(token), "'"));
  }
  // Letters, digits and underscores.
  std::string Word() {
    SkipSpace();
    const size_t start = at_;
    const auto belongs = [&](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  // A type, ending at the first parenthesis that closes nothing.
  std::string TypeWord() {
    SkipSpace();
    std::string type = Word();
    if (Take("(")) {
      absl::StrAppend(&type, "(", TypeWord());
      while (Take(",")) absl::StrAppend(&type, ",", TypeWord());
      if (Take(")")) type += ")";
    }
    return type;
  }

  absl::Status ReadAttributes(OpSchema& schema) {
    do {
      const std::string name = Word();
      if (name.empty()) return Wrong("an attribute's name");
      ONWARD_RETURN_IF_ERROR(Expect(":"));
      const std::string kind_name = Word();
      const AttributeKind* kind = nullptr;
      for (const AttributeKind& row : kKinds) {
        if (row.name == kind_name) kind = &row;
      }
      if (kind == nullptr) return Wrong("a kind of attribute");
      if (Take("=")) {
        ONWARD_ASSIGN_OR_RETURN(AttributeProto value, ReadDefault(kind->type));
        value.set_name(name);
        schema.Attr(OpSchema::Attribute(name, "", std::move(value)));
      } else {
        const bool optional = Take("?");
        schema.Attr(name, "", kind->type, /*required=*/!optional);
      }
    } while (Take(","));
    return Expect(">");
  }

  absl::StatusOr<AttributeProto> ReadDefault(AttributeProto::AttributeType type) {
    AttributeProto value;
    value.set_type(type);
    if (type == AttributeProto::INT || type == AttributeProto::FLOAT) {
      ONWARD_ASSIGN_OR_RETURN(const double number, ReadNumber());
      if (type == AttributeProto::INT)
        value.set_i(static_cast<int64_t>(number));
      else
        value.set_f(static_cast<float>(number));
    } else if (type == AttributeProto::STRING) {
      ONWARD_RETURN_IF_ERROR(Expect("\""));
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return Wrong("a closing quote");
      value.set_s(std::string(text_.substr(at_, end - at_)));
      at_ = end + 1;
    } else if (type == AttributeProto::INTS || type == AttributeProto::FLOATS) {
      ONWARD_RETURN_IF_ERROR(Expect("["));
      while (!Take("]")) {
        ONWARD_ASSIGN_OR_RETURN(const double number, ReadNumber());
        if (type == AttributeProto::INTS)
          value.add_ints(static_cast<int64_t>(number));
        else
          value.add_floats(static_cast<float>(number));
        Take(",");
      }
    } else {
      return Wrong("an attribute without default");
    }
    return value;
  }

  absl::StatusOr<double> ReadNumber() {
    SkipSpace();
    double number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) return Wrong("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return number;
  }

  absl::Status ReadParameters(OpSchema& schema, bool inputs) {
    ONWARD_RETURN_IF_ERROR(Expect("("));
    for (int n = 0; !Take(")"); ++n) {
      if (n > 0) ONWARD_RETURN_IF_ERROR(Expect(","));
      const std::string name = Word();
      if (name.empty()) return Wrong("a parameter's name");
      ONWARD_RETURN_IF_ERROR(Expect(":"));
      const std::string type = TypeWord();
      OpSchema::FormalParameterOption option = OpSchema::Single;
      int at_least = 1;
      if (Take("...")) {
        option = OpSchema::Variadic;
        if (Take("?")) at_least = 0;
      } else if (Take("?")) {
        option = OpSchema::Optional;
      }
      if (inputs)
        schema.Input(n, name, "", type, option, false, at_least);
      else
        schema.Output(n, name, "", type, option, false, at_least);
    }
    return absl::OkStatus();
  }

  absl::Status ReadConstraints(OpSchema& schema) {
    do {
      const std::string letter = Word();
      ONWARD_RETURN_IF_ERROR(Expect("="));
      std::vector<std::string> types;
      do {
        const std::string type = TypeWord();
        if (type.empty()) return Wrong("a type");
        types.push_back(type.find('(') == std::string::npos ? absl::StrCat("tensor(", type, ")")
                                                            : type);
      } while (Take("|"));
      schema.TypeConstraint(letter, types, "");
    } while (Take(","));
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<OpSchema> SchemaFromSignature(const std::string& domain,
                                             std::string_view signature) {
  return SignatureReader(signature).Read(domain);
}

}  // namespace onward
