#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> StringConcatRows() {
  return {
      {"broadcast",
       "StringConcat",
       "",
       {},
       {Tensor::Of<std::string>({2, 1}, {"a", "b"}), Tensor::Of<std::string>({2}, {"x", "yz"})},
       {Tensor::Of<std::string>({2, 2}, {"ax", "ayz", "bx", "byz"})}},
      {"scalars",
       "StringConcat",
       "",
       {},
       {Tensor::Scalar<std::string>("a"), Tensor::Scalar<std::string>("")},
       {Tensor::Scalar<std::string>("a")}},
      {"utf8",
       "StringConcat",
       "",
       {},
       {Tensor::Of<std::string>({1}, {"\303\244"}), Tensor::Of<std::string>({1}, {"\346\274\242"})},
       {Tensor::Of<std::string>({1}, {"\303\244\346\274\242"})}},
      {"empty",
       "StringConcat",
       "",
       {},
       {Tensor(DType::kString, {0}), Tensor::Of<std::string>({1}, {"x"})},
       {Tensor(DType::kString, {0})}},
  };
}

std::vector<OpCase> StringSplitPart1Rows() {
  return {
      {"comma",
       "StringSplit",
       "",
       {{"delimiter", std::string(",")}},
       {Tensor::Of<std::string>({3}, {"a,b", "c", ""})},
       {Tensor::Of<std::string>({3, 2}, {"a", "b", "c", "", "", ""}),
        Tensor::Of<int64_t>({3}, {2, 1, 1})}},
      {"white_space",
       "StringSplit",
       "",
       {},
       {Tensor::Of<std::string>({3}, {"  hello  world ", "", "\011 x"})},
       {Tensor::Of<std::string>({3, 2}, {"hello", "world", "", "", "x", ""}),
        Tensor::Of<int64_t>({3}, {2, 0, 1})}},
      {"doubled",
       "StringSplit",
       "",
       {{"delimiter", std::string("--")}},
       {Tensor::Of<std::string>({1}, {"a--b----c"})},
       {Tensor::Of<std::string>({1, 4}, {"a", "b", "", "c"}), Tensor::Of<int64_t>({1}, {4})}},
      {"maxsplit",
       "StringSplit",
       "",
       {{"maxsplit", int64_t{1}}},
       {Tensor::Of<std::string>({2, 1}, {"a b c d", "x y"})},
       {Tensor::Of<std::string>({2, 1, 2}, {"a", "b c d", "x", "y"}),
        Tensor::Of<int64_t>({2, 1}, {2, 2})}},
      {"maxsplit_space_end",
       "StringSplit",
       "",
       {{"maxsplit", int64_t{1}}},
       {Tensor::Of<std::string>({1}, {" a  b c "})},
       {Tensor::Of<std::string>({1, 2}, {"a", "b c "}), Tensor::Of<int64_t>({1}, {2})}},
      {"maxsplit_delimiter",
       "StringSplit",
       "",
       {{"delimiter", std::string(".")}, {"maxsplit", int64_t{1}}},
       {Tensor::Of<std::string>({1}, {"a.b.c"})},
       {Tensor::Of<std::string>({1, 2}, {"a", "b.c"}), Tensor::Of<int64_t>({1}, {2})}},
      {"maxsplit_0",
       "StringSplit",
       "",
       {{"maxsplit", int64_t{0}}},
       {Tensor::Of<std::string>({1}, {"a b "})},
       {Tensor::Of<std::string>({1, 1}, {"a b "}), Tensor::Of<int64_t>({1}, {1})}},
      {"all_white",
       "StringSplit",
       "",
       {},
       {Tensor::Of<std::string>({1}, {"   "})},
       {Tensor(DType::kString, {1, 0}), Tensor::Of<int64_t>({1}, {0})}},
  };
}

std::vector<OpCase> StringSplitPart2Rows() {
  return {
      {"no_texts",
       "StringSplit",
       "",
       {},
       {Tensor(DType::kString, {0})},
       {Tensor(DType::kString, {0, 0}), Tensor(DType::kInt64, {0})}},
  };
}

std::vector<OpCase> StringNormalizerRows() {
  return {
      {"lower",
       "StringNormalizer",
       "",
       {{"case_change_action", std::string("LOWER")},
        {"is_case_sensitive", int64_t{1}},
        {"stopwords", std::vector<std::string>{"monday"}}},
       {Tensor::Of<std::string>({3}, {"Monday", "monday", "TUESDAY"})},
       {Tensor::Of<std::string>({2}, {"monday", "tuesday"})}},
      {"upper_insensitive",
       "StringNormalizer",
       "",
       {{"case_change_action", std::string("UPPER")},
        {"stopwords", std::vector<std::string>{"monday"}}},
       {Tensor::Of<std::string>({1, 3}, {"Monday", "monday", "tuesday"})},
       {Tensor::Of<std::string>({1, 1}, {"TUESDAY"})}},
      {"nothing_left",
       "StringNormalizer",
       "",
       {{"stopwords", std::vector<std::string>{"a"}}},
       {Tensor::Of<std::string>({2}, {"A", "a"})},
       {Tensor::Of<std::string>({1}, {""})}},
      {"accents",
       "StringNormalizer",
       "",
       {{"case_change_action", std::string("UPPER")}},
       {Tensor::Of<std::string>({1}, {"\303\244\303\237\303\251"})},
       {Tensor::Of<std::string>({1}, {"\303\204\303\237\303\211"})}},
      {"unchanged",
       "StringNormalizer",
       "",
       {},
       {Tensor::Of<std::string>({2}, {"b", "A"})},
       {Tensor::Of<std::string>({2}, {"b", "A"})}},
  };
}

std::vector<OpCase> RegexFullMatchRows() {
  return {
      {"match",
       "RegexFullMatch",
       "",
       {{"pattern", std::string("www\\.[\\w.-]+\\.com")}},
       {Tensor::Of<std::string>({2, 2}, {"www.google.com", "www.face_book.org", "xwww.a.com", ""})},
       {Tensor::Of<bool>({2, 2}, {true, false, false, false})}},
      {"empty_pattern",
       "RegexFullMatch",
       "",
       {{"pattern", std::string("")}},
       {Tensor::Of<std::string>({2}, {"", "a"})},
       {Tensor::Of<bool>({2}, {true, false})}},
  };
}

}  // namespace

std::vector<OpCase> StringCases() {
  std::vector<OpCase> all;
  for (auto rows : {StringConcatRows, StringSplitPart1Rows, StringSplitPart2Rows,
                    StringNormalizerRows, RegexFullMatchRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
