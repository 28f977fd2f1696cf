#include "graph/ir/attribute.h"

#include <algorithm>
#include <type_traits>

namespace onward {

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return SameBits(left, right);
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          return std::equal(left.begin(), left.end(), right.begin(), right.end(), SameBits);
        } else {
          return left == right;
        }
      },
      a);
}

const Attribute* Attributes::Find(std::string_view name) const {
  const auto it = map_.find(name);
  return it == map_.end() ? nullptr : &it->second;
}

void Attributes::Erase(std::string_view name) {
  if (const auto it = map_.find(name); it != map_.end()) map_.erase(it);
}

const Tensor* Attributes::TensorOrNull(std::string_view name) const {
  const Attribute* attribute = Find(name);
  return attribute == nullptr ? nullptr : std::get_if<Tensor>(attribute);
}

bool Attributes::operator==(const Attributes& other) const {
  return std::equal(map_.begin(), map_.end(), other.map_.begin(), other.map_.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && SameAttribute(a.second, b.second);
                    });
}

}  // namespace onward
