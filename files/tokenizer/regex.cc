#include "files/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/characters.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

constexpr size_t kMaxPattern = 65536;
constexpr uint32_t kMaxSteps = 10000000;
constexpr uint32_t kMaxHeapKib = 65536;

// The memory of a match besides the code; one for each thread.
struct Scratch {
  Scratch()
      : data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(32 * 1024, 1024 * 1024, nullptr)) {
    if (context == nullptr) return;
    pcre2_set_match_limit(context, kMaxSteps);
    pcre2_set_heap_limit(context, kMaxHeapKib);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

std::string MessageOf(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

size_t NextCharacter(std::string_view text, size_t at) {
  ++at;
  while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPattern)
    return absl::InvalidArgumentError(absl::StrCat("has more than ", kMaxPattern, " bytes"));
  ONWARD_ASSIGN_OR_RETURN(const std::string translated, TranslatePattern(pattern));
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", files::PrintableUtf8(pattern.substr(0, 80)), "': ", MessageOf(error)));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where that fails, matches are interpreted
  Regex made;
  made.code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
  return made;
}

absl::StatusOr<std::vector<Regex::Range>> Regex::FindAll(std::string_view text) const {
  thread_local const Scratch scratch;
  if (scratch.data == nullptr || scratch.context == nullptr)
    return absl::ResourceExhaustedError("not enough memory for regular expressions");
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const auto* ovector = pcre2_get_ovector_pointer(scratch.data);
  std::vector<Range> found;
  for (size_t at = 0; at <= text.size();) {
    const int count = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                  PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the regular expression fails at byte ", at, ": ", MessageOf(count)));
    }
    const Range range = {ovector[0], ovector[1]};
    const size_t last = found.empty() ? text.size() + 1 : found.back().end;
    // \K in a look-ahead can begin a match behind its end, or end it before the last one.
    if (range.begin > range.end || range.end < at || (!found.empty() && range.begin < last))
      return absl::InvalidArgumentError("the regular expression moves backwards");
    if (range.begin == range.end && range.end == last) {
      at = NextCharacter(text, range.end);
      continue;
    }
    found.push_back(range);
    at = range.end;
  }
  return found;
}

}  // namespace onward::tokenizer
