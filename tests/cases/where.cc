// Expected values: NumPy.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> TypesRows() {
  return {
      Row("f32", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<float>({3}, {1, 2, 3}),
           Of<float>({3}, {4, 5, 6})},
          {Of<float>({3}, {1, 5, 3})}),
      Row("f64", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<double>({3}, {1, 2, 3}),
           Of<double>({3}, {4, 5, 6})},
          {Of<double>({3}, {1, 5, 3})}),
      Row("f16", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<Float16>({3}, {1, 2, 3}),
           Of<Float16>({3}, {4, 5, 6})},
          {Of<Float16>({3}, {1, 5, 3})}, 1e-3, 1e-4),
      Row("bf16", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<BFloat16>({3}, {1, 2, 3}),
           Of<BFloat16>({3}, {4, 5, 6})},
          {Of<BFloat16>({3}, {1, 5, 3})}, 8e-3, 1e-4),
      Row("i8", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<int8_t>({3}, {1, 2, 3}),
           Of<int8_t>({3}, {4, 5, 6})},
          {Of<int8_t>({3}, {1, 5, 3})}),
      Row("i16", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<int16_t>({3}, {1, 2, 3}),
           Of<int16_t>({3}, {4, 5, 6})},
          {Of<int16_t>({3}, {1, 5, 3})}),
      Row("i32", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<int32_t>({3}, {1, 2, 3}),
           Of<int32_t>({3}, {4, 5, 6})},
          {Of<int32_t>({3}, {1, 5, 3})}),
      Row("i64", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<int64_t>({3}, {1, 2, 3}),
           Of<int64_t>({3}, {4, 5, 6})},
          {Of<int64_t>({3}, {1, 5, 3})}),
      Row("u8", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<uint8_t>({3}, {1, 2, 3}),
           Of<uint8_t>({3}, {4, 5, 6})},
          {Of<uint8_t>({3}, {1, 5, 3})}),
      Row("u16", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<uint16_t>({3}, {1, 2, 3}),
           Of<uint16_t>({3}, {4, 5, 6})},
          {Of<uint16_t>({3}, {1, 5, 3})}),
      Row("u32", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<uint32_t>({3}, {1, 2, 3}),
           Of<uint32_t>({3}, {4, 5, 6})},
          {Of<uint32_t>({3}, {1, 5, 3})}),
      Row("u64", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<uint64_t>({3}, {1, 2, 3}),
           Of<uint64_t>({3}, {4, 5, 6})},
          {Of<uint64_t>({3}, {1, 5, 3})}),
      Row("bool", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<bool>({3}, {true, true, false}),
           Of<bool>({3}, {false, false, false})},
          {Of<bool>({3}, {true, false, false})}),
      Row("string", "Where", {},
          {Of<bool>({3}, {true, false, true}), Of<std::string>({3}, {"a", "b", "c"}),
           Of<std::string>({3}, {"x", "y", "z"})},
          {Of<std::string>({3}, {"a", "y", "c"})}),
  };
}

std::vector<OpCase> BroadcastsRows() {
  return {
      Row("shapes_0", "Where", {},
          {Of<bool>({3}, {false, false, true}), Of<float>({}, {-2}), Of<float>({}, {-3})},
          {Of<float>({3}, {-3, -3, -2})}),
      Row("shapes_1", "Where", {},
          {Of<bool>({}, {true}), Of<float>({3}, {8, -2, 1}), Of<float>({}, {-2})},
          {Of<float>({3}, {8, -2, 1})}),
      Row("shapes_2", "Where", {},
          {Of<bool>({}, {true}), Of<float>({}, {-1}), Of<float>({2, 3}, {2, 0, 3, 8, -7, 1})},
          {Of<float>({2, 3}, {-1, -1, -1, -1, -1, -1})}),
      Row("shapes_3", "Where", {},
          {Of<bool>({2, 1}, {false, false}), Of<float>({3}, {-5, -9, -2}),
           Of<float>({2, 3}, {5, -8, -2, 8, 8, -6})},
          {Of<float>({2, 3}, {5, -8, -2, 8, 8, -6})}),
      Row("shapes_4", "Where", {},
          {Of<bool>({2, 3}, {false, true, false, false, false, true}), Of<float>({}, {-8}),
           Of<float>({3}, {2, 0, -7})},
          {Of<float>({2, 3}, {2, -8, -7, 2, 0, -8})}),
      Row("shapes_5", "Where", {},
          {Of<bool>({2, 3}, {true, true, false, true, true, true}), Of<float>({2, 1}, {8, 1}),
           Of<float>({}, {-4})},
          {Of<float>({2, 3}, {8, 8, -4, 1, 1, 1})}),
      Row("shapes_6", "Where", {},
          {Of<bool>({2, 1, 2}, {false, true, false, true}), Of<float>({3, 1}, {7, -5, 0}),
           Of<float>({1, 1, 1}, {-9})},
          {Of<float>({2, 3, 2}, {-9, 7, -9, -5, -9, 0, -9, 7, -9, -5, -9, 0})}),
      Row("shapes_7", "Where", {}, {Of<bool>({0}, {}), Of<float>({1}, {-6}), Of<float>({1}, {-3})},
          {Of<float>({0}, {})}),
      Row("shapes_8", "Where", {},
          {Of<bool>({2, 3}, {true, true, true, true, true, false}),
           Of<float>({2, 3}, {-3, 8, -2, -6, -5, 3}), Of<float>({}, {-9})},
          {Of<float>({2, 3}, {-3, 8, -2, -6, -5, -9})}),
  };
}

}  // namespace

std::vector<OpCase> WhereCases() { return Join({TypesRows, BroadcastsRows}); }

}  // namespace onward::cases
