// Einsum: the gradient of an operand is the einsum of the output's gradient and the other operands,
// with the operand's labels as output.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Letters that are left for labels that occur twice.
constexpr size_t kSpare = 8;

// An equation with a letter for each axis.
struct Equation {
  std::vector<std::string> terms;
  std::string output;
  std::string free;  // letters that it does not use
};

// Labels that occur once, in order; after the ellipsis.
std::string ImplicitOutput(const std::string& left) {
  std::map<char, int> counts;
  for (const char c : left) {
    if (std::isalpha(c)) ++counts[c];
  }
  std::string output = left.find("...") == std::string::npos ? "" : "...";
  for (const auto& [c, count] : counts) {
    if (count == 1) output += c;
  }
  return output;
}

// "...ij" of rank 4 and ellipsis "XYZ" is "YZij": ellipses are aligned at their ends.
std::string WithoutEllipsis(const std::string& term, size_t rank, const std::string& ellipsis) {
  const size_t at = term.find("...");
  if (at == std::string::npos) return term;
  const size_t labels = term.size() - 3;
  const size_t dims = rank > labels ? std::min(rank - labels, ellipsis.size()) : 0;
  return term.substr(0, at) + ellipsis.substr(ellipsis.size() - dims) + term.substr(at + 3);
}

// A term is letters with at most one ellipsis among them, a letter for each axis; repeated ones
// must be few enough to get letters of their own.
absl::Status CheckTerm(const std::string& term, int64_t rank, size_t most_repeated) {
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("equation: the term '", term, "' ", why));
  };
  const size_t at = term.find("...");
  const std::string letters =
      at == std::string::npos ? term : term.substr(0, at) + term.substr(at + 3);
  if (letters.find_first_not_of(kLetters) != std::string::npos)
    return wrong("has something else than letters and one ellipsis");
  const auto count = static_cast<int64_t>(letters.size());
  if (count > rank || (count < rank && at == std::string::npos))
    return wrong(absl::StrCat("has ", count, " labels for an input of ", rank, " dims"));
  const std::set<char> distinct(letters.begin(), letters.end());
  if (letters.size() - distinct.size() > most_repeated)
    return absl::UnimplementedError("equation: too many repeated labels to be differentiated");
  return absl::OkStatus();
}

absl::StatusOr<Equation> EquationOf(const GradientScope& s) {
  std::string text = s.attributes().String("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation equation;
  equation.output = arrow == std::string::npos ? ImplicitOutput(left) : text.substr(arrow + 2);
  equation.terms = absl::StrSplit(left, ',');
  for (const char c : kLetters) {
    if (text.find(c) == std::string::npos) equation.free += c;
  }
  if (equation.terms.size() != static_cast<size_t>(s.num_inputs())) {
    return absl::InvalidArgumentError(absl::StrCat("equation: '", text, "' has ",
                                                   equation.terms.size(), " terms for ",
                                                   s.num_inputs(), " inputs"));
  }
  std::vector<size_t> ranks;
  size_t widest = 0;
  for (int i = 0; i < s.num_inputs(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(i)));
    const std::string& term = equation.terms[static_cast<size_t>(i)];
    ONWARD_RETURN_IF_ERROR(CheckTerm(term, rank, kSpare));
    ranks.push_back(static_cast<size_t>(rank));
    if (term.find("...") != std::string::npos && ranks.back() + 3 > term.size())
      widest = std::max(widest, ranks.back() + 3 - term.size());
  }
  if (widest + kSpare > equation.free.size()) return absl::UnimplementedError("too many labels");
  const std::string ellipsis = equation.free.substr(0, widest);
  equation.free.erase(0, widest);
  for (size_t i = 0; i < ranks.size(); ++i)
    equation.terms[i] = WithoutEllipsis(equation.terms[i], ranks[i], ellipsis);
  equation.output = WithoutEllipsis(equation.output, 99, ellipsis);
  return equation;
}

// Drops axes of size 1, which stand for any size.
void DropOnes(Expr& x, std::string& term) {
  const auto& dims = x.type().shape;
  if (!dims || dims->size() != term.size()) return;
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < term.size(); ++i) {
    if ((*dims)[i] == Dim(1)) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      kept += term[i];
    }
  }
  if (axes.empty()) return;
  x = Squeeze(x, axes);
  term = kept;
}

// The operands of one operand's gradient, and its terms.
struct Product {
  std::vector<Expr> factors;
  std::vector<std::string> terms;

  void Add(Expr x, std::string term) {
    DropOnes(x, term);
    factors.push_back(x);
    terms.push_back(std::move(term));
  }
  bool Has(char label) const {
    for (const std::string& term : terms) {
      if (term.find(label) != std::string::npos) return true;
    }
    return false;
  }
};

// A second occurrence of a label in the operand gets a label of its own, tied to the first by an
// identity matrix; a label that nothing else has is one along which the operand was summed.
Expr OperandGradient(const GradientScope& s, const Equation& equation, size_t operand) {
  const Expr x = s.input(static_cast<int>(operand));
  Product product;
  product.Add(s.upstream(0), equation.output);
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    if (i != operand) product.Add(s.input(static_cast<int>(i)), equation.terms[i]);
  }
  std::string result;
  std::string free = equation.free;
  for (const char label : equation.terms[operand]) {
    const Expr size = DimOf(x, static_cast<int64_t>(result.size()));
    if (result.find(label) != std::string::npos) {
      const Expr numbers = Iota(size);
      const Expr eye = Cast(Equal(Unsqueeze(numbers, {1}), numbers), x.dtype());
      product.factors.push_back(eye);
      product.terms.push_back({label, free.back()});
      result += free.back();
      free.pop_back();
      continue;
    }
    if (!product.Has(label)) {
      product.factors.push_back(Expand(ScalarLike(x, 1), size));
      product.terms.emplace_back(1, label);
    }
    result += label;
  }
  return Op("Einsum", product.factors,
            {{"equation", absl::StrCat(absl::StrJoin(product.terms, ","), "->", result)}});
}

Gradients EinsumRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const Equation equation, EquationOf(s));
  std::vector<Expr> gradients = NoGradients(s);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (s.wants(static_cast<int>(i))) gradients[i] = OperandGradient(s, equation, i);
  }
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Einsum", EinsumRule}};

}  // namespace

GradientList EinsumGradients() { return kRules; }

}  // namespace onward::gradient
