#include "tests/cases/cases.h"

namespace onward::cases {
namespace {

std::vector<OpCase> Col2ImRows() {
  return {
      {"overlap",
       "Col2Im",
       "",
       {},
       {Tensor::Of<float>({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
        Tensor::Of<int64_t>({2}, {3, 3}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>({1, 1, 3, 3}, {1, 7, 6, 12, 34, 22, 11, 27, 16})}},
      {"channels",
       "Col2Im",
       "",
       {},
       {Tensor::Of<float>({2, 4, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
        Tensor::Of<int64_t>({2}, {2, 2}), Tensor::Of<int64_t>({2}, {1, 2})},
       {Tensor::Of<float>({2, 2, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15})}},
      {"strides",
       "Col2Im",
       "",
       {{"strides", std::vector<int64_t>{2, 2}}},
       {Tensor::Of<float>({1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
        Tensor::Of<int64_t>({2}, {5, 5}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>({1, 1, 5, 5}, {0, 4, 1,  5,  0,  8,  12, 9, 13, 0, 2, 6, 3,
                                         7, 0, 10, 14, 11, 15, 0,  0, 0,  0, 0, 0})}},
      {"dilations",
       "Col2Im",
       "",
       {{"dilations", std::vector<int64_t>{2, 2}}},
       {Tensor::Of<float>({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Tensor::Of<int64_t>({2}, {3, 4}),
        Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>({1, 1, 3, 4}, {1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8})}},
      {"one_axis",
       "Col2Im",
       "",
       {},
       {Tensor::Of<float>({1, 2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({1}, {4}),
        Tensor::Of<int64_t>({1}, {2})},
       {Tensor::Of<float>({1, 1, 4}, {0, 4, 6, 5})}},
      {"pads_2d",
       "Col2Im",
       "",
       {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
       {Tensor::Of<float>({1, 4, 9},
                          {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                           18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35}),
        Tensor::Of<int64_t>({2}, {2, 2}), Tensor::Of<int64_t>({2}, {2, 2})},
       {Tensor::Of<float>({1, 1, 2, 2}, {62, 66, 74, 78})}},
      {"int64",
       "Col2Im",
       "",
       {},
       {Tensor::Of<int64_t>({1, 2, 3}, {0, 1, 2, 3, 4, 5}), Tensor::Of<int64_t>({1}, {4}),
        Tensor::Of<int64_t>({1}, {2})},
       {Tensor::Of<int64_t>({1, 1, 4}, {0, 4, 6, 5})}},
  };
}

std::vector<OpCase> MaxRoiPoolRows() {
  return {
      {"max_roi_pool",
       "MaxRoiPool",
       "",
       {{"pooled_shape", std::vector<int64_t>{2, 3}}},
       {Tensor::Of<float>(
            {2, 1, 5, 6},
            {0,      0.84f,  0.91f,  0.14f,  -0.76f, -0.96f, -0.28f, 0.66f,  0.99f,  0.41f,
             -0.54f, -1,     -0.54f, 0.42f,  0.99f,  0.65f,  -0.29f, -0.96f, -0.75f, 0.15f,
             0.91f,  0.84f,  -0.01f, -0.85f, -0.91f, -0.13f, 0.76f,  0.96f,  0.27f,  -0.66f,
             -0.99f, -0.4f,  0.55f,  1,      0.53f,  -0.43f, -0.99f, -0.64f, 0.3f,   0.96f,
             0.75f,  -0.16f, -0.92f, -0.83f, 0.02f,  0.85f,  0.9f,   0.12f,  -0.77f, -0.95f,
             -0.26f, 0.67f,  0.99f,  0.4f,   -0.56f, -1,     -0.52f, 0.44f,  0.99f,  0.64f}),
        Tensor::Of<float>({3, 5}, {0, 0, 0, 5, 4, 1, 1, 1, 3, 3, 0, 4, 3, 9, 9})},
       {Tensor::Of<float>({3, 1, 2, 3}, {0.84f, 0.99f, -0.29f, 0.42f, 0.99f, 0.27f, -0.64f, 0.3f,
                                         0.96f, -0.83f, 0.02f, 0.85f, 0.27f, 0, 0, 0, 0, 0})}},
      {"max_roi_pool_scaled",
       "MaxRoiPool",
       "",
       {{"pooled_shape", std::vector<int64_t>{2, 2}}, {"spatial_scale", 0.5f}},
       {Tensor::Of<float>(
            {2, 1, 5, 6},
            {0,      0.84f,  0.91f,  0.14f,  -0.76f, -0.96f, -0.28f, 0.66f,  0.99f,  0.41f,
             -0.54f, -1,     -0.54f, 0.42f,  0.99f,  0.65f,  -0.29f, -0.96f, -0.75f, 0.15f,
             0.91f,  0.84f,  -0.01f, -0.85f, -0.91f, -0.13f, 0.76f,  0.96f,  0.27f,  -0.66f,
             -0.99f, -0.4f,  0.55f,  1,      0.53f,  -0.43f, -0.99f, -0.64f, 0.3f,   0.96f,
             0.75f,  -0.16f, -0.92f, -0.83f, 0.02f,  0.85f,  0.9f,   0.12f,  -0.77f, -0.95f,
             -0.26f, 0.67f,  0.99f,  0.4f,   -0.56f, -1,     -0.52f, 0.44f,  0.99f,  0.64f}),
        Tensor::Of<float>({3, 5}, {0, 0, 0, 5, 4, 1, 1, 1, 3, 3, 0, 4, 3, 9, 9})},
       {Tensor::Of<float>({3, 1, 2, 2}, {0.84f, 0.99f, 0.66f, 0.99f, -0.64f, 0.3f, -0.83f, 0.02f,
                                         0.99f, -0.01f, 0.96f, 0.27f})}},
  };
}

}  // namespace

std::vector<OpCase> Col2imCases() {
  std::vector<OpCase> all;
  for (auto rows : {Col2ImRows, MaxRoiPoolRows}) {
    for (OpCase& c : rows()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
