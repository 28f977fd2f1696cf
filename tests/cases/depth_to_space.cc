#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> DepthToSpaceRows() {
  return {
      {"dcr",
       "DepthToSpace",
       "",
       {{"blocksize", int64_t{2}}, {"mode", std::string("DCR")}},
       {Tensor::Of<float>({1, 8, 2, 3},
                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                           32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47})},
       {Tensor::Of<float>({1, 2, 4, 6},
                          {0,  12, 1,  13, 2,  14, 24, 36, 25, 37, 26, 38, 3,  15, 4,  16,
                           5,  17, 27, 39, 28, 40, 29, 41, 6,  18, 7,  19, 8,  20, 30, 42,
                           31, 43, 32, 44, 9,  21, 10, 22, 11, 23, 33, 45, 34, 46, 35, 47})}},
      {"crd",
       "DepthToSpace",
       "",
       {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}},
       {Tensor::Of<float>({1, 8, 2, 3},
                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                           32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47})},
       {Tensor::Of<float>({1, 2, 4, 6},
                          {0,  6,  1,  7,  2,  8,  12, 18, 13, 19, 14, 20, 3,  9,  4,  10,
                           5,  11, 15, 21, 16, 22, 17, 23, 24, 30, 25, 31, 26, 32, 36, 42,
                           37, 43, 38, 44, 27, 33, 28, 34, 29, 35, 39, 45, 40, 46, 41, 47})}},
      {"default_mode",
       "DepthToSpace",
       "",
       {{"blocksize", int64_t{2}}},
       {Tensor::Of<int8_t>({1, 4, 1, 1}, {0, 1, 2, 3})},
       {Tensor::Of<int8_t>({1, 1, 2, 2}, {0, 1, 2, 3})}},
  };
}

std::vector<OpCase> SpaceToDepthRows() {
  return {
      {"space_to_depth_dcr",
       "SpaceToDepth",
       "",
       {{"blocksize", int64_t{2}}, {"mode", std::string("DCR")}},
       {Tensor::Of<float>({2, 2, 4, 2},
                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31})},
       {Tensor::Of<float>({2, 8, 2, 1},
                          {0,  4,  8,  12, 1,  5,  9,  13, 2,  6,  10, 14, 3,  7,  11, 15,
                           16, 20, 24, 28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31})}},
      {"space_to_depth_crd",
       "SpaceToDepth",
       "",
       {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}},
       {Tensor::Of<float>({2, 2, 4, 2},
                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31})},
       {Tensor::Of<float>({2, 8, 2, 1},
                          {0,  4,  1,  5,  2,  6,  3,  7,  8,  12, 9,  13, 10, 14, 11, 15,
                           16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31})}},
      {"string",
       "SpaceToDepth",
       "",
       {{"blocksize", int64_t{2}}},
       {Tensor::Of<std::string>({1, 1, 2, 2}, {"a", "b", "c", "d"})},
       {Tensor::Of<std::string>({1, 4, 1, 1}, {"a", "b", "c", "d"})}},
      {"empty",
       "SpaceToDepth",
       "",
       {{"blocksize", int64_t{3}}},
       {Tensor(DType::kFloat32, {0, 1, 3, 3})},
       {Tensor(DType::kFloat32, {0, 9, 1, 1})}},
  };
}

}  // namespace

std::vector<OpCase> DepthToSpaceCases() {
  std::vector<OpCase> all;
  for (auto rows : {DepthToSpaceRows, SpaceToDepthRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
