#include "onward/attribute.h"

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

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<Map::value_type> init) : map_(init) {}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

void Attributes::Set(std::string name, Attribute value) {
  map_.insert_or_assign(std::move(name), std::move(value));
}

template <typename T>
T Attributes::Get(std::string_view name, T otherwise) const {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr || !std::holds_alternative<T>(*attribute)) return otherwise;
  return std::get<T>(*attribute);
}

int64_t Attributes::Int(std::string_view name, int64_t otherwise) const {
  return Get<int64_t>(name, otherwise);
}
float Attributes::Float(std::string_view name, float otherwise) const {
  return Get<float>(name, otherwise);
}
std::string Attributes::String(std::string_view name, std::string otherwise) const {
  return Get<std::string>(name, std::move(otherwise));
}
std::vector<int64_t> Attributes::Ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return Get<std::vector<int64_t>>(name, std::move(otherwise));
}
std::vector<float> Attributes::Floats(std::string_view name, std::vector<float> otherwise) const {
  return Get<std::vector<float>>(name, std::move(otherwise));
}
std::vector<std::string> Attributes::Strings(std::string_view name) const {
  return Get<std::vector<std::string>>(name, {});
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
