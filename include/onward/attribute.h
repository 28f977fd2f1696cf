// Attributes of nodes. Graph-valued attributes are not here: a node owns its subgraphs (see
// graph.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onward/tensor.h"
#include "onward/type.h"

namespace onward {

using Attribute = std::variant<int64_t, float, std::string, Tensor, Type, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<Tensor>,
                               std::vector<Type>>;

// Equal kind and contents; tensors by bits.
bool SameAttribute(const Attribute& a, const Attribute& b);

// A node's attributes by name. What the map and the variant instantiate stays in attribute.cc:
// nearly every source would compile it again. Getters return the given default when the attribute
// is absent or of another kind (kinds are checked against the schema at import).
class Attributes {
 public:
  using Map = std::map<std::string, Attribute, std::less<>>;

  Attributes();
  Attributes(std::initializer_list<Map::value_type> init);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const Attribute* Find(std::string_view name) const;
  void Set(std::string name, Attribute value);
  void Erase(std::string_view name);

  int64_t Int(std::string_view name, int64_t otherwise) const;
  float Float(std::string_view name, float otherwise) const;
  std::string String(std::string_view name, std::string otherwise = "") const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> Floats(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> Strings(std::string_view name) const;
  // Null when absent or not a tensor.
  const Tensor* TensorOrNull(std::string_view name) const;

  const Map& map() const { return map_; }
  bool operator==(const Attributes& other) const;

 private:
  template <typename T>
  T Get(std::string_view name, T otherwise) const;

  Map map_;
};

}  // namespace onward
