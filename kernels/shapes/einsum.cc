#include "kernels/shapes/einsum.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

constexpr EinsumLabel kFirstEllipsis = 128;
constexpr size_t kMaxLabels = 256;

// The labels of one term; the ellipsis stands as kFirstEllipsis.
absl::StatusOr<EinsumLabels> ParseTerm(std::string_view term) {
  EinsumLabels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == '.') {
      if (ellipsis || term.substr(i, 3) != "...")
        return absl::InvalidArgumentError(
            absl::StrCat("misplaced '.' in '", std::string(term), "'"));
      ellipsis = true;
      i += 2;
      labels.push_back(kFirstEllipsis);
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(static_cast<EinsumLabel>(c));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("'", std::string(1, c), "' in '", std::string(term), "' is not a letter"));
    }
  }
  return labels;
}

// Replaces the ellipsis by the last `count` of `all` ellipsis axes.
EinsumLabels ExpandEllipsis(const EinsumLabels& labels, size_t count, size_t all) {
  EinsumLabels result;
  for (EinsumLabel label : labels) {
    if (label != kFirstEllipsis) {
      result.push_back(label);
      continue;
    }
    for (size_t i = all - count; i < all; ++i)
      result.push_back(static_cast<EinsumLabel>(kFirstEllipsis + static_cast<EinsumLabel>(i)));
  }
  return result;
}

bool HasEllipsis(const EinsumLabels& labels) {
  return std::find(labels.begin(), labels.end(), kFirstEllipsis) != labels.end();
}

std::string LabelName(EinsumLabel label) {
  if (label >= kFirstEllipsis) return absl::StrCat("ellipsis axis ", label - kFirstEllipsis);
  return absl::StrCat("'", std::string(1, static_cast<char>(label)), "'");
}

// The output of an equation without an arrow: the ellipsis, then letters that occur once, sorted.
EinsumLabels ImplicitOutput(const std::vector<EinsumLabels>& terms) {
  std::array<int, kMaxLabels> count = {};
  bool ellipsis = false;
  for (const EinsumLabels& term : terms) {
    for (EinsumLabel label : term) ++count[static_cast<size_t>(label)];
    ellipsis = ellipsis || HasEllipsis(term);
  }
  EinsumLabels output;
  if (ellipsis) output.push_back(kFirstEllipsis);
  for (EinsumLabel label = 0; label < kFirstEllipsis; ++label) {
    if (count[static_cast<size_t>(label)] == 1) output.push_back(label);
  }
  return output;
}

using Sizes = std::array<int64_t, kMaxLabels>;  // -1: the label does not occur

absl::Status MeetSizes(const EinsumLabels& labels, DimsView dims, Sizes& sizes) {
  for (size_t i = 0; i < labels.size(); ++i) {
    int64_t& size = sizes[static_cast<size_t>(labels[i])];
    if (size == -1 || size == 1) {
      size = dims[i];
    } else if (dims[i] != size && dims[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(LabelName(labels[i]), " is ", size, " and ", dims[i]));
    }
  }
  return absl::OkStatus();
}

EinsumOperand Walk(const EinsumLabels& labels, DimsView dims, const Sizes& sizes) {
  EinsumOperand operand;
  const Dims strides = Strides(dims);
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t stride = dims[i] == 1 ? 0 : strides[i];
    const auto found = std::find(operand.labels.begin(), operand.labels.end(), labels[i]);
    if (found != operand.labels.end()) {
      operand.strides[static_cast<size_t>(found - operand.labels.begin())] += stride;
      continue;
    }
    operand.labels.push_back(labels[i]);
    operand.sizes.push_back(sizes[static_cast<size_t>(labels[i])]);
    operand.strides.push_back(stride);
  }
  return operand;
}

struct Equation {
  std::vector<EinsumLabels> terms;
  EinsumLabels output;
};

absl::StatusOr<Equation> SplitEquation(std::string_view text) {
  std::string equation;
  for (char c : text) {
    if (c != ' ') equation.push_back(c);
  }
  Equation result;
  const size_t arrow = equation.find("->");
  for (const auto& term : absl::StrSplit(equation.substr(0, arrow), ',')) {
    ONWARD_ASSIGN_OR_RETURN(EinsumLabels labels,
                            ParseTerm(std::string_view(term.data(), term.size())));
    result.terms.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    result.output = ImplicitOutput(result.terms);
  } else {
    ONWARD_ASSIGN_OR_RETURN(result.output, ParseTerm(std::string_view(equation).substr(arrow + 2)));
  }
  return result;
}

absl::Status SetOutput(const EinsumLabels& labels, const Sizes& sizes, EinsumTerms& result) {
  result.output_labels = labels;
  for (EinsumLabel label : labels) {
    const int64_t size = sizes[static_cast<size_t>(label)];
    if (size < 0 || std::count(labels.begin(), labels.end(), label) != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("output label ", LabelName(label),
                       size < 0 ? " is in no operand" : " stands more than once"));
    }
    result.output.push_back(size);
  }
  return CheckedNumElements(result.output).status();
}

}  // namespace

absl::StatusOr<EinsumTerms> ParseEinsum(std::string_view text,
                                        absl::Span<const DimsView> operands) {
  ONWARD_ASSIGN_OR_RETURN(Equation equation, SplitEquation(text));
  if (equation.terms.size() != operands.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the equation has ", equation.terms.size(),
                                                   " terms, the node ", operands.size(),
                                                   " inputs"));
  }
  size_t all = 0;  // axes of the ellipsis
  std::vector<size_t> counts;
  bool any_ellipsis = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool ellipsis = HasEllipsis(equation.terms[i]);
    const size_t named = equation.terms[i].size() - (ellipsis ? 1 : 0);
    if (operands[i].size() < named || (!ellipsis && operands[i].size() != named)) {
      return absl::InvalidArgumentError(absl::StrCat("term ", i, " names ", named, " axes, input ",
                                                     i, " is ", DimsString(operands[i])));
    }
    counts.push_back(operands[i].size() - named);
    all = std::max(all, counts.back());
    any_ellipsis = any_ellipsis || ellipsis;
  }
  if (all + kFirstEllipsis > kMaxLabels)
    return absl::InvalidArgumentError("too many axes under an ellipsis");
  if (HasEllipsis(equation.output) != any_ellipsis)
    return absl::InvalidArgumentError(
        "the ellipsis must be in the inputs and the output, or in none");
  Sizes sizes;
  sizes.fill(-1);
  for (size_t i = 0; i < operands.size(); ++i) {
    equation.terms[i] = ExpandEllipsis(equation.terms[i], counts[i], all);
    if (absl::Status met = MeetSizes(equation.terms[i], operands[i], sizes); !met.ok())
      return Annotate(met, absl::StrCat("input ", i, ": "));
  }
  EinsumTerms result;
  for (size_t i = 0; i < operands.size(); ++i)
    result.operands.push_back(Walk(equation.terms[i], operands[i], sizes));
  ONWARD_RETURN_IF_ERROR(SetOutput(ExpandEllipsis(equation.output, all, all), sizes, result));
  return result;
}

}  // namespace onward::kernels
