// Einsum of float32 by the kernels of every instruction set against sums in double.
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

// "ab,bc->ac" with every letter's size given.
OpCase EinsumCase(const std::string& equation, const std::map<char, int64_t>& sizes,
                  std::mt19937& random) {
  OpCase c;
  c.op = "Einsum";
  c.name = equation;
  c.attributes = {{"equation", equation}};
  c.atol = 2e-5;
  std::vector<std::string> terms(1);
  for (const char letter : equation) {
    if (letter == ',' || letter == '>') {
      terms.emplace_back();
    } else if (letter != '-') {
      terms.back() += letter;
    }
  }
  const auto dims_of = [&](const std::string& term) {
    Dims dims;
    for (const char letter : term) dims.push_back(sizes.at(letter));
    return dims;
  };
  for (size_t i = 0; i + 1 < terms.size(); ++i)
    c.inputs.push_back(RandomFloats(dims_of(terms[i]), random));
  const Dims out = dims_of(terms.back());
  std::vector<double> sums(static_cast<size_t>(NumElements(out)));
  int64_t total = 1;
  for (const auto& [letter, size] : sizes) total *= size;
  for (int64_t i = 0; i < total; ++i) {
    std::map<char, int64_t> at;
    int64_t rest = i;
    for (const auto& [letter, size] : sizes) at[letter] = rest % size, rest /= size;
    const auto offset = [&](const std::string& term) {
      int64_t place = 0;
      for (const char letter : term) place = place * sizes.at(letter) + at[letter];
      return static_cast<size_t>(place);
    };
    double product = 1;
    for (size_t t = 0; t + 1 < terms.size(); ++t)
      product *= static_cast<double>(c.inputs[t].data<float>()[offset(terms[t])]);
    sums[offset(terms.back())] += product;
  }
  Tensor y(DType::kFloat32, out);
  for (size_t i = 0; i < sums.size(); ++i) y.mutable_data<float>()[i] = static_cast<float>(sums[i]);
  c.expected = {std::move(y)};
  return c;
}

TEST(Einsum, ProductsOfEveryLayout) {
  const std::map<char, int64_t> four = {{'b', 2}, {'h', 3}, {'q', 19}, {'k', 17}, {'d', 21}};
  std::mt19937 random(5);
  for (const char* equation :
       {"bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "bhqd,bhkd->bhqk", "bhdq,bhdk->bhkq", "bqhd,hdk->bqk",
        "bqh,bkd->bqhkd", "dqbh,hkdb->qbkh"})
    EXPECT_GE(ExpectFastKernels(EinsumCase(equation, four, random)), 1) << equation;
}

TEST(Einsum, SumsOuterProductsAndChains) {
  std::mt19937 random(6);
  const std::map<char, int64_t> two = {{'i', 13}, {'j', 37}};
  for (const char* equation : {"ij->ji", "ij->i", "ij->", "i,j->ij", "i,j->ji", "ij,ij->ij",
                               "ij,j->i", "ij,ij->", "ji,j->i"})
    EXPECT_GE(ExpectFastKernels(EinsumCase(equation, two, random)), 1) << equation;
  const std::map<char, int64_t> chain = {{'i', 7}, {'j', 9}, {'k', 8}, {'l', 5}};
  for (const char* equation : {"ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,ik->ik", "ijk,jl,kl->il"}) {
    std::map<char, int64_t> sizes = chain;
    if (std::string(equation).find('l') == std::string::npos) sizes.erase('l');
    EXPECT_GE(ExpectFastKernels(EinsumCase(equation, sizes, random)), 1) << equation;
  }
}

}  // namespace
}  // namespace onward::kernels
