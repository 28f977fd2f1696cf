// StringConcat, StringSplit, StringNormalizer, RegexFullMatch.
#include <clocale>
#include <cwctype>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"
#include "re2/re2.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

class StringConcat : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    const DimsView a = context.input_dims(0), b = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const Dims out, BroadcastDims(a, b));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kString, out).status());
    context.SetOutput(0, out);
    const Dims strides[2] = {BroadcastStrides(a, out), BroadcastStrides(b, out)};
    auto* state = context.NewState<State>();
    for (int i = 0; i < 2; ++i) state->strides[i] = context.Keep<int64_t>(strides[i]).data();
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    const TensorView& out = context.output(0);
    const int64_t count = out.num_elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t at[2] = {}, rest = i;
      for (int64_t axis = out.rank(); axis-- > 0; rest /= out.dim(axis)) {
        for (int k = 0; k < 2; ++k) at[k] += rest % out.dim(axis) * state.strides[k][axis];
      }
      out.as<std::string>()[i] =
          absl::StrCat(context.in<std::string>(0)[at[0]], context.in<std::string>(1)[at[1]]);
    }
    return absl::OkStatus();
  }

 private:
  struct State {
    const int64_t* strides[2] = {};
  };
};

// Pieces of `text`, at most `max_splits` cuts; an empty delimiter cuts at runs of white space.
std::vector<std::string> SplitText(const std::string& text, const std::string& delimiter,
                                   int64_t max_splits) {
  constexpr const char* kSpace = " \t\n\v\f\r";
  std::vector<std::string> pieces;
  size_t at = delimiter.empty() ? text.find_first_not_of(kSpace) : 0;
  while (at != std::string::npos) {
    const bool last = static_cast<int64_t>(pieces.size()) == max_splits;
    const size_t end = last                ? std::string::npos
                       : delimiter.empty() ? text.find_first_of(kSpace, at)
                                           : text.find(delimiter, at);
    if (end == std::string::npos) {
      pieces.push_back(text.substr(at));
      break;
    }
    pieces.push_back(text.substr(at, end - at));
    at = delimiter.empty() ? text.find_first_not_of(kSpace, end) : end + delimiter.size();
  }
  return pieces;
}

class StringSplit : public Kernel {
 public:
  StringSplit(std::string delimiter, int64_t max_splits)
      : delimiter_(std::move(delimiter)), max_splits_(max_splits) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    context.SetOutput(1, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    std::vector<std::vector<std::string>> rows;
    size_t longest = 0;
    for (const std::string& text : in.span<std::string>()) {
      rows.push_back(SplitText(text, delimiter_, max_splits_));
      longest = std::max(longest, rows.back().size());
      if (context.has_output(1))
        context.out<int64_t>(1)[rows.size() - 1] = static_cast<int64_t>(rows.back().size());
    }
    Dims dims(in.dims.begin(), in.dims.end());
    dims.push_back(static_cast<int64_t>(longest));
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, DType::kString, dims));
    for (size_t r = 0; r < rows.size(); ++r) {
      for (size_t i = 0; i < longest; ++i) {
        out.as<std::string>()[r * longest + i] =
            i < rows[r].size() ? std::move(rows[r][i]) : std::string();
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string delimiter_;
  int64_t max_splits_;
};

enum class CaseChange { kNone, kLower, kUpper };

// The locale that says what upper and lower case are; owned by a kernel.
struct CaseLocale {
  explicit CaseLocale(const std::string& name)
      : handle(newlocale(LC_CTYPE_MASK, name.c_str(), nullptr)) {
    if (handle == nullptr) handle = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  }
  ~CaseLocale() {
    if (handle != nullptr) freelocale(handle);
  }
  CaseLocale(const CaseLocale&) = delete;
  CaseLocale& operator=(const CaseLocale&) = delete;
  locale_t handle;
};

// Decodes the UTF-8 character at text[at] and moves on; a byte that starts none stands for itself,
// as a negative number.
int32_t NextCharacter(const std::string& text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : -1;
  if (more < 0 || lead > 0xf4 || at + static_cast<size_t>(more) > text.size()) return -lead;
  int32_t code = more == 0 ? lead : lead & (0x3f >> more);
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
    if ((next & 0xc0) != 0x80) return -lead;
    code = code << 6 | (next & 0x3f);
  }
  at += static_cast<size_t>(more);
  return code;
}

void AppendCharacter(int32_t code, std::string& text) {
  if (code < 0) {
    text.push_back(static_cast<char>(-code));
  } else if (code < 0x80) {
    text.push_back(static_cast<char>(code));
  } else {
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr int kLead[] = {0, 0xc0, 0xe0, 0xf0};
    text.push_back(static_cast<char>(kLead[more] | code >> (6 * more)));
    for (int i = more; i-- > 0;) text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
  }
}

std::string ChangeCase(const std::string& text, CaseChange change, locale_t locale) {
  if (change == CaseChange::kNone) return text;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    int32_t code = NextCharacter(text, at);
    if (code >= 0) {
      const auto wide = static_cast<wint_t>(code);
      code = static_cast<int32_t>(change == CaseChange::kLower ? towlower_l(wide, locale)
                                                               : towupper_l(wide, locale));
    }
    AppendCharacter(code, result);
  }
  return result;
}

class StringNormalizer : public Kernel {
 public:
  StringNormalizer(CaseChange change, bool case_sensitive,
                   const std::vector<std::string>& stop_words, const std::string& locale)
      : change_(change), case_sensitive_(case_sensitive), locale_(locale) {
    for (const std::string& word : stop_words) stop_words_.insert(Folded(word));
  }
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.size() != 1 && !(dims.size() == 2 && dims[0] == 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has shape ", DimsString(dims), ", not [C] or [1,C]"));
    }
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    std::vector<std::string> kept;
    for (const std::string& word : in.span<std::string>()) {
      if (stop_words_.count(Folded(word)) == 0)
        kept.push_back(ChangeCase(word, change_, locale_.handle));
    }
    if (kept.empty()) kept.emplace_back();  // the standard: one empty string
    Dims dims(in.dims.begin(), in.dims.end());
    dims.back() = static_cast<int64_t>(kept.size());
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, DType::kString, dims));
    std::move(kept.begin(), kept.end(), out.as<std::string>());
    return absl::OkStatus();
  }

 private:
  std::string Folded(const std::string& word) const {
    return case_sensitive_ ? word : ChangeCase(word, CaseChange::kLower, locale_.handle);
  }
  CaseChange change_;
  bool case_sensitive_;
  CaseLocale locale_;
  std::set<std::string> stop_words_;
};

class RegexFullMatch : public Kernel {
 public:
  explicit RegexFullMatch(std::unique_ptr<RE2> regex) : regex_(std::move(regex)) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const absl::Span<std::string> texts = context.input(0).span<std::string>();
    for (size_t i = 0; i < texts.size(); ++i)
      context.out<bool>(0)[i] = RE2::FullMatch(texts[i], *regex_);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<RE2> regex_;
};

Made MakeStringConcat(const NodeSpec&) { return std::make_unique<StringConcat>(); }

Made MakeStringSplit(const NodeSpec& spec) {
  return std::make_unique<StringSplit>(spec.attributes().String("delimiter"),
                                       spec.attributes().Int("maxsplit", -1));
}

Made MakeStringNormalizer(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  const std::string action = attributes.String("case_change_action", "NONE");
  CaseChange change = CaseChange::kNone;
  if (action == "LOWER") {
    change = CaseChange::kLower;
  } else if (action == "UPPER") {
    change = CaseChange::kUpper;
  } else if (action != "NONE") {
    return absl::InvalidArgumentError(
        absl::StrCat("case_change_action is '", action, "', not LOWER, UPPER or NONE"));
  }
  return std::make_unique<StringNormalizer>(change, attributes.Int("is_case_sensitive", 0) != 0,
                                            attributes.Strings("stopwords"),
                                            attributes.String("locale", "C.UTF-8"));
}

Made MakeRegexFullMatch(const NodeSpec& spec) {
  RE2::Options options;
  options.set_log_errors(false);
  const std::string pattern = spec.attributes().String("pattern");
  auto regex = std::make_unique<RE2>(pattern, options);
  if (!regex->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("pattern '", pattern, "': ", regex->error()));
  }
  return std::make_unique<RegexFullMatch>(std::move(regex));
}

constexpr KernelEntry kKernels[] = {
    {"", "StringConcat", "string_concat_reference", MakeStringConcat},
    {"", "StringSplit", "string_split_reference", MakeStringSplit},
    {"", "StringNormalizer", "string_normalizer_reference", MakeStringNormalizer},
    {"", "RegexFullMatch", "regex_full_match_reference", MakeRegexFullMatch},
};

}  // namespace

KernelList ReferenceString() { return kKernels; }

}  // namespace onward::kernels::cpu
