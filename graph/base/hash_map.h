// A hash map for what is read while memory may lack.
#pragma once

#include <unordered_map>

#include "absl/hash/hash.h"

namespace onward {

// absl::flat_hash_map, whose table finds no memory to grow, ends the process in its destructor.
template <typename Key, typename Value>
using HashMap = std::unordered_map<Key, Value, absl::Hash<Key>>;

}  // namespace onward
