#include "graph/base/einsum_equation.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"

namespace onward {
namespace {

// The labels of one term; the ellipsis stands as kFirstEllipsisAxis.
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
      labels.push_back(kFirstEllipsisAxis);
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
  for (const EinsumLabel label : labels) {
    if (label != kFirstEllipsisAxis) {
      result.push_back(label);
      continue;
    }
    for (size_t i = all - count; i < all; ++i)
      result.push_back(static_cast<EinsumLabel>(kFirstEllipsisAxis + static_cast<EinsumLabel>(i)));
  }
  return result;
}

bool HasEllipsis(const EinsumLabels& labels) {
  return std::find(labels.begin(), labels.end(), kFirstEllipsisAxis) != labels.end();
}

using Counts = std::array<int, kMaxEinsumLabels>;  // of each label in all terms

Counts CountLabels(const std::vector<EinsumLabels>& terms) {
  Counts count = {};
  for (const EinsumLabels& term : terms)
    for (const EinsumLabel label : term) ++count[static_cast<size_t>(label)];
  return count;
}

// The output of an equation without an arrow: the ellipsis, then letters that occur once, sorted.
EinsumLabels ImplicitOutput(const std::vector<EinsumLabels>& terms) {
  const Counts count = CountLabels(terms);
  EinsumLabels output;
  if (std::any_of(terms.begin(), terms.end(), HasEllipsis)) output.push_back(kFirstEllipsisAxis);
  for (EinsumLabel label = 0; label < kFirstEllipsisAxis; ++label) {
    if (count[static_cast<size_t>(label)] == 1) output.push_back(label);
  }
  return output;
}

absl::StatusOr<EinsumEquation> SplitEquation(std::string_view text) {
  std::string equation;
  for (const char c : text) {
    if (c != ' ') equation.push_back(c);
  }
  EinsumEquation result;
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

absl::Status CheckOutput(const EinsumEquation& equation) {
  const Counts count = CountLabels(equation.terms);
  for (const EinsumLabel label : equation.output) {
    const bool missing = count[static_cast<size_t>(label)] == 0;
    if (missing || std::count(equation.output.begin(), equation.output.end(), label) != 1)
      return absl::InvalidArgumentError(
          absl::StrCat("output label ", EinsumLabelName(label),
                       missing ? " is in no operand" : " stands more than once"));
  }
  return absl::OkStatus();
}

// The number of axes that the ellipsis of each term stands for.
absl::StatusOr<std::vector<size_t>> EllipsisAxes(const std::vector<EinsumLabels>& terms,
                                                 absl::Span<const size_t> ranks) {
  std::vector<size_t> counts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool ellipsis = HasEllipsis(terms[i]);
    const size_t named = terms[i].size() - (ellipsis ? 1 : 0);
    if (ranks[i] < named || (!ellipsis && ranks[i] != named))
      return absl::InvalidArgumentError(
          absl::StrCat("term ", i, " names ", named, " axes, input ", i, " has ", ranks[i]));
    counts.push_back(ranks[i] - named);
  }
  return counts;
}

}  // namespace

std::string EinsumLabelName(EinsumLabel label) {
  if (label >= kFirstEllipsisAxis)
    return absl::StrCat("ellipsis axis ", label - kFirstEllipsisAxis);
  return absl::StrCat("'", std::string(1, static_cast<char>(label)), "'");
}

absl::StatusOr<EinsumEquation> ParseEinsumEquation(std::string_view text,
                                                   absl::Span<const size_t> ranks) {
  ONWARD_ASSIGN_OR_RETURN(EinsumEquation equation, SplitEquation(text));
  if (equation.terms.size() != ranks.size())
    return absl::InvalidArgumentError(absl::StrCat("the equation has ", equation.terms.size(),
                                                   " terms, the node ", ranks.size(), " inputs"));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<size_t> counts, EllipsisAxes(equation.terms, ranks));
  const size_t all = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  if (all + kFirstEllipsisAxis > kMaxEinsumLabels)
    return absl::InvalidArgumentError("too many axes under an ellipsis");
  const bool any = std::any_of(equation.terms.begin(), equation.terms.end(), HasEllipsis);
  if (HasEllipsis(equation.output) != any)
    return absl::InvalidArgumentError(
        "the ellipsis must be in the inputs and the output, or in none");
  for (size_t i = 0; i < ranks.size(); ++i)
    equation.terms[i] = ExpandEllipsis(equation.terms[i], counts[i], all);
  equation.output = ExpandEllipsis(equation.output, all, all);
  ONWARD_RETURN_IF_ERROR(CheckOutput(equation));
  return equation;
}

}  // namespace onward
